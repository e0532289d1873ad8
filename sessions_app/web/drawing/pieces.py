"""Things drawn on a timeline, placed in per cent of its width."""

from dataclasses import dataclass
from datetime import datetime

from sessions_app.domain import axis
from sessions_app.domain.axis import Axis, Unit, Window
from sessions_app.domain.timeline import Span

# A bar narrower than this has no room for words.
LABEL_PIXELS = 40
LETTER_PIXELS = 6.6
THINNEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A bar: per cent of the width, and what it stands for."""

    x: str
    width: str
    seq: int = 0
    is_error: bool = False
    label: str = ""
    y: int = 3
    height: int = 14


def piece(
    made: Axis,
    shown: Window,
    span: Span,
    width: int,
    *,
    seq: int = 0,
    is_error: bool = False,
    label: str = "",
    y: int = 3,
    height: int = 14,
) -> Piece:
    """Inside the window, and never too thin to be seen."""
    thinnest = THINNEST / width
    share = made.scale(shown)
    start = min(max(share(span.start), 0), 1 - thinnest)
    end = min(max(share(span.end), start + thinnest), 1)
    return Piece(
        x=per_cent(start),
        width=per_cent(end - start),
        seq=seq,
        is_error=is_error,
        label=fitting(label, (end - start) * width),
        y=y,
        height=height,
    )


def per_cent(share: float) -> str:
    return f"{share * 100:.2f}%"


def fitting(words: str, pixels: float) -> str:
    """As much of the words as there is room for; none if that is hardly any."""
    letters = int((pixels - 8) / LETTER_PIXELS)
    if pixels <= LABEL_PIXELS or letters < 3:
        return ""
    return words if len(words) <= letters else f"{words[: letters - 1].rstrip()}…"


def at(unit: Unit, moment: int | None) -> datetime | None:
    return None if moment is None or unit is Unit.EVENT else axis.datetime_of(moment)


def marked(made: Axis, shown: Window, selected: Window | None) -> Piece | None:
    """The selection as it lies in the window."""
    if selected is None or selected.hi < shown.lo or selected.lo > shown.hi:
        return None
    return piece(made, shown, Span(selected.lo, selected.hi), 1_000)


def stands_at(made: Axis, shown: Window, moment: int) -> str:
    """Where in the window a moment is; nothing if it is outside."""
    return per_cent(made.scale(shown)(moment)) if shown.lo <= moment <= shown.hi else ""
