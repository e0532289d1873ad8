"""The ruler of a timeline, its pauses, and how a browser finds the moment under a pointer."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sessions_app.domain import axis
from sessions_app.domain.axis import DAY, MINUTE, SECOND, Axis, Pause, Unit, Window
from sessions_app.domain.timeline import Span
from sessions_app.templatetags.show import duration
from sessions_app.web.drawing.pieces import LETTER_PIXELS, THINNEST, Piece, fitting, per_cent, piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    x: str
    label: str
    day: str


@lru_cache(maxsize=64)
def ticks(made: Axis, shown: Window, width: int) -> tuple[Tick, ...]:
    out: list[Tick] = []
    last_day = ""
    found = axis.ruler(made, shown, width=width)
    finest = min((tick.step for tick in found), default=1)
    for tick in found:
        label, day = tick_words(made.unit, tick, finest)
        told = "" if day == last_day else day
        # Words that would be cut off at the end of the lane are left out.
        has_room = (1 - tick.share) * width > max(len(label), len(told)) * LETTER_PIXELS + 12
        out.append(
            Tick(x=per_cent(tick.share), label=label if has_room else "", day=told * has_room)
        )
        last_day = day if has_room else last_day
    return tuple(out)


def tick_words(unit: Unit, tick: axis.Tick, finest: int) -> tuple[str, str]:
    """What stands at a tick, and the day, which is told where it is another than before."""
    if unit is Unit.EVENT:
        return f"{tick.moment:,}", ""
    at = axis.datetime_of(tick.moment)
    day = f"{at.day} {at:%b %Y}"
    if finest >= DAY:
        return f"{at.day} {at:%b}", f"{at.year:04}"
    if tick.step >= MINUTE or not tick.moment % MINUTE:
        return f"{at:%H:%M}", day
    if tick.step >= SECOND or not tick.moment % SECOND:
        return f"{at:%H:%M:%S}", day
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03}", day


def bands(made: Axis, shown: Window, pauses: Iterable[Pause], width: int) -> tuple[Piece, ...]:
    """The pauses that are drawn shorter than they were; none where they are too narrow to see."""
    across = made.place(shown.hi) - made.place(shown.lo)
    room = axis.PAUSE_CAP * width / max(across, 1)
    if made.unit is Unit.EVENT or len(made.moments) <= 2 or room < THINNEST:
        return ()
    return tuple(
        piece(made, shown, Span(pause.start, pause.end), width, label=_paused(pause.length, room))
        for pause in pauses
        if pause.end > shown.lo and pause.start < shown.hi
    )


def _paused(length: int, room: float) -> str:
    words = str(duration(length / SECOND))
    return words if fitting(words, room) == words else ""


def knots(made: Axis, shown: Window) -> str:
    unit = axis.MILLISECOND if made.unit is Unit.TIME else 1
    found = axis.knots_in(made, shown)
    return " ".join(f"{share:.5f}:{moment / unit:.3f}" for share, moment in found)
