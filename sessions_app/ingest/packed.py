"""One packed log, `.gz` or `.zst`, into its bytes: bounded, and never under a name on disk."""

import tempfile
import zlib
from collections.abc import Generator, Iterator
from typing import BinaryIO

import zstandard

from sessions_app.domain.errors import BadInput, TooLarge

GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
MAGIC_BYTES = 4
SUFFIXES = (".zst", ".gz")

IN_MEMORY = 2 * 1024 * 1024
READ_BYTES = 64 * 1024
# Four bytes of zstd can stand for 128 KiB, and a call gives all that its bytes stand for: fed with
# this much at a time, one answer has 16 MiB at the most.
ZSTD_STEP = 512
# What a sender may make this process set aside. `zstd -19` needs 8 MiB, `--long` 128.
ZSTD_WINDOW = 32 * 1024 * 1024
# No log is this regular. Small files may be.
RATIO = 200
RATIO_FROM = 10 * 1024 * 1024

Spool = tempfile.SpooledTemporaryFile[bytes]


def is_packed(head: bytes) -> bool:
    """Told by the first bytes; a name proves nothing."""
    return head.startswith((GZIP, ZSTD))


def plain_name(path: str) -> str:
    """The name of what is inside."""
    for suffix in SUFFIXES:
        if path.lower().endswith(suffix):
            return path[: -len(suffix)]
    return path


def unpacked(stream: BinaryIO, limit: int) -> Spool:
    """What is inside, from its beginning; the caller closes it. TooLarge above `limit` bytes, or
    where a few bytes unfold to a flood; BadInput where they do not unfold at all."""
    meter = Meter(limit)
    return spooled(pieces(Metered(stream, meter)), meter)


def spooled(parts: Iterator[bytes], meter: "Meter") -> Spool:
    """A file without a name, ready to be read."""
    spool: Spool = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
    try:
        for part in parts:
            meter.gave(len(part))
            spool.write(part)
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return spool


class Meter:
    """How much was unfolded from how little."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._given = 0

    def claimed(self, size: int) -> None:
        """What a directory says in advance: believed where it is too much."""
        if size > self._limit:
            raise self._above()

    def took(self, size: int) -> None:
        self._taken += size

    def gave(self, size: int) -> None:
        self._given += size
        if self._given > self._limit:
            raise self._above()
        if self._given > RATIO_FROM and self._given > RATIO * self._taken:
            raise TooLarge(
                f"Unfolded it has more than {RATIO} times its size, as no log has. "
                "If it is one, send it unpacked."
            )

    def _above(self) -> TooLarge:
        return TooLarge(f"Unfolded it has more than {self._limit / 1024 / 1024:,.0f} MB.")


class Metered:
    """A stream whose reading is counted."""

    def __init__(self, stream: BinaryIO, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    def read(self) -> bytes:
        data = self._stream.read(READ_BYTES)
        self._meter.took(len(data))
        return data


def pieces(source: Metered) -> Iterator[bytes]:
    """One packed stream after the other: both formats may be joined end to end."""
    rest = _sight(source, b"")
    may_pad = rest.startswith(GZIP)
    while rest:
        if rest.startswith(GZIP):
            rest = yield from _inflated(source, rest)
        elif rest.startswith(ZSTD) or _is_note(rest):
            rest = yield from _unzstd(source, rest)
        elif may_pad and not rest.strip(b"\0"):
            rest = b""  # as gzip itself allows, for tapes
        else:
            raise BadInput("It cannot be unpacked: something else follows the packed bytes.")
        rest = _sight(source, rest)


def _sight(source: Metered, rest: bytes) -> bytes:
    """Enough to see what comes next."""
    while len(rest) < MAGIC_BYTES and (more := source.read()):
        rest += more
    return rest


def _is_note(head: bytes) -> bool:
    """A zstd frame that holds no content, but words of the packer's own."""
    return head[0] & 0xF0 == 0x50 and head[1:MAGIC_BYTES] == b"\x2a\x4d\x18"


def _inflated(source: Metered, rest: bytes) -> Generator[bytes, None, bytes]:
    unfolding = zlib.decompressobj(wbits=31)
    try:
        while not unfolding.eof:
            yield unfolding.decompress(rest or _more(source), READ_BYTES)
            rest = unfolding.unconsumed_tail
    except zlib.error:
        raise BadInput("It cannot be unpacked: the gzip data is damaged.") from None
    return unfolding.unused_data


def _unzstd(source: Metered, rest: bytes) -> Generator[bytes, None, bytes]:
    unfolding = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
    try:
        while not unfolding.eof:
            rest = rest or _more(source)
            yield unfolding.decompress(rest[:ZSTD_STEP])
            rest = rest[ZSTD_STEP:]
    except zstandard.ZstdError as error:
        raise BadInput(_zstd_sentence(str(error))) from None
    return unfolding.unused_data + rest


def _zstd_sentence(error: str) -> str:
    if "too much memory" in error:
        return (
            f"It needs a zstd window above {ZSTD_WINDOW // 1024 // 1024} MiB; "
            "pack it again without --long or --ultra."
        )
    return "It cannot be unpacked: the zstd data is damaged."


def _more(source: Metered) -> bytes:
    if data := source.read():
        return data
    raise BadInput("It cannot be unpacked: it ends in the middle.")
