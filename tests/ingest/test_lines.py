"""Bytes into lines: nothing lost, nothing held that does not fit, the same cuts every time."""

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.ingest import lines
from sessions_app.ingest.lines import Block, Item, Piece, Tail

SMALL = 16


@pytest.fixture(autouse=True, scope="module")
def short_lines_are_long() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "LONG_LINE", SMALL)
        patch.setattr(lines, "READ_BYTES", SMALL)
        yield


class Ragged:
    """A stream that gives less than was asked for, as pipes and network files do."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._stream = io.BytesIO(data)
        self._sizes = sizes

    def read(self, size: int, /) -> bytes:
        self._sizes = self._sizes[1:] + self._sizes[:1]
        return self._stream.read(min(size, self._sizes[0]))


texts = st.lists(st.one_of(st.binary(max_size=60), st.just(b"\n")), max_size=12).map(b"".join)
ragged = st.lists(st.integers(1, SMALL), min_size=1, max_size=5)


@given(texts, ragged)
def test_the_items_joined_are_the_stream(data: bytes, sizes: list[int]) -> None:
    found = list(lines.items(Ragged(data, sizes)))

    assert b"".join(item.data for item in found) == data
    assert all(item.data for item in found)
    assert all(_is_well_formed(item) for item in found)
    assert all(not isinstance(item, Tail) for item in found[:-1])


def _is_well_formed(item: Item) -> bool:
    match item:
        case Block(data):
            return data.endswith(b"\n") and all(len(x) <= SMALL for x in _lines_of(data))
        case Piece(data, last):
            return len(data) <= SMALL and data.endswith(b"\n") == last
        case Tail(data):
            return b"\n" not in data and len(data) <= SMALL


@given(texts, ragged)
def test_a_line_falls_into_the_same_pieces_however_it_is_read(
    data: bytes, sizes: list[int]
) -> None:
    assert _cuts(lines.items(Ragged(data, sizes))) == _cuts(lines.items(io.BytesIO(data)))


@given(texts, st.data())
def test_reading_on_from_a_line_end_gives_the_same_pieces(data: bytes, draw: st.DataObject) -> None:
    ends = [0, *(n + 1 for n, byte in enumerate(data) if byte == 0x0A)]
    begin = draw.draw(st.sampled_from(ends))

    whole = _cuts(lines.items(io.BytesIO(data)))
    rest = _cuts(lines.items(io.BytesIO(data[begin:])))

    assert {begin + cut for cut in rest} == {cut for cut in whole if cut > begin}


def _cuts(items: Iterator[Item]) -> set[int]:
    """Where lines and pieces end, whatever was handed over together."""
    at, cuts = 0, set[int]()
    for item in items:
        for part in _lines_of(item.data):
            at += len(part)
            cuts.add(at)
    return cuts


def _lines_of(data: bytes) -> list[bytes]:
    """Not splitlines(), which knows other line ends too."""
    *whole, rest = data.split(b"\n")
    return [each + b"\n" for each in whole] + ([rest] if rest else [])


def test_a_line_of_exactly_the_limit_is_whole() -> None:
    line = b"x" * (SMALL - 1) + b"\n"

    assert list(lines.items(io.BytesIO(line * 3))) == [Block(line)] * 3


def test_a_line_one_byte_over_the_limit_comes_in_two_pieces() -> None:
    line = b"x" * SMALL + b"\n"

    found = list(lines.items(io.BytesIO(line + b"y\n")))

    assert found[:2] == [Piece(b"x" * SMALL, last=False), Piece(b"\n", last=True)]
    assert found[2:] == [Block(b"y\n")]
