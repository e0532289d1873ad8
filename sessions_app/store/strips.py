"""The events of a session as columns, kept beside it so that its timeline reads no event rows.

Of a long session they are kept when the last batch of its log is written, and by whoever first
looks at one without. They follow from event rows alone; `reproject` drops them. The few events
that came after the last strip are read from their rows.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import starmap, takewhile
from typing import NamedTuple

import zstandard
from django.db import connection, transaction

from sessions_app.domain import axis, strips
from sessions_app.domain.axis import LOOK_AHEAD
from sessions_app.domain.events import Flag, Kind
from sessions_app.domain.strips import MARKED, NO_TIME, Clock, Columns, Strip
from sessions_app.domain.timeline import Lane
from sessions_app.models import Session
from sessions_app.models import Strip as Kept
from sessions_app.models.record import Part

VERSION = 1
SIZE = 4_096
# A shorter session is read from its rows as fast.
LONG = SIZE
# The last strip is made anew, longer, after so many more events.
STEP = 512
LARGEST = 1024 * 1024
# Times travel as the database has them: microseconds since 2000.
_CENTURY = axis.moment_of(datetime.fromisoformat("2000-01-01T00:00:00+00:00"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A session as it stands. The version changes whenever its event rows may have changed."""

    session_id: int
    version: str
    events: int
    is_subagent: bool
    # The earliest time and the latest that can be true; none without two different ones.
    first: int | None
    last: int | None

    @property
    def settled(self) -> int:
        """Events that will stay as they are: the last line may be incomplete, and the last few
        times may be believed or not."""
        return max(0, self.events - LOOK_AHEAD - 1)


def subject(session: Session, version: str = "") -> Subject:
    first, last = session.started_at, session.last_at
    is_timed = first is not None and last is not None and first != last
    return Subject(
        session_id=session.id,
        version=version,
        events=session.events,
        is_subagent=session.part == Part.SUBAGENT,
        first=axis.moment_of(first) if first and is_timed else None,
        last=axis.moment_of(last) if last and is_timed else None,
    )


# Few: a session of a hundred thousand events takes about a megabyte.
@lru_cache(maxsize=16)
def of(about: Subject) -> Strip:
    """All of it."""
    rows = _kept(about)
    found = [_opened(row) for row in rows]
    if _is_behind(about, rows):
        whole = _whole(rows)
        found = [*found[:whole], *_made_from(about, whole, _reached(found[:whole]))]
        _keep_if_unchanged(about, whole, found[whole:])
    upto = sum(strip.events for strip in found)
    rest = _made(about, upto, about.events, _reached(found))
    return strips.joined([*found, rest])


def keep(session_ids: list[int]) -> None:
    """Whatever is missing, in the transaction that wrote the rows."""
    for session in Session.objects.filter(id__in=session_ids, events__gte=LONG):
        about = subject(session)
        rows = _kept(about, is_opened=False)
        if _is_behind(about, rows):
            whole = _whole(rows)
            reached = rows[whole - 1].reached if whole else None
            _keep(about, whole, list(_made_from(about, whole, reached)))


def _is_behind(about: Subject, rows: list["_Row"]) -> bool:
    kept = sum(row.events for row in rows)
    return about.events >= LONG and about.settled - kept >= STEP


def _whole(rows: list["_Row"]) -> int:
    """How many strips will not grow."""
    return sum(row.events == SIZE for row in rows)


def _made_from(about: Subject, first: int, reached: int | None) -> Iterator[Strip]:
    for lo in range(first * SIZE, about.settled, SIZE):
        strip = _made(about, lo, min(lo + SIZE, about.settled), reached)
        reached = _reached([strip])
        yield strip


def drop(session_id: int) -> None:
    """The record was read anew: what followed from the old reading no longer does."""
    Kept.objects.filter(session_id=session_id).delete()


def _keep_if_unchanged(about: Subject, first: int, found: list[Strip]) -> None:
    """Whoever writes event rows holds the row of their session."""
    with transaction.atomic():
        row = (
            Session.objects.select_for_update(no_key=True, skip_locked=True)
            .filter(id=about.session_id, events=about.events)
            .first()
        )
        if row is not None and version_of(row) == about.version:
            _keep(about, first, found)


