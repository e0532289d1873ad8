"""What the timeline of a session asks: counts in bins, single events, tools, subagents, ranges.

Nothing here opens a chunk, but for the names of the few tools that have lanes of their own.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain import axis, events
from sessions_app.domain import strips as columns
from sessions_app.domain.events import Flag, Kind, TieKind
from sessions_app.domain.strips import Context, Tool
from sessions_app.domain.timeline import TOP_TOOLS, Row, Tally
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import calls, keys, moments, read, sessions, strips, threads
from sessions_app.store.moments import Outline
from sessions_app.store.strips import Subject
from sessions_app.vault.terms import as_values

MOST_SUBAGENTS = 100
# How many events back an answer is looked for whose context still holds.
REMEMBERED = 2_000


def _sql(text: str, **parts: str) -> str:
    """Statements name flags, kinds and ties; their numbers are filled in here."""
    return text.format(Flag=Flag, Kind=Kind, TieKind=TieKind, **parts)


def _fetched(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


# Tools ---------------------------------------------------------------------------------------


def top_tools(known: Outline) -> tuple[Tool, ...]:
    return columns.top_tools(strips.of(known.subject), TOP_TOOLS)


def names_of(session: Session, tools: tuple[Tool, ...]) -> dict[int, str]:
    """The names behind blind terms, each read from one call; at most a chunk a tool is opened."""
    lines = {line.seq: line for line in read.some(session, [tool.seq for tool in tools])}
    blind = keys.blinder(session.workspace_id)
    out = {}
    for tool in tools:
        name = events.gist_of(lines[tool.seq].reading.body).tool if tool.seq in lines else ""
        if name and as_values(blind.of_facet("tool", name.casefold()))[0] == tool.term:
            out[tool.term] = name
    return out


# Many events ---------------------------------------------------------------------------------


def tallies(
    known: Outline, lo: int, hi: int, edges: tuple[int, ...], top: tuple[int, ...]
) -> list[Tally]:
    """The events lo ≤ seq < hi, counted by bin and lane."""
    return list(_tallies(known.subject, lo, hi, edges, top))


# One: the map and the lanes of a page that shows all of a session ask for the same.
@lru_cache(maxsize=1)
def _tallies(
    about: Subject, lo: int, hi: int, edges: tuple[int, ...], top: tuple[int, ...]
) -> list[Tally]:
    return columns.tallies(strips.of(about), lo, hi, edges, top)


def disordered(known: Outline) -> int:
    """How many events have a time of their own that does not fit the order of the lines."""
    return strips.of(known.subject).disordered


def contexts(known: Outline, hi: int, starts: tuple[int, ...]) -> tuple[Context, ...]:
    """The size of the context, of the events up to `hi`; starts are numbers of events."""
    return columns.contexts(strips.of(known.subject), hi, starts)


def context_before(known: Outline, lo: int) -> int:
    """The tokens of the last answer before that event; of one long ago there is no telling."""
    whole = strips.of(known.subject)
    at = bisect_left(whole.answers, lo)
    return whole.contexts[at - 1] if at and whole.answers[at - 1] >= lo - REMEMBERED else 0


# Few events ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Few enough events to draw each by itself."""

    rows: tuple[Row, ...]
    # The number of a call: the number of its result.
    results: dict[int, int]


