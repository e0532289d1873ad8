"""Ends processes that an earlier run left behind, found by the lock file they still hold open."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import time
from pathlib import Path


def end_holders(path: Path) -> None:
    """Ask every process that has this file open to end, then make it."""
    for wanted, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        for pid in holders(path):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, wanted)
        deadline = time.monotonic() + patience
        while holders(path) and time.monotonic() < deadline:
            time.sleep(0.1)


def holders(path: Path) -> list[int]:
    """Return the pids of all other processes that have this file open."""
    found = _from_proc(path) if platform.system() == "Linux" else _from_lsof(path)
    return [pid for pid in found if pid != os.getpid()]


def _from_proc(path: Path) -> list[int]:
    target = path.stat()
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and _has_open(folder / "fd", target)
    ]


def _has_open(folder: Path, target: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return any(_is_same(each, target) for each in folder.iterdir())
    return False


def _is_same(link: Path, target: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(link.stat(), target)
    return False


def _from_lsof(path: Path) -> list[int]:
    if not shutil.which("lsof"):
        return []
    told = subprocess.run(["lsof", "-t", str(path)], capture_output=True, text=True)
    return [int(word) for word in told.stdout.split()]
