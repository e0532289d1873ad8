"""When the events of a session happened, in the order of its lines.

`domain/axis.in_order` says what that means. Columns of the session hold it for all events; a few
rows are placed in SQL, where anchors, a few hundred a session, say what the clock had reached
where a stretch begins.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connection

from sessions_app.domain import axis
from sessions_app.domain.axis import MOST_PAUSES, Axis, Mode, Pause, Unit
from sessions_app.domain.strips import longest_pauses
from sessions_app.domain.timeline import Row
from sessions_app.models import Session
from sessions_app.store import strips
from sessions_app.store.strips import Subject

ANCHORS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is worked out once for a session as it stands. It holds no text."""

    subject: Subject
    unit: Unit
    step: int
    # The moment of every `step`th event.
    anchors: tuple[int, ...]
    # The longest ones, above the cap of compressed time.
    pauses: tuple[Pause, ...]

    @property
    def session_id(self) -> int:
        return self.subject.session_id

    @property
    def events(self) -> int:
        return self.subject.events

    @property
    def is_subagent(self) -> bool:
        return self.subject.is_subagent

    def axis(self, mode: Mode) -> Axis:
        first, last = self.subject.first, self.subject.last
        if first is None or last is None:
            return axis.of_events(self.events)
        return axis.of_time(first, last, self.pauses if mode is Mode.COMPRESSED else ())


def outline(session: Session) -> Outline:
    return _outline(strips.subject(session, strips.version_of(session)))


@lru_cache(maxsize=64)
def _outline(about: Subject) -> Outline:
    whole = strips.of(about)
    step = max(1, -(-about.events // ANCHORS))
    return Outline(
        subject=about,
        unit=Unit.EVENT if about.first is None else Unit.TIME,
        step=step,
        anchors=tuple(whole.moments[::step]),
        pauses=tuple(longest_pauses(whole, MOST_PAUSES)),
    )


# The events lo ≤ seq < hi and when each of them happened. The three after them have a say in
# whether the last ones are believed.
PLACED = """
    told AS (
        SELECT seq, kind, flags, tool, CASE WHEN at <= %(latest)s THEN at END AS at
        FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s + 3
    ), seen AS (
        SELECT *, greatest(lead(at, 1) OVER lines, lead(at, 2) OVER lines, lead(at, 3) OVER lines)
                  AS ahead
        FROM told WINDOW lines AS (ORDER BY seq)
    ), placed AS (
        SELECT seq, kind, flags, tool, at,
               greatest(%(seed)s, max(at) FILTER (WHERE ahead IS NULL OR at <= ahead)
                                  OVER (ORDER BY seq)) AS moment
        FROM seen
    )
"""
_ROWS = """
    WITH {placed}
    SELECT seq, moment, kind, flags, tool FROM placed
    WHERE seq >= %(from)s AND seq < %(hi)s ORDER BY seq
"""
_BARE = """
    SELECT seq, kind, flags, tool FROM sessions_app_event
    WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s ORDER BY seq
"""


def _fetched(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql.format(placed=PLACED), values)
        return list(cursor.fetchall())


def bounds(known: Outline, lo: int, hi: int) -> dict[str, Any]:
    """Values for `PLACED`: from the last anchor at or before `lo`."""
    number = lo // known.step
    seed = known.anchors[number] if number < len(known.anchors) else 0
    return {
        "session": known.session_id,
        "lo": number * known.step,
        "from": lo,
        "hi": hi,
        "seed": axis.datetime_of(seed),
        "latest": None if known.subject.last is None else axis.datetime_of(known.subject.last),
    }


def rows(known: Outline, lo: int, hi: int) -> list[Row]:
    """The events lo ≤ seq < hi."""
    if known.unit is Unit.EVENT:
        values = {"session": known.session_id, "lo": lo, "hi": hi}
        return [Row(seq, seq, *rest) for seq, *rest in _fetched(_BARE, values)]
    found = _fetched(_ROWS, bounds(known, lo, hi))
    return [Row(seq, axis.moment_of(at), *rest) for seq, at, *rest in found]


def stretch(known: Outline, lo: int, hi: int) -> tuple[int, int]:
    """The numbers from ≤ seq < to of the events at the moments lo to hi; the end of the axis
    belongs to it."""
    shown = known.axis(Mode.WALL)
    upto = known.events if hi >= shown.last else first_at(known, hi)
    return min(first_at(known, lo), upto), upto


def first_at(known: Outline, moment: int) -> int:
    """The first event that did not happen before that moment."""
    if known.unit is Unit.EVENT:
        return min(max(moment, 0), known.events)
    return bisect_left(strips.of(known.subject).moments, moment)