def version_of(session: Session) -> str:
    """With the head another one when lines are added, with the transaction of the first row when
    all are derived anew."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xmin::text FROM sessions_app_event WHERE session_id = %s AND seq = 0",
            [session.id],
        )
        found = cursor.fetchone()
    return f"{found[0] if found else ''} {bytes(session.head_hash).hex()}"


# Kept -----------------------------------------------------------------------------------------


class _Row(NamedTuple):
    no: int
    version: int
    first: int | None
    is_subagent: bool
    beyond: int | None
    events: int
    reached: int | None
    data: bytes = b""


def _kept(about: Subject, *, is_opened: bool = True) -> list[_Row]:
    """From the first on, as long as they still say what the rows do."""
    rows = Kept.objects.filter(session_id=about.session_id).order_by("no")
    told = starmap(_Row, rows.values_list(*(_Row._fields if is_opened else _Row._fields[:-1])))
    return [
        row for _, row in takewhile(lambda each: _holds(each[0], each[1], about), enumerate(told))
    ]


def _holds(no: int, row: _Row, about: Subject) -> bool:
    """A session that came to begin earlier, or in which a time became possible, is placed anew."""
    known = (no, VERSION, about.first, about.is_subagent)
    if (row.no, row.version, row.first, row.is_subagent) != known:
        return False
    if no * SIZE + row.events > about.settled:
        return False
    return row.beyond is None or about.last is None or row.beyond > about.last


def _opened(row: _Row) -> Strip:
    data = zstandard.ZstdDecompressor().decompress(row.data, max_output_size=LARGEST)
    return strips.unpacked(data, row.beyond)


def _keep(about: Subject, first: int, found: list[Strip]) -> None:
    pack = zstandard.ZstdCompressor(level=1)
    Kept.objects.bulk_create(
        [
            Kept(
                session_id=about.session_id,
                no=no,
                version=VERSION,
                first=about.first,
                is_subagent=about.is_subagent,
                beyond=strip.beyond,
                events=strip.events,
                reached=_reached([strip]),
                data=pack.compress(strips.packed(strip)),
            )
            for no, strip in enumerate(found, start=first)
        ],
        update_conflicts=True,
        unique_fields=["session_id", "no"],
        update_fields=["version", "first", "is_subagent", "beyond", "events", "reached", "data"],
    )


# Made -----------------------------------------------------------------------------------------


def _made(about: Subject, lo: int, hi: int, reached: int | None) -> Strip:
    values = {"session": about.session_id, "is_subagent": about.is_subagent, "lo": lo, "hi": hi}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS_OF_STRIP, values)
        times, tools, lanes, *marks = cursor.fetchone()
        cursor.execute(_ANSWERS_OF_STRIP, values)
        answers = cursor.fetchone()
    told = Columns(
        lo=lo,
        times=array("q", [at if at == NO_TIME else at + _CENTURY for at in _numbers("q", times)]),
        tools=_numbers("i", tools),
        lanes=(lanes or b"")[1::2],
        marked=_numbers("i", marks[0]),
        marks=array("i", _numbers("h", marks[1])),
        answers=_numbers("i", answers[0]),
        contexts=_numbers("q", answers[1]),
    )
    return strips.made(told, _clock(about, reached))


def _numbers(code: str, sent: bytes | None) -> "array[int]":
    """The database sends them in network order."""
    found: array[int] = array(code)
    found.frombytes(sent or b"")
    return strips.swapped(found)


def _reached(found: list[Strip]) -> int | None:
    return found[-1].moments[-1] if found and found[-1].moments else None


def _clock(about: Subject, reached: int | None) -> Clock | None:
    if about.first is None or about.last is None:
        return None
    return Clock(reached=about.first if reached is None else reached, latest=about.last)


# `domain/timeline.lane_of`, in SQL.
_LANE = f"""
    CASE WHEN flags & {Flag.SIDECHAIN.value} <> 0 AND NOT %(is_subagent)s
           THEN {Lane.SUBAGENTS.value}
         WHEN flags & {Flag.ECHO.value} <> 0 THEN {Lane.OTHER.value}
         WHEN flags & {Flag.PROMPT.value} <> 0 THEN {Lane.PROMPTS.value}
         WHEN kind <> {Kind.ASSISTANT.value} THEN {Lane.OTHER.value}
         WHEN tool = 0 THEN {Lane.ASSISTANT.value}
         ELSE {Lane.TOOLS.value} END
"""
# One value a column: rows take a hundred times as long to fetch. What has no time is sent as the
# smallest number.
_ROWS = """
    SELECT string_agg(coalesce(timestamptz_send(at), int8send({none})), '' ORDER BY seq),
           string_agg(int4send(tool), '' ORDER BY seq)
             FILTER (WHERE seq < %(hi)s AND lane = {tools}),
           string_agg(int2send(lane::int2), '' ORDER BY seq) FILTER (WHERE seq < %(hi)s),
           string_agg(int4send(seq), '' ORDER BY seq) FILTER (WHERE {marked}),
           string_agg(int2send(flags & {marks}::int2), '' ORDER BY seq) FILTER (WHERE {marked})
    FROM (
        SELECT seq, at, tool, flags, {lane} AS lane FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s + {ahead}
    ) event
"""
# What a subagent reads does not fill the context of its session.
_ANSWERS = """
    SELECT string_agg(int4send(seq), '' ORDER BY seq, no),
           string_agg(int8send(input + cache_read + cache_write), '' ORDER BY seq, no)
    FROM sessions_app_usage
    WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s
      AND input + cache_read + cache_write > 0
      AND (%(is_subagent)s OR seq NOT IN (
        SELECT seq FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s
          AND flags & {sidechain} <> 0
      ))
"""
_MARKED = f"seq < %(hi)s AND flags & {MARKED} <> 0"
_ROWS_OF_STRIP = _ROWS.format(
    none=f"'{NO_TIME}'",
    lane=_LANE,
    tools=Lane.TOOLS.value,
    marked=_MARKED,
    marks=MARKED,
    ahead=LOOK_AHEAD,
)
_ANSWERS_OF_STRIP = _ANSWERS.format(sidechain=Flag.SIDECHAIN.value)
