"""When the events of a session happened, in the order of its lines.

`domain/axis.in_order` says what that means; here it is SQL, so that no event row has to leave the
database to be drawn. Times are asked for by stretches: anchors, a few hundred a session, say what
the clock had reached where a stretch begins.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection

from sessions_app.domain import axis
from sessions_app.domain.axis import MOST_PAUSES, PAUSE_CAP, Axis, Mode, Pause, Unit
from sessions_app.domain.timeline import Row
from sessions_app.models import Session
from sessions_app.models.record import Part

ANCHORS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is worked out once for a session as it stands. It holds no text."""

    session_id: int
    version: str
    events: int
    is_subagent: bool
    unit: Unit
    # The earliest time and the latest that can be true; none without two different ones.
    first: datetime | None
    last: datetime | None
    step: int
    # The moment of every `step`th event.
    anchors: tuple[int, ...]
    # The longest ones, above the cap of compressed time.
    pauses: tuple[Pause, ...]

    def axis(self, mode: Mode) -> Axis:
        if self.first is None or self.last is None:
            return axis.of_events(self.events)
        pauses = self.pauses if mode is Mode.COMPRESSED else ()
        return axis.of_time(axis.moment_of(self.first), axis.moment_of(self.last), pauses)


def outline(session: Session) -> Outline:
    started, last = session.started_at, session.last_at
    if started is None or last is None or started == last:
        started = last = None
    return _outline(
        session.id, _version(session), session.events, session.part == Part.SUBAGENT, started, last
    )


def _version(session: Session) -> str:
    """Another one whenever event rows may have changed: with the head when lines are added, with
    the transaction of the first row when all are derived anew."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xmin::text FROM sessions_app_event WHERE session_id = %s AND seq = 0",
            [session.id],
        )
        found = cursor.fetchone()
    return f"{found[0] if found else ''} {bytes(session.head_hash).hex()}"


@lru_cache(maxsize=64)
def _outline(
    session_id: int,
    version: str,
    events: int,
    is_subagent: bool,
    first: datetime | None,
    last: datetime | None,
) -> Outline:
    """Kept, because it reads every row of the session once."""
    step = max(1, -(-events // ANCHORS))
    anchors: list[tuple[int, int]] = []
    pauses: list[Pause] = []
    if first is not None:
        bounds = {"session": session_id, "lo": 0, "hi": events, "seed": first, "latest": last}
        most = {"step": step, "most": ANCHORS + MOST_PAUSES, "cap": PAUSE_CAP / axis.SECOND}
        for seq, at, before in _fetched(_OUTLINE, bounds | most):
            moment = axis.moment_of(at)
            if seq % step == 0:
                anchors.append((seq, moment))
            if before is not None and moment - axis.moment_of(before) > PAUSE_CAP:
                pauses.append(Pause(axis.moment_of(before), moment, seq))
    return Outline(
        session_id=session_id,
        version=version,
        events=events,
        is_subagent=is_subagent,
        unit=Unit.EVENT if first is None else Unit.TIME,
        first=first,
        last=last,
        step=step,
        anchors=tuple(moment for _, moment in sorted(anchors)),
        pauses=tuple(sorted(pauses)),
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
_OUTLINE = """
    WITH {placed}, spaced AS (
        SELECT seq, moment, lag(moment) OVER (ORDER BY seq) AS before
        FROM placed WHERE seq < %(hi)s
    )
    SELECT seq, moment, before FROM spaced
    WHERE seq %% %(step)s = 0 OR moment - before > make_interval(secs => %(cap)s)
    ORDER BY seq %% %(step)s = 0 DESC, moment - before DESC
    LIMIT %(most)s
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
        "latest": known.last,
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
    after = bisect_left(known.anchors, moment)
    if after == 0:
        return 0
    lo = (after - 1) * known.step
    hi = min(after * known.step, known.events)
    if known.step == 1:
        return hi
    found = (row.seq for row in rows(known, lo, hi) if row.moment >= moment)
    return next(found, hi)
