"""Tables that sort by their headers and go on page by page. The state is in the address."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.http import HttpRequest

PAGE = 100
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    key: str
    label: str
    # What it sorts by; None is unknown and comes last whichever way.
    value: Callable[[Row], Any]
    is_number: bool = True
    # Which way round it sorts first; numbers by their largest.
    is_large_first: bool | None = None
    css: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    label: str
    url: str
    direction: str
    css: str

    @property
    def icon(self) -> str:
        arrows = {"ascending": "chevron-up", "descending": "chevron-down"}
        return arrows.get(self.direction, "chevrons-up-down")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet(Generic[Row]):
    rows: list[Row]
    heads: list[Head]
    total: int
    first_url: str | None
    next_url: str | None


def address(request: HttpRequest, **changes: object) -> str:
    """This page with some of its state changed; None takes a part away."""
    kept = {**dict(request.GET.items()), **changes}
    query = urlencode({name: value for name, value in kept.items() if value not in (None, "")})
    return f"{request.path}?{query}" if query else request.path


def forget(request: HttpRequest, *names: str, **usual: str) -> None:
    """Takes parts out of the address: those named, and those that say what holds anyway."""
    query = request.GET.copy()
    for name, value in (*((name, None) for name in names), *usual.items()):
        if value in (None, query.get(name)):
            query.pop(name, None)
    request.GET = query  # type: ignore[assignment]


def sheet(
    request: HttpRequest,
    rows: Sequence[Row],
    columns: Sequence[Column[Row]],
    *,
    default: str,
    own: Callable[[Row], object],
) -> Sheet[Row]:
    """`sort` names a column, a minus before it turns it round. `after` is the row, by its `own`
    mark, that the page before ended with: a row that came or went meanwhile moves no other."""
    asked = request.GET.get("sort", "") or default
    chosen = next((c for c in columns if c.key == asked.removeprefix("-")), None)
    if chosen is None:
        asked, chosen = default, next(c for c in columns if c.key == default.removeprefix("-"))
    # Equals stay in one order, or a page could show a row again that another left out.
    settled = sorted(rows, key=lambda row: str(own(row)))
    ordered = in_order(settled, chosen, is_descending=asked.startswith("-"))
    begin = _behind(ordered, own, request.GET.get("after", ""))
    shown = ordered[begin : begin + PAGE]
    is_more = begin + PAGE < len(ordered)
    return Sheet(
        rows=shown,
        heads=[_head(request, column, asked) for column in columns],
        total=len(ordered),
        first_url=address(request, after=None) if begin else None,
        next_url=address(request, after=own(shown[-1])) if is_more else None,
    )


def in_order(rows: Sequence[Row], column: Column[Row], *, is_descending: bool) -> list[Row]:
    known = [row for row in rows if column.value(row) is not None]
    unknown = [row for row in rows if column.value(row) is None]
    return sorted(known, key=column.value, reverse=is_descending) + unknown


def _behind(rows: Sequence[Row], own: Callable[[Row], object], after: str) -> int:
    if not after:
        return 0
    return next((at + 1 for at, row in enumerate(rows) if str(own(row)) == after), 0)


def _head(request: HttpRequest, column: Column[Row], asked: str) -> Head:
    is_chosen, is_descending = asked.removeprefix("-") == column.key, asked.startswith("-")
    usual = column.is_number if column.is_large_first is None else column.is_large_first
    turned = not is_descending if is_chosen else usual
    direction = ("descending" if is_descending else "ascending") if is_chosen else ""
    sign = "-" if turned else ""
    return Head(
        label=column.label,
        url=address(request, sort=f"{sign}{column.key}", after=None),
        direction=direction,
        css=f"{'num ' if column.is_number else ''}{column.css}".strip(),
    )
