"""Bytes of a source into whole lines, without ever holding a line that does not fit."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

# A line above this is handed over in pieces of this size. They are counted from the beginning of
# the line, so that a source read in several goes falls into the same pieces as one read at once.
LONG_LINE = 1024 * 1024
# Not above LONG_LINE: then only the line that was carried over from the read before can be long.
READ_BYTES = LONG_LINE


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Block:
    """One or more whole lines, each with its line end."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a long line; `last` if its line end is here."""

    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the source where no line end follows."""

    data: bytes


Item = Block | Piece | Tail


def items(stream: Readable) -> Iterator[Item]:
    """Joined together, the items are exactly the bytes of the stream."""
    rest = b""
    inside_long_line = False
    while data := stream.read(READ_BYTES):
        rest, inside_long_line = yield from _pieces(rest + data, inside_long_line)
        if inside_long_line:
            continue
        end = rest.rfind(b"\n") + 1
        if end:
            yield Block(rest[:end])
            rest = rest[end:]
    if rest:
        yield Piece(rest, last=False) if inside_long_line else Tail(rest)


def _pieces(data: bytes, is_inside: bool) -> Generator[Item, None, tuple[bytes, bool]]:
    """The pieces of the first line, if it is long; returns what is left, and whether that is
    still inside the line."""
    end = data.find(b"\n") + 1
    length = end or len(data)
    if not is_inside and length <= LONG_LINE:
        return data, False
    at = 0
    while length - at > LONG_LINE:
        yield Piece(data[at : at + LONG_LINE], last=False)
        at += LONG_LINE
    if not end:
        return data[at:], True
    yield Piece(data[at:end], last=True)
    return data[end:], False
