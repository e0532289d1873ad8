"""agentsview on the same files: the fastest peer that was found."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from benchmarks.measure import Figure

VENV = Path(__file__).parent.parent / "var" / "bench" / "agentsview"
PATIENCE_SECONDS = 540
_DONE = re.compile(r"Sync complete: .* in ([0-9a-zµ.]+)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}


def figures(folder: Path, *, size: int, ours: float) -> list[Figure]:
    program = _program()
    if program is None:
        print("SKIPPED: agentsview cannot be installed here, so it is not compared", flush=True)
        return []
    theirs = _sync(program, folder)
    return [
        Figure(
            name="ingest, two processes",
            value=theirs / ours,
            against="agentsview's sync of the same files, which uses every core",
            limit=6,
            is_at_least=True,
            detail={"agentsview MB/s": size / theirs / 1e6, "MB/s": size / ours / 1e6},
        )
    ]


def _program() -> Path | None:
    program = VENV / "bin" / "agentsview"
    if not program.exists():
        venv.create(VENV, with_pip=True, clear=True)
        pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "agentsview"]
        if subprocess.run(pip, check=False).returncode:
            return None
    return program


def _sync(program: Path, folder: Path) -> float:
    """The seconds it says itself, from a start with nothing known."""
    with _started(program, folder, free_port()) as process:
        return _told(process)


@contextmanager
def serving(folder: Path) -> Iterator[int | None]:
    """Its port, once it has taken in the files; none where it cannot be installed."""
    program = _program()
    if program is None:
        yield None
        return
    port = free_port()
    with _started(program, folder, port) as process:
        _told(process)
        # Nobody reads on: what it says from now on must not fill the pipe.
        drained = Thread(target=lambda: list(process.stdout or ()), daemon=True)
        drained.start()
        yield port


@contextmanager
def _started(program: Path, folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    home = folder.parent / "agentsview"
    home.mkdir()
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        "HOME": str(home),
        "AGENTSVIEW_DATA_DIR": str(home / "data"),
        "CLAUDE_PROJECTS_DIR": str(folder),
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
    }
    serve = [str(program), "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        ["timeout", str(PATIENCE_SECONDS), *serve, "--no-browser", "--no-update-check"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def _told(process: subprocess.Popen[str]) -> float:
    said = []
    for line in process.stdout or ():
        said.append(line)
        if found := _DONE.search(line):
            return _seconds(found.group(1))
    sys.stderr.writelines(said[-20:])
    raise SystemExit("agentsview ended without a finished sync")


def _seconds(text: str) -> float:
    """As Go writes durations: 1m2.5s, 243ms."""
    return sum(
        float(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9.]+)(ms|µs|h|m|s)", text)
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
