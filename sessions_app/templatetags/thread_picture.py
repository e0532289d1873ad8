"""The thread as a picture: a column per branch, downwards in the order of the tree.

For the eye only: the same sessions follow as a tree that everybody can walk.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.templatetags.show import plain

register = template.Library()

ROW, COLUMN, LEFT, TOP = 44, 24, 16, 22
BEND = 10
LONGEST_TITLE = 56
LONGEST_NOTE = 72
TEXT_WIDTH = 430


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A session in the picture. The row is its place in the list."""

    title: str
    note: str
    url: str
    part: str
    column: int
    # What the line that leads to it stands for.
    kind: str = ""
    parent_row: int | None = None
    is_current: bool = False
    has_errors: bool = False


@register.simple_tag
def thread_picture(spots: Sequence[Spot]) -> SafeString:
    columns = max((spot.column for spot in spots), default=0)
    width = LEFT + columns * COLUMN + TEXT_WIDTH + 14
    height = TOP * 2 + ROW * (len(spots) - 1)
    lines = format_html_join("", "{}", ((_line(spots, row),) for row in range(len(spots))))
    return format_html(
        '<svg class="thread-picture" width="{}" height="{}" viewBox="0 0 {} {}" aria-hidden="true">'
        '<g class="lines">{}</g>{}</svg>',
        *(width, height, width, height, lines),
        format_html_join("", "{}", ((_spot(spot, row),) for row, spot in enumerate(spots))),
    )


def _x(spot: Spot) -> int:
    return LEFT + spot.column * COLUMN


def _y(row: int) -> int:
    return TOP + row * ROW


def _line(spots: Sequence[Spot], row: int) -> SafeString:
    """Down the parent's column, then across to the branch's own."""
    spot = spots[row]
    if spot.parent_row is None:
        return SafeString("")
    x, y = _x(spots[spot.parent_row]), _y(spot.parent_row)
    if _x(spot) == x:
        path = f"M{x} {y}V{_y(row)}"
    else:
        path = f"M{x} {y}V{_y(row) - BEND}Q{x} {_y(row)} {x + BEND} {_y(row)}H{_x(spot)}"
    return format_html('<path class="{}" d="{}"/>', spot.kind.replace(" ", "-"), path)


def _spot(spot: Spot, row: int) -> SafeString:
    x, y = _x(spot), _y(row)
    names = " ".join(
        name
        for name, holds in {
            "spot": True,
            "is-current": spot.is_current,
            "has-errors": spot.has_errors,
        }.items()
        if holds
    )
    return format_html(
        '<a class="{}" href="{}" tabindex="-1"><title>{}</title>'
        '<rect class="hit" x="{}" y="{}" width="{}" height="{}" rx="4"/>{}{}'
        '<text class="title" x="{}" y="{}">{}</text><text class="note" x="{}" y="{}">{}</text></a>',
        *(names, spot.url, plain(spot.title)),
        *(x - 12, y - ROW // 2 + 2, TEXT_WIDTH + 24, ROW - 4),
        *(_ring(x, y, spot), _shape(x, y, spot.part)),
        *(x + 14, y - 1, _short(spot.title, LONGEST_TITLE)),
        *(x + 14, y + 14, _short(spot.note, LONGEST_NOTE)),
    )


def _ring(x: int, y: int, spot: Spot) -> SafeString:
    if not spot.is_current:
        return SafeString("")
    return format_html('<circle class="ring" cx="{}" cy="{}" r="10"/>', x, y)


def _shape(x: int, y: int, part: str) -> SafeString:
    """A session is round, a subagent has corners, a side file is small."""
    if part == "subagent":
        return format_html('<rect x="{}" y="{}" width="11" height="11"/>', x - 5.5, y - 5.5)
    return format_html('<circle cx="{}" cy="{}" r="{}"/>', x, y, 3.5 if part == "side" else 6)


def _short(text: str, longest: int) -> str:
    shown = plain(" ".join(text[: longest * 4].split()))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
