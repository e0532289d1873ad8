"""Where bytes come from: files of this machine, uploads, the demo. Each can be opened and named."""

import io
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from sessions_app.domain.errors import BadInput

LOG_SUFFIXES = {".jsonl"}


class SourceFile(Protocol):
    """A thing with bytes that can be read from any place."""

    @property
    def machine(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def project(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    def open(self) -> AbstractContextManager[BinaryIO]: ...


def this_machine() -> str:
    return socket.gethostname()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFile:
    path: str
    size: int
    mtime_ns: int
    machine: str

    @property
    def identity(self) -> str:
        """Its path says it all."""
        return ""

    @property
    def project(self) -> str:
        return Path(self.path).parent.name

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Regular files only, also when the path is swapped for something else after the walk: a
        pipe must not block, a link must not lead out of the tree."""
        handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise BadInput(f"{self.path}: not a regular file")
        return os.fdopen(handle, "rb", buffering=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """Bytes that are already here: an upload's spooled file or generated text."""

    machine: str
    path: str
    project: str
    size: int
    stream: BinaryIO
    # What tells it from another of the same machine and path.
    identity: str = ""
    mtime_ns: int = 0

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The stream is somebody else's: it is not closed here."""
        return nullcontext(self.stream)


def held(data: bytes, *, path: str, machine: str, project: str) -> HeldFile:
    return HeldFile(
        machine=machine, path=path, project=project, size=len(data), stream=io.BytesIO(data)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A path that is not read, and why."""

    path: str
    reason: str


def walk(given: list[str]) -> Iterator[DiskFile | Skipped]:
    """Files named by a person, and the logs below folders they named. Links below are not
    followed; a link that was named itself is."""
    machine = this_machine()
    for name in given:
        path = os.path.realpath(name)
        if os.path.isdir(path):  # noqa: PTH112 - paths here may hold bytes that are not text
            yield from _below(path, machine)
        else:
            yield _file(path, machine)


def _below(folder: str, machine: str) -> Iterator[DiskFile | Skipped]:
    """In order of names, with a stack: how deep folders go is not in our hands."""
    stack: list[os.DirEntry[str]] = []
    yield from _listed(folder, stack)
    while stack:
        entry = stack.pop()
        if entry.is_symlink():
            yield Skipped(path=entry.path, reason="a link: not followed")
        elif entry.is_dir(follow_symlinks=False):
            yield from _listed(entry.path, stack)
        elif Path(entry.name).suffix in LOG_SUFFIXES:
            yield _file(entry.path, machine)


def _listed(folder: str, stack: list[os.DirEntry[str]]) -> Iterator[Skipped]:
    try:
        with os.scandir(folder) as entries:
            stack.extend(sorted(entries, key=lambda entry: entry.name, reverse=True))
    except OSError as error:
        yield Skipped(path=folder, reason=error.strerror or "cannot be listed")


def _file(path: str, machine: str) -> DiskFile | Skipped:
    try:
        facts = os.lstat(path)
    except OSError as error:
        return Skipped(path=path, reason=error.strerror or "cannot be read")
    if not stat.S_ISREG(facts.st_mode):
        return Skipped(path=path, reason="not a regular file")
    return DiskFile(path=path, size=facts.st_size, mtime_ns=facts.st_mtime_ns, machine=machine)