def close_up(session: Session, known: Outline, lo: int, hi: int) -> Close:
    rows = moments.rows(known, lo, hi)
    results: dict[int, int] = {}
    for seq, pairs in calls.pairings(session, lo, hi).items():
        for pair in pairs:
            if pair.other is not None and not pair.is_result and pair.other > seq:
                results[seq] = max(results.get(seq, 0), pair.other)
    return Close(rows=tuple(rows), results=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    earlier: int | None
    later: int | None


def neighbours(known: Outline, seq: int, lane: int, top: tuple[int, ...]) -> Neighbours:
    """The events of the same lane before and after."""
    lanes = columns.lanes(strips.of(known.subject), top)
    earlier, later = lanes.rfind(lane, 0, seq), lanes.find(lane, seq + 1)
    return Neighbours(
        earlier=earlier if earlier >= 0 else None, later=later if later >= 0 else None
    )


# Subagents -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """A session that this one started, with its own times."""

    uid: UUID
    title: str
    start: int | None
    end: int | None
    events: int
    errors: int


def subagents(session: Session) -> list[Subagent]:
    """Found by ids of sessions and folders alone: a long session has an id for every record."""
    values = {"session": session.id, "most": MOST_SUBAGENTS}
    found = [number for (number,) in _fetched(_SUBAGENTS, values)]
    rows = Session.objects.select_related("key").filter(id__in=found).exclude(part=Part.SIDE)
    return [
        Subagent(
            uid=row.uid,
            title=threads.title_of(sessions.facts_of(row)),
            start=None if row.started_at is None else axis.moment_of(row.started_at),
            end=None if row.last_at is None else axis.moment_of(row.last_at),
            events=row.events,
            errors=row.errors,
        )
        for row in rows.order_by("started_at", "id")
    ]


_SUBAGENTS = _sql("""
    SELECT DISTINCT b.session_id
    FROM sessions_app_tie a
    JOIN sessions_app_tie b ON b.workspace_id = a.workspace_id AND b.key = a.key
    WHERE a.session_id = %(session)s AND b.session_id <> %(session)s
      AND a.kind IN ({TieKind.SELF.value}, {TieKind.STARTED.value}, {TieKind.FOLDER.value})
      AND (a.kind = {TieKind.SELF.value} AND b.kind = {TieKind.SUBAGENT_OF.value}
           OR a.kind = {TieKind.STARTED.value} AND b.kind = {TieKind.SELF.value}
           OR a.kind = {TieKind.FOLDER.value} AND b.kind = {TieKind.BELOW_FOLDER.value})
    ORDER BY 1 LIMIT %(most)s
""")


# Ranges --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What lies in a range, by kind. Repeated lines are events and nothing else."""

    events: int
    prompts: int
    answers: int
    calls: int
    results: int
    records: int
    unreadable: int
    subagents: int
    errors: int


def counts(known: Outline, lo: int, hi: int) -> Counts:
    values = {"session": known.session_id, "is_subagent": known.is_subagent, "lo": lo, "hi": hi}
    (found,) = _fetched(_COUNTS, values)
    return Counts(**dict(zip(Counts.__slots__, found, strict=True)))


_OWN = "(flags & {Flag.SIDECHAIN.value} = 0 OR %(is_subagent)s) AND flags & {Flag.ECHO.value} = 0"
_COUNTS = _sql(
    """
    SELECT count(*),
           count(*) FILTER (WHERE flags & {Flag.PROMPT.value} <> 0),
           count(*) FILTER (WHERE {own} AND kind = {Kind.ASSISTANT.value} AND tool = 0),
           count(*) FILTER (WHERE {own} AND kind = {Kind.ASSISTANT.value} AND tool <> 0),
           count(*) FILTER (WHERE {own} AND flags & {Flag.PROMPT.value} = 0
                                  AND kind IN ({Kind.TOOL.value}, {Kind.USER.value})),
           count(*) FILTER (WHERE {own} AND kind IN ({Kind.SYSTEM.value}, {Kind.RECORD.value})),
           count(*) FILTER (WHERE kind = {Kind.UNREADABLE.value}),
           count(*) FILTER (WHERE flags & {Flag.SIDECHAIN.value} <> 0 AND NOT %(is_subagent)s),
           count(*) FILTER (WHERE flags & {Flag.ERROR.value} <> 0)
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s
    """,
    own=_sql(_OWN),
)


# Models --------------------------------------------------------------------------------------


def models_at(known: Outline, seqs: list[int]) -> dict[int, str]:
    """The model of the first answer at or after each of these events."""
    found = _fetched(_MODELS, {"session": known.session_id, "seqs": seqs}) if seqs else []
    return {seq: model for seq, model in found if model}


_MODELS = """
    SELECT at.seq, used.model FROM unnest(%(seqs)s::int[]) AS at(seq)
    JOIN LATERAL (
        SELECT model FROM sessions_app_usage
        WHERE session_id = %(session)s AND seq >= at.seq ORDER BY seq, no LIMIT 1
    ) used ON true
"""
