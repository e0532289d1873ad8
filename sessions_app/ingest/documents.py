"""A source that is not made of lines, cut into its records."""

from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.formats import Format
from sessions_app.ingest.lines import Readable, Tail

READ_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Whole:
    """One record."""

    data: bytes


def items(stream: Readable, fmt: Format) -> Iterator[Whole | Tail]:
    """Joined together, the items are exactly the bytes of the stream."""
    return _growing(stream, fmt) if fmt.grows else _closed(stream, fmt)


def _closed(stream: Readable, fmt: Format) -> Iterator[Whole | Tail]:
    """Held whole: `formats.for_size` keeps what is too large from coming here."""
    data = b"".join(iter(lambda: stream.read(READ_BYTES), b""))
    yield from (Whole(record) for record in _cut(data, fmt))


def _growing(stream: Readable, fmt: Format) -> Iterator[Whole | Tail]:
    """The last record waits for what follows, and stays the tail if nothing does."""
    rest = b""
    while data := stream.read(READ_BYTES):
        *whole, rest = _cut(rest + data, fmt)
        yield from (Whole(record) for record in whole)
    if rest:
        yield Tail(rest)


def _cut(data: bytes, fmt: Format) -> list[bytes]:
    starts = fmt.cut(data) if fmt.cut else [0]
    return [data[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(data)], strict=True)]
