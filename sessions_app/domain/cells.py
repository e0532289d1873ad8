"""Cells of a CSV file that no spreadsheet takes for a formula, and the way back.

The rule, which `original` follows: drop one `'` at the start of a cell, then put the character in
the place of each `⟦U+…⟧`. A cell gets a `'` where it, after any spaces, starts with one of
`= + - @`, their full-width forms, a tab or a line end, or where it starts with a `'` of its own.
Hidden characters are written as `⟦U+…⟧`, and so is a `⟦` of the text.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from sessions_app.domain import hostile

# What a spreadsheet holds in one cell is 32,767 characters; the quote mark is one more.
LONGEST = 32_000
_ODD = re.compile(r"\s*[=+\-@＝＋－＠\t\r\n]|'")
_OPEN = "⟦"
_WRITTEN = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")


def safe(text: str) -> str:
    shown = hostile.reveal(text.replace(_OPEN, _written(_OPEN)), _written)
    return f"'{shown}" if _ODD.match(shown) else shown


def original(cell: str) -> str:
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), cell.removeprefix("'"))


def _written(run: str) -> str:
    return "".join(f"⟦U+{ord(char):04X}⟧" for char in run)


def bounded(text: str, longest: int = LONGEST) -> tuple[str, bool]:
    """The cell of a text and whether it is all of it. Cut by what the cell holds: a hidden
    character takes ten of them."""
    cell = safe(text[:longest])
    if len(text) <= longest and len(cell) <= longest:
        return cell, True
    cut = cell[:longest]
    broken = cut.rfind(_OPEN)
    return (cut[:broken] if broken >= 0 and "⟧" not in cut[broken:] else cut), False


def row(values: Iterable[object]) -> str:
    """A record of RFC 4180. Text is quoted, numbers are not; nothing is an empty field."""
    return ",".join(map(_field, values)) + "\r\n"


class Cell(str):
    """Text that is a cell already."""

    __slots__ = ()


def _field(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case int() | float():
            return str(value)
        case datetime():
            return value.isoformat()
        case Cell():
            return _quoted(value)
        case _:
            return _quoted(safe(str(value)))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
