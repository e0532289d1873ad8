"""The members of a zip. Its directory is read by the standard library, its data here, so that no
member can be more than its directory says."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.ingest.packed import READ_BYTES

# The directory of 20,000 members with long names. The standard library reads it in one piece.
LONGEST_DIRECTORY = 6 * 1024 * 1024
_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_MARK = b"PK\x03\x04"
_ENCRYPTED = 0x1 | 0x40 | 0x2000
DAMAGED = "The zip is damaged."


def is_zip(head: bytes) -> bool:
    return head.startswith((_LOCAL_MARK, b"PK\x05\x06"))


def members(stream: BinaryIO) -> list[zipfile.ZipInfo]:
    """Regular files, in the order of the directory; what is no file or folder is refused."""
    try:
        with zipfile.ZipFile(cast(BinaryIO, _Bounded(stream))) as book:
            entries = book.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error, EOFError):
        raise BadInput(DAMAGED) from None
    for entry in entries:
        _look_at(entry)
    _stand_apart(entries, stream.seek(0, 2))
    return [entry for entry in entries if not entry.is_dir()]


class _Bounded:
    """Reads no more at once than a directory may have."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell
        self.seekable = lambda: True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(LONGEST_DIRECTORY + 1 if size < 0 else size)
        if len(data) > LONGEST_DIRECTORY:
            raise TooLarge("The directory of the zip is too large: it has too many members.")
        return data


def _look_at(entry: zipfile.ZipInfo) -> None:
    if entry.flag_bits & _ENCRYPTED:
        raise BadInput("It is encrypted. Pack it again without a password.")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadInput("It holds a link or a device. Pack it again with plain files only.")
    if not entry.is_dir() and entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadInput("It is packed in a way that is not read here. Pack it again as a plain zip.")


def _stand_apart(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Members that share their bytes, or claim more than there are, make a small file a large
    one."""
    end = 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        if entry.header_offset < end:
            raise BadInput("Members of the zip overlap.")
        end = entry.header_offset + _LOCAL.size + entry.compress_size
    if end > size:
        raise BadInput(DAMAGED)


def pieces(stream: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of a member: as many as its directory says, and the same sum."""
    left, sum_so_far = entry.file_size, 0
    for piece in _unfolded(stream, entry):
        left -= len(piece)
        if left < 0:
            raise BadInput("A member of the zip is larger than it says.")
        sum_so_far = zlib.crc32(piece, sum_so_far)
        yield piece
    if left or sum_so_far != entry.CRC:
        raise BadInput(DAMAGED)


def _unfolded(stream: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    stored = _stored(stream, entry)
    if entry.compress_type == zipfile.ZIP_STORED:
        yield from stored
        return
    unfolding = zlib.decompressobj(wbits=-15)
    try:
        for data in stored:
            rest = data
            while rest and not unfolding.eof:
                yield unfolding.decompress(rest, READ_BYTES)
                rest = unfolding.unconsumed_tail
        while not unfolding.eof and (piece := unfolding.decompress(b"", READ_BYTES)):
            yield piece
    except zlib.error:
        raise BadInput(DAMAGED) from None
    if not unfolding.eof or unfolding.unused_data:
        raise BadInput(DAMAGED)


def _stored(stream: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The place is asked for before every read: others read from the same stream."""
    at = entry.header_offset
    stream.seek(at)
    header = stream.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MARK):
        raise BadInput(DAMAGED)
    *_, name, extra = _LOCAL.unpack(header)
    at += _LOCAL.size + name + extra
    end = at + entry.compress_size
    while at < end:
        stream.seek(at)
        data = stream.read(min(READ_BYTES, end - at))
        if not data:
            raise BadInput(DAMAGED)
        at += len(data)
        yield data
