"""Runs real supervisors and looks at real processes for the tests beside it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
STAND_IN = Path(__file__).with_name("stand_in.py")
CLEARED = ("DATABASE_URL", "CELERY_BROKER_URL", "PORT")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return this environment without anything that speaks of the home of the test run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in CLEARED and not name.startswith("RECOUNT_")
    }
    return {**kept, "RECOUNT_HOME": str(home), "PYTHONPATH": str(PROJECT), **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(question: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def processes(home: Path) -> dict[int, str]:
    """Return every living process that was started for this home, with its command line."""
    mark = f"RECOUNT_HOME={home}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            # A dead process that nobody has collected yet has no environment any more.
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = line.decode(errors="replace").strip()
        except OSError:
            continue
    return found


def kill_all(home: Path) -> None:
    for pid in processes(home):
        kill(pid)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def pids(home: Path, pattern: str) -> list[int]:
    return [pid for pid, line in processes(home).items() if re.search(pattern, line)]


class House:
    """A supervisor in a process of its own, its output read as it comes."""

    def __init__(self, home: Path, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.home = home
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def says(self, words: str, seconds: float = 30.0) -> None:
        """Wait for a line; the whole output is the message when it does not come."""
        seen = eventually(lambda: words in self.text or self.process.poll() is not None, seconds)
        assert seen, f"{words!r} did not come:\n{self.text}"
        self._drain()
        assert words in self.text, f"{words!r} did not come:\n{self.text}"

    def _drain(self) -> None:
        if self.process.poll() is not None:
            self._reader.join(5)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self, seconds: float = 60.0) -> int:
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code

    def end(self) -> None:
        """Leave nothing, whatever the test did."""
        self.terminate()
        eventually(lambda: not processes(self.home), 15)
        kill_all(self.home)
        self.end_output()

    def terminate(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def end_output(self) -> None:
        self._reader.join(5)
        if self.process.stdout:
            self.process.stdout.close()


def stand_in(home: Path, *, port: int | None = None, **more: str) -> House:
    """Start the supervisor with small parts in place of the real ones."""
    command = [sys.executable, str(STAND_IN), str(port or free_port())]
    return House(home, command, environment(home, **more))
