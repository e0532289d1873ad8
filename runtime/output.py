"""Log lines: to rotated private files, and with a prefix to the terminal."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

LARGEST = 5 * 1024 * 1024
KEPT = 3
WIDTH = 8
COLOURS = {"recount": 36, "web": 32, "worker": 35, "beat": 33, "postgres": 34, "setup": 90}
TROUBLE = 31
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


class RotatedFile:
    """A log file of mode 0600 with two older ones beside it."""

    def __init__(self, path: Path, *, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        self._lock = threading.Lock()
        self._open()

    def _open(self) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "ab")
        self._size = os.fstat(descriptor).st_size

    def write(self, line: str) -> None:
        raw = line.encode(errors="replace") + b"\n"
        # A full disk must not stop the process whose log this is.
        with self._lock, contextlib.suppress(OSError):
            if self._size + len(raw) > self._largest:
                self._rotate()
            self._file.write(raw)
            self._file.flush()
            self._size += len(raw)

    def _rotate(self) -> None:
        self._file.close()
        for number in range(KEPT - 1, 0, -1):
            older = self.path if number == 1 else self._numbered(number - 1)
            with contextlib.suppress(FileNotFoundError):
                older.rename(self._numbered(number))
        self._open()

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def close(self) -> None:
        self._file.close()


class Terminal:
    """Whole lines with the name of their part in front; coloured only for a person."""

    def __init__(self, stream: IO[str], environment: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._colour = stream.isatty() and "NO_COLOR" not in environment

    def line(self, part: str, text: str, *, colour: int | None = None) -> None:
        # What a program printed must not be able to steer the terminal.
        clean = ESCAPES.sub("", text)
        prefix = self._paint(f"{part:<{WIDTH}} |", COLOURS.get(part, 0))
        self.write(f"{prefix} {self._paint(clean, colour) if colour else clean}")

    def say(self, text: str) -> None:
        for each in text.splitlines():
            self.line("recount", each)

    def complain(self, text: str) -> None:
        for each in text.splitlines():
            self.line("recount", each, colour=TROUBLE)

    def write(self, text: str) -> None:
        # A reader that went away (`make run | head`) is no reason to stop serving.
        with self._lock, contextlib.suppress(BrokenPipeError, OSError, ValueError):
            self._stream.write(text + "\n")
            self._stream.flush()

    def _paint(self, text: str, colour: int) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colour else text


class Pump(threading.Thread):
    """Carries one part's output to its file and the terminal, and remembers the last lines."""

    def __init__(self, part: str, pipe: IO[bytes], file: RotatedFile, terminal: Terminal) -> None:
        super().__init__(name=f"log of {part}", daemon=True)
        self.last: deque[str] = deque(maxlen=15)
        self._part, self._pipe, self._file, self._terminal = part, pipe, file, terminal

    def run(self) -> None:
        # A bounded read, so that one endless line cannot fill the memory.
        with contextlib.suppress(ValueError, OSError):
            while raw := self._pipe.readline(64 * 1024):
                self._carry(raw.decode(errors="replace").rstrip("\r\n"))

    def _carry(self, line: str) -> None:
        self.last.append(line)
        self._file.write(line)
        self._terminal.line(self._part, line)


class Follower:
    """Shows what another process adds to a log file, across its rotations."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0
        self._inode = path.stat().st_ino if path.exists() else None
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the whole lines that came since the last call."""
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            if inode != self._inode:
                self._inode, self._position = inode, 0
            file.seek(self._position)
            new = file.read()
            self._position += len(new)
            *whole, self._rest = (self._rest + new).split(b"\n")
            return [line.decode(errors="replace") for line in whole]
        return []


def stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def standard() -> Terminal:
    # A terminal that cannot show a character gets a question mark, not a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Terminal(sys.stdout)
