"""The members of a tar, read from its headers alone.

Not the standard library's reader: its headers can make it recurse, loop, or take all memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from sessions_app.domain.errors import BadInput

BLOCK = 512
# Of one header that gives a longer name or times.
LONGEST_HEADER = 64 * 1024
# Headers that speak of one member.
MOST_HEADERS = 8

_REGULAR = {b"0", b"\0", b"7"}
_FOLDER = b"5"
_PAX, _PAX_FOR_ALL, _LONG_NAME, _LONG_LINK = b"x", b"g", b"L", b"K"
_LINKS = {b"1", b"2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TarMember:
    name: str
    at: int
    size: int


def is_tar(head: bytes) -> bool:
    """Old tars have no mark, but every header has a sum."""
    return len(head) >= BLOCK and bool(head[0]) and _is_header(head[:BLOCK])


def members(stream: BinaryIO) -> Iterator[TarMember]:
    """Regular files; folders are left out, anything else is refused."""
    reader = _Reader(stream)
    while (member := reader.next()) is not None:
        if member.size >= 0:
            yield member


class _Reader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._end = stream.seek(0, 2)
        self._at = 0

    def next(self) -> TarMember | None:
        """The next member; a folder has the size -1."""
        told: dict[str, str] = {}
        for _ in range(MOST_HEADERS):
            header = self._header()
            if header is None and not told:
                return None
            if header is None:
                break
            kind = header[156:157]
            if kind not in (_PAX, _PAX_FOR_ALL, _LONG_NAME, _LONG_LINK):
                return self._member(header, kind, told)
            told |= self._told(header, kind) | {"begun": ""}
        raise BadInput("The tar is damaged: headers without a member.")

    def _header(self) -> bytes | None:
        self._stream.seek(self._at)
        header = self._stream.read(BLOCK)
        if not header.strip(b"\0"):
            return None
        if len(header) < BLOCK or not _is_header(header):
            raise BadInput("The tar is damaged: a header is not as it should be.")
        self._at += BLOCK
        return header

    def _told(self, header: bytes, kind: bytes) -> dict[str, str]:
        size = _number(header[124:136])
        if size > LONGEST_HEADER:
            raise BadInput("The tar has a header of more than 64 KiB.")
        raw = self._stream.read(size)
        self._skip(size)
        if kind == _LONG_NAME:
            return {"path": _text(raw.rstrip(b"\0"))}
        return _records(raw) if kind == _PAX else {}

    def _member(self, header: bytes, kind: bytes, told: dict[str, str]) -> TarMember:
        name = told.get("path") or _name(header)
        is_folder = kind == _FOLDER or name.endswith("/")
        if (not is_folder and kind not in _REGULAR) or "sparse" in told:
            raise BadInput(_unwanted(kind))
        size = _decimal(told["size"]) if "size" in told else _number(header[124:136])
        at = self._at
        self._skip(size)
        return TarMember(name=name, at=at, size=-1 if is_folder else size)

    def _skip(self, size: int) -> None:
        if self._at + size > self._end:
            raise BadInput("The tar ends in the middle of a member.")
        self._at += -(-size // BLOCK) * BLOCK


def _is_header(block: bytes) -> bool:
    try:
        stated = _number(block[148:156])
    except BadInput:
        return False
    return stated == sum(block[:148]) + sum(block[156:]) + 8 * ord(" ")


def _number(field: bytes) -> int:
    """Octal digits, or the bytes of a large number behind a mark."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise BadInput("The tar is damaged: a number is not one.")
    return int(digits or b"0", 8)


def _decimal(digits: str) -> int:
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise BadInput("The tar is damaged: a number is not one.")
    return int(digits)


def _name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0]
    is_posix = header[257:263] == b"ustar\0"
    return _text(prefix + b"/" + name if is_posix and prefix else name)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _records(raw: bytes) -> dict[str, str]:
    """Lines of `length key=value`, the length of the line first."""
    found: dict[str, str] = {}
    at = 0
    while at < len(raw) and raw[at]:
        digits = raw[at : at + 8].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        key, mark, value = raw[at + len(digits) + 1 : at + length - 1].partition(b"=")
        # Without a length, nothing would ever be read past this line.
        if not length or not mark or at + length > len(raw):
            raise BadInput("The tar is damaged: a header is not as it should be.")
        at += length
        if key in (b"path", b"size"):
            found[key.decode()] = _text(value)
        elif key.startswith(b"GNU.sparse"):
            found["sparse"] = ""
    return found


def _unwanted(kind: bytes) -> str:
    if kind in _LINKS:
        return "It holds a link. Pack it again without links, or only the folder with the logs."
    return "It holds a device, a pipe or a file with holes. Pack it again with plain files only."
