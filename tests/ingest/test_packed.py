"""A single packed log: every byte of it, or a sentence."""

import gzip
import io
from collections.abc import Callable

import pytest
import zstandard

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.ingest import packed

LOG = b"".join(b'{"n":%d,"text":"line %d"}\n' % (n, n * 7919) for n in range(9000))
MIB = 1024 * 1024


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def streamed_zst(data: bytes) -> bytes:
    """Without its size in the header, as a pipe packs it."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


def unpack(data: bytes, limit: int = 64 * MIB) -> bytes:
    with packed.unpacked(io.BytesIO(data), limit) as spool:
        return spool.read()


@pytest.mark.parametrize(
    "data",
    [
        zst(LOG),
        streamed_zst(LOG),
        gzip.compress(LOG),
        zst(LOG[:1000]) + zst(LOG[1000:]),
        gzip.compress(LOG[:1000]) + gzip.compress(LOG[1000:]),
        b"\x53\x2a\x4d\x18\x04\0\0\0note".join([zst(LOG[:700]), streamed_zst(LOG[700:])]),
        gzip.compress(LOG) + bytes(700),
    ],
    ids=["zst", "zst-stream", "gz", "zst-joined", "gz-joined", "zst-note", "gz-padded"],
)
def test_what_was_packed_comes_out(data: bytes) -> None:
    assert packed.is_packed(data[:16])
    assert unpack(data) == LOG


def test_nothing_packed_gives_an_empty_log() -> None:
    assert unpack(zst(b"")) == unpack(gzip.compress(b"")) == b""


@pytest.mark.parametrize("pack", [zst, streamed_zst, gzip.compress], ids=["zst", "stream", "gz"])
def test_a_file_cut_anywhere_is_refused_and_not_taken_in_part(
    pack: Callable[[bytes], bytes],
) -> None:
    whole = pack(LOG)
    for end in (5, len(whole) // 2, len(whole) - 1):
        with pytest.raises(BadInput):
            unpack(whole[:end])


def test_damage_and_other_bytes_behind_are_refused() -> None:
    for whole in (gzip.compress(LOG), streamed_zst(LOG)):
        with pytest.raises(BadInput, match="something else follows"):
            unpack(whole + b"PK\x03\x04")
        hurt = bytearray(whole)
        hurt[-6] ^= 0xFF
        with pytest.raises(BadInput):
            unpack(bytes(hurt))


def test_more_than_the_limit_is_too_large() -> None:
    for whole in (gzip.compress(LOG), zst(LOG)):
        assert unpack(whole, len(LOG)) == LOG
        with pytest.raises(TooLarge):
            unpack(whole, len(LOG) - 1)


def test_a_flood_from_few_bytes_is_refused_long_before_the_limit() -> None:
    flood = bytes(300 * MIB)
    for whole in (gzip.compress(flood, 1), zst(flood), streamed_zst(flood)):
        with pytest.raises(TooLarge, match="200 times"):
            unpack(whole, 10_000 * MIB)


def test_a_small_and_very_regular_log_is_no_flood() -> None:
    small = b'{"type":"ping"}\n' * 300_000
    assert len(small) > packed.RATIO * len(zst(small))
    assert unpack(zst(small)) == small


def test_a_window_that_would_take_the_memory_is_refused() -> None:
    options = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    whole = packer.compress(LOG) + packer.flush()
    with pytest.raises(BadInput, match="without --long"):
        unpack(whole)


def test_names_lose_the_packing_only() -> None:
    assert packed.plain_name("a/rollout-1.jsonl.zst") == "a/rollout-1.jsonl"
    assert packed.plain_name("log.JSONL.GZ") == "log.JSONL"
    assert packed.plain_name("a.gz/log.jsonl") == "a.gz/log.jsonl"
    assert not packed.is_packed(b'{"type":"user"}')
    assert not packed.is_packed(b"")
