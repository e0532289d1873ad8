"""Where bytes come from: files of this machine, uploads, the demo. Each can be opened and named."""

import errno
import io
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import BinaryIO, Literal, Protocol, cast

from sessions_app import formats
from sessions_app.domain.errors import BadInput
from sessions_app.ingest import packed

# The machine of what is sent by hand: it says nothing about where it was written.
UPLOADED = "upload"
# Kept whatever is in them.
LOG_SUFFIXES = (".jsonl", ".ndjson")
# Looked into below a folder; what no format knows is left alone, because it may be anything.
CANDIDATES = (*LOG_SUFFIXES, ".json", ".db", ".sqlite", ".sqlite3", "aider.chat.history.md")
# What a packed log may unfold to.
UNPACKED_LIMIT = 64 * 1024**3


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
    @property
    def is_wanted(self) -> bool:
        """Kept even if no format knows it: somebody named it, or its name says it is a log."""

    def open(self) -> AbstractContextManager[BinaryIO]: ...
    def length(self, stream: BinaryIO, /) -> int:
        """Bytes of what `open` gave, which may be unpacked."""


def this_machine() -> str:
    return socket.gethostname()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFile:
    path: str
    size: int
    mtime_ns: int
    machine: str
    # As somebody mapped it; empty: what the log says.
    project: str = ""
    is_wanted: bool = True
    # Where it lies, if `path` is not that: a packed log stands in the place of the plain one.
    at: str = ""

    @property
    def on_disk(self) -> str:
        """Where its bytes lie, packed or not."""
        return self.at or self.path

    @property
    def identity(self) -> str:
        """Its path says it all."""
        return ""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Regular files only, also when the path is swapped for something else after the walk: a
        pipe must not block, a link must not lead out of the tree."""
        handle = os.open(
            self.at or self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise BadInput(f"{self.path}: not a regular file")
        plain = os.fdopen(handle, "rb", buffering=0)
        return self._unpacked(plain) if self.at else plain

    def _unpacked(self, file: BinaryIO) -> AbstractContextManager[BinaryIO]:
        with file:
            is_packed = packed.is_packed(file.read(8))
            file.seek(0)
            if not is_packed:
                raise BadInput(f"{self.at}: named like a packed file, but it is none")
            return cast("AbstractContextManager[BinaryIO]", packed.unpacked(file, UNPACKED_LIMIT))

    def length(self, stream: BinaryIO, /) -> int:
        return stream.seek(0, os.SEEK_END) if self.at else self.size


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
    is_wanted: bool = True
    # A piece of it: more may be on its way.
    is_begun: bool = False

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The stream is somebody else's: it is not closed here."""
        return nullcontext(self.stream)

    def length(self, _: BinaryIO, /) -> int:
        return self.size


def held(data: bytes, *, path: str, machine: str, project: str) -> HeldFile:
    return HeldFile(
        machine=machine, path=path, project=project, size=len(data), stream=io.BytesIO(data)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A path that is not read, and why."""

    path: str
    reason: str
    why: "Why" = "unread"


# Left alone on purpose; not there; read, and no log; no log by its name; or wanted and not to be
# had.
Why = Literal["left", "gone", "foreign", "other", "unread"]
GONE = {errno.ENOENT, errno.ENOTDIR}
NO_LOG = "its name is not that of a log: not looked into"


def walk(
    given: list[str], *, is_named: bool = True, has_others: bool = False
) -> Iterator[DiskFile | Skipped]:
    """Files named by a person, and the logs below folders they named. Links below are not
    followed; a link that was named itself is. `is_named` is false for a path that was come upon
    below a folder, and not named itself. `has_others` tells of files that are no logs, too."""
    machine = this_machine()
    for name in given:
        path = os.path.realpath(name)
        if os.path.isdir(path):  # noqa: PTH112 - paths here may hold bytes that are not text
            below = _below(path, machine)
            yield from below if has_others else (each for each in below if not _is_other(each))
        else:
            yield _file(path, machine, is_named=is_named)


def _below(folder: str, machine: str) -> Iterator[DiskFile | Skipped]:
    """In order of names, with a stack: how deep folders go is not in our hands."""
    stack: list[os.DirEntry[str]] = []
    yield from _listed(folder, stack)
    while stack:
        entry = stack.pop()
        if entry.is_symlink():
            yield Skipped(path=entry.path, reason="a link: not followed", why="left")
        elif entry.is_dir(follow_symlinks=False):
            yield from _listed(entry.path, stack)
        elif is_candidate(entry.path):
            found = _file(entry.path, machine, is_named=False)
            # What went while the folder was looked at is not below it.
            if isinstance(found, DiskFile) or found.why != "gone":
                yield found
        else:
            yield Skipped(path=entry.path, reason=NO_LOG, why="other")


def _is_other(item: DiskFile | Skipped) -> bool:
    return isinstance(item, Skipped) and item.why == "other"


def _listed(folder: str, stack: list[os.DirEntry[str]]) -> Iterator[Skipped]:
    try:
        with os.scandir(folder) as entries:
            stack.extend(sorted(entries, key=lambda entry: entry.name, reverse=True))
    except FileNotFoundError:
        return
    except OSError as error:
        yield Skipped(path=folder, reason=error.strerror or "cannot be listed")


def is_candidate(path: str) -> bool:
    """May a file below a folder be a log? What it is its content tells."""
    plain = packed.plain_name(path)
    return plain.endswith(CANDIDATES) or formats.OUTPUTS in path.split("/")[-2:-1]


def _file(path: str, machine: str, *, is_named: bool = True) -> DiskFile | Skipped:
    try:
        facts = os.lstat(path)
    except OSError as error:
        why: Why = "gone" if error.errno in GONE else "unread"
        return Skipped(path=path, reason=error.strerror or "cannot be read", why=why)
    if not stat.S_ISREG(facts.st_mode):
        return Skipped(path=path, reason="not a regular file", why="left")
    plain = packed.plain_name(path)
    return DiskFile(
        path=plain,
        at="" if plain == path else path,
        size=facts.st_size,
        mtime_ns=facts.st_mtime_ns,
        machine=machine,
        is_wanted=is_named or plain.endswith(LOG_SUFFIXES),
    )
