"""T48: no cell is a formula, and re-importing gives the original."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app.domain import cells

FORMULAS = {
    "equals": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(A1:A9)",
    "tab": "\t=1+1",
    "carriage return": "\r=1+1",
    "line feed": "\n=1+1",
    "CRLF": "\r\n=1+1",
    "NUL": "\x00=1+1",
    "space before it": "  =1+1",
    "no-break space before it": "\u00a0=1+1",
    "full-width": "＝1+1",
    "a hidden character before it": "\u200b=1+1",
    "its own quote": "'=1+1",
    "a quote only": "'",
    "quotes and commas": '","=1+1","',
    "a written hidden character": "⟦U+0041⟧",
}


@pytest.mark.parametrize("text", FORMULAS.values(), ids=FORMULAS)
def test_no_cell_starts_like_a_formula_and_the_way_back_is_exact(text: str) -> None:
    cell = cells.safe(text)
    assert cell[:1] not in tuple("=+-@\t\r\n\x00＝")
    assert not cell.lstrip().startswith(tuple("=+-@＝"))
    assert cells.original(cell) == text


def back(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.text(), min_size=1, max_size=5))
@example(["=1", "-", "'", "''", "⟦", "⟧U+0041⟧", "\r", "a\r\nb", "\ud800", "\U000e0041", '"'])
@example(["[ESC]", "⟦U+⟧", "⟦U+12345678⟧"])
def test_a_row_of_any_text_comes_back_as_it_was(texts: list[str]) -> None:
    (fields,) = back(cells.row(texts))
    assert [cells.original(field) for field in fields] == texts


@given(st.text())
def test_a_cell_hides_nothing(text: str) -> None:
    cell = cells.safe(text)
    assert cells.safe(cells.original(cell)) == cell
    assert not any(char in cell for char in "\x00\x1b\u202e\u200b\ufeff\u2028")


def test_numbers_times_and_nothing_are_not_quoted() -> None:
    at = datetime(2026, 11, 17, 9, tzinfo=UTC)
    told = cells.row([3, 0.5, None, True, False, "", at, cells.Cell("'=")])
    assert told == '3,0.5,,yes,,"",2026-11-17T09:00:00+00:00,"\'="\r\n'


def test_the_way_back_in_the_handbook_is_the_way_back() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "exports.md"
    code = page.read_text().partition("```python\n")[2].partition("\nwith open")[0]
    known: dict[str, Callable[[str], str]] = {}
    exec(code, known)  # noqa: S102 - it is our own page
    for text in FORMULAS.values():
        assert known["original"](cells.safe(text)) == text


@given(st.text(), st.integers(10, 60))
def test_a_bounded_cell_is_short_and_says_whether_it_is_whole(text: str, longest: int) -> None:
    cell, is_whole = cells.bounded(text, longest)
    assert len(cell) <= longest
    if is_whole:
        assert cells.original(cell) == text
    else:
        assert text.startswith(cells.original(cell))
