"""What somebody sends in one piece: a log, a packed log, or an archive of them.

Told apart by content, never by name. Everything is unpacked and looked at before the first member
is handed over, so that a refused archive leaves nothing behind. Nothing is written under a name.
"""

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.ingest import packed, tars, zips
from sessions_app.ingest.packed import Meter, Metered

HEAD_BYTES = tars.BLOCK
MOST_MEMBERS = 20_000
LONGEST_PATH = 1024
LONGEST_NAME = 255
_DRIVE = re.compile(r"[A-Za-z]:")
# Formats that are not opened at all: inside another they are archives, too.
_OTHER_ARCHIVES = (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\xfd7zXZ\0", b"BZh")
_JUNK_NAMES = {".DS_Store", "Thumbs.db", "desktop.ini"}
NESTED = "An archive inside an archive is not opened. Send it by itself."


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file that was sent, with its path in the archive; or why it is not taken."""

    path: str
    size: int = 0
    stream: BinaryIO | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    is_archive: bool
    members: tuple[Member, ...]


@contextmanager
def contents(stream: BinaryIO, name: str, *, limit: int) -> Iterator[Contents]:
    """What is inside, for as long as the context lasts. BadInput refuses it as a whole."""
    with tempfile.SpooledTemporaryFile(max_size=packed.IN_MEMORY) as spool:
        unpacking = _Unpacking(cast(BinaryIO, spool), Meter(limit))
        yield unpacking.of(stream, name)


class _Unpacking:
    """Everything that has to be unpacked goes into one file without a name."""

    def __init__(self, spool: BinaryIO, meter: Meter) -> None:
        self._spool = spool
        self._meter = meter

    def of(self, stream: BinaryIO, name: str) -> Contents:
        head = _head(stream)
        if packed.is_packed(head):
            stream, name = self._unpacked(stream), packed.plain_name(name)
            head = _head(stream)
            if zips.is_zip(head) or packed.is_packed(head):
                raise BadInput(NESTED)
        if zips.is_zip(head):
            return self._archive(self._zipped(stream))
        if tars.is_tar(head):
            return self._archive(self._tarred(stream))
        if head.startswith(_OTHER_ARCHIVES):
            raise BadInput("This kind of archive is not read: send a zip or a tar.")
        alone = Member(path=name, size=stream.seek(0, io.SEEK_END), stream=stream)
        return Contents(is_archive=False, members=(alone,))

    def _archive(self, found: Iterator[tuple[str, BinaryIO]]) -> Contents:
        members = tuple(self._looked_at(path, stream) for path, stream in found)
        return Contents(is_archive=True, members=members)

    def _zipped(self, stream: BinaryIO) -> Iterator[tuple[str, BinaryIO]]:
        entries = zips.members(stream)
        _few(len(entries))
        # All names before the first byte: what is refused is refused at once.
        paths = [member_path(entry.orig_filename) for entry in entries]
        self._meter.claimed(sum(entry.file_size for entry in entries))
        for path, entry in zip(paths, entries, strict=True):
            if not _is_junk(path):
                self._meter.took(entry.compress_size)
                yield path, self._kept(zips.pieces(stream, entry))

    def _tarred(self, stream: BinaryIO) -> Iterator[tuple[str, BinaryIO]]:
        found = []
        for member in tars.members(stream):
            found.append((member_path(member.name), _Window(stream, member.at, member.size)))
            _few(len(found))
        for path, window in found:
            if not _is_junk(path):
                yield path, cast(BinaryIO, window)

    def _looked_at(self, path: str, stream: BinaryIO) -> Member:
        sent, head = path, _head(stream)
        if packed.is_packed(head):
            try:
                stream = self._unpacked(stream)
            except TooLarge:
                raise
            except BadInput as error:
                return Member(path=path, refusal=error.message)
            path, head = packed.plain_name(path), _head(stream)
        if _is_archive(head):
            return Member(path=sent, refusal=NESTED)
        return Member(path=path, size=stream.seek(0, io.SEEK_END), stream=stream)

    def _unpacked(self, stream: BinaryIO) -> BinaryIO:
        stream.seek(0)
        return self._kept(packed.pieces(Metered(stream, self._meter)))

    def _kept(self, pieces: Iterator[bytes]) -> BinaryIO:
        start = at = self._spool.seek(0, io.SEEK_END)
        for piece in pieces:
            self._meter.gave(len(piece))
            # What is unpacked may itself lie here, and be read between two pieces.
            self._spool.seek(at)
            at += self._spool.write(piece)
        return cast(BinaryIO, _Window(self._spool, start, at - start))


class _Window(io.RawIOBase):
    """A stretch of a stream that others read too."""

    def __init__(self, stream: BinaryIO, start: int, size: int) -> None:
        self._stream, self._start, self._size, self._at = stream, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self._at)
        self._stream.seek(self._start + self._at)
        data = self._stream.read(left if size is None or size < 0 else min(size, left))
        self._at += len(data)
        return data


def _head(stream: BinaryIO) -> bytes:
    stream.seek(0)
    return stream.read(HEAD_BYTES)


def _is_archive(head: bytes) -> bool:
    is_known = zips.is_zip(head) or tars.is_tar(head) or packed.is_packed(head)
    return is_known or head.startswith(_OTHER_ARCHIVES)


def _few(number: int) -> None:
    if number > MOST_MEMBERS:
        raise TooLarge(f"It has more than {MOST_MEMBERS:,} members: send it in parts.")


def member_path(name: str) -> str:
    """A name as a path below the archive. One that could lead elsewhere is somebody's attempt:
    the archive is refused, whatever else is in it."""
    parts = name.split("/")
    is_away = name.startswith("/") or ".." in parts or bool(_DRIVE.match(name))
    if is_away or "\0" in name or "\\" in name:
        raise BadInput("A member's name leads out of the archive, or holds a backslash or a NUL.")
    path = "/".join(part for part in parts if part not in ("", "."))
    if not path or len(path) > LONGEST_PATH or any(len(part) > LONGEST_NAME for part in parts):
        raise BadInput("A member's name is empty or too long.")
    return path


def _is_junk(path: str) -> bool:
    """What file managers put in beside."""
    first, _, _ = path.partition("/")
    last = path.rpartition("/")[2]
    return first == "__MACOSX" or last in _JUNK_NAMES or last.startswith("._")
