"""Bytes of a source into whole lines, without ever holding a line that does not fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

READ_BYTES = 1024 * 1024
# A line above this is handed over in pieces.
LONG_LINE = 1024 * 1024


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
    carry = b""
    inside_long_line = False
    while data := stream.read(READ_BYTES):
        if inside_long_line:
            end = data.find(b"\n") + 1
            yield Piece(data[:end] if end else data, last=bool(end))
            if not end:
                continue
            inside_long_line = False
            data = data[end:]
        end = data.rfind(b"\n") + 1
        if end:
            yield Block(carry + data[:end])
            carry = b""
        carry += data[end:]
        if len(carry) > LONG_LINE:
            yield Piece(carry, last=False)
            carry = b""
            inside_long_line = True
    if carry:
        yield Tail(carry)
