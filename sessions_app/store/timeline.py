"""What the timeline of a session asks: counts in bins, single events, tools, subagents, ranges.

Nothing here opens a chunk, but for the names of the few tools that have lanes of their own.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from sessions_app.domain import axis, events
from sessions_app.domain.axis import Unit
from sessions_app.domain.events import Flag, Kind, TieKind
from sessions_app.domain.timeline import TOP_TOOLS, Lane, Row, Tally
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import calls, keys, moments, read, sessions
from sessions_app.store.moments import PLACED, Outline
from sessions_app.vault.terms import as_values

# Counting more events than this is worth remembering until the session changes.
WORTH_KEEPING = 1_000
MOST_SUBAGENTS = 100
# How many events back an answer is looked for whose context still holds.
REMEMBERED = 2_000


def _sql(text: str, **parts: str) -> str:
    """Statements name flags, kinds and lanes; their numbers are filled in here."""
    return text.format(Flag=Flag, Kind=Kind, Lane=Lane, TieKind=TieKind, placed=PLACED, **parts)


# `domain/timeline.lane_of`, in SQL.
_LANE = _sql("""
    CASE WHEN flags & {Flag.SIDECHAIN.value} <> 0 AND NOT %(is_subagent)s
           THEN {Lane.SUBAGENTS.value}
         WHEN flags & {Flag.ECHO.value} <> 0 THEN {Lane.OTHER.value}
         WHEN flags & {Flag.PROMPT.value} <> 0 THEN {Lane.PROMPTS.value}
         WHEN kind <> {Kind.ASSISTANT.value} THEN {Lane.OTHER.value}
         WHEN tool = 0 THEN {Lane.ASSISTANT.value}
         ELSE {Lane.TOOLS.value} + coalesce(array_position(%(top)s::int[], tool), 0) END
""")


def _fetched(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


# Tools ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool by its blind term, and a call of it to learn its name from."""

    term: int
    calls: int
    seq: int


def top_tools(known: Outline) -> tuple[Tool, ...]:
    return _top_tools(known) if known.events <= WORTH_KEEPING else _kept_tools(known)


def _top_tools(known: Outline) -> tuple[Tool, ...]:
    values = {"session": known.session_id, "is_subagent": known.is_subagent, "most": TOP_TOOLS}
    found = _fetched(_TOOLS, values)
    return tuple(Tool(term=term, calls=number, seq=seq) for term, number, seq in found)


_kept_tools = lru_cache(maxsize=64)(_top_tools)
_TOOLS = _sql("""
    SELECT tool, count(*), min(seq) FROM sessions_app_event
    WHERE session_id = %(session)s AND tool <> 0 AND kind = {Kind.ASSISTANT.value}
      AND flags & {Flag.ECHO.value} = 0
      AND (flags & {Flag.SIDECHAIN.value} = 0 OR %(is_subagent)s)
    GROUP BY 1 ORDER BY 2 DESC, 3 LIMIT %(most)s
""")


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
    counted = _kept_tallies if hi - lo > WORTH_KEEPING else _tallies
    return list(counted(known, lo, hi, edges, top))


def _tallies(
    known: Outline, lo: int, hi: int, edges: tuple[int, ...], top: tuple[int, ...]
) -> tuple[Tally, ...]:
    more = {"top": list(top), "is_subagent": known.is_subagent}
    if known.unit is Unit.EVENT:
        values = {"session": known.session_id, "from": lo, "hi": hi, "edges": list(edges)}
        return tuple(map(Tally._make, _fetched(_COUNTED_BARE, values | more)))
    values = moments.bounds(known, lo, hi)
    values["edges"] = [axis.datetime_of(edge) for edge in edges]
    return tuple(map(Tally._make, _fetched(_COUNTED, values | more)))


# Few: the map and the lanes of one page ask for the same.
_kept_tallies = lru_cache(maxsize=4)(_tallies)


def _of_flag(flag: Flag) -> str:
    condition = f"FILTER (WHERE flags & {flag.value} <> 0)"
    return f"count(*) {condition}, min(seq) {condition}"


_FLAGGED = (Flag.ERROR, Flag.COMPACTION, Flag.MODEL_CHANGE)
_NUMBERS = ", ".join((f"{_LANE} AS lane, count(*), min(seq)", *map(_of_flag, _FLAGGED)))
_COUNTED = _sql(
    """
    WITH {placed}
    SELECT width_bucket(moment, %(edges)s::timestamptz[]) AS bin, {numbers},
           count(*) FILTER (WHERE at <> moment)
    FROM placed WHERE seq >= %(from)s AND seq < %(hi)s GROUP BY 1, 2
    """,
    numbers=_NUMBERS,
)
_COUNTED_BARE = _sql(
    """
    SELECT width_bucket(seq, %(edges)s::int[]) AS bin, {numbers}, 0
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq >= %(from)s AND seq < %(hi)s GROUP BY 1, 2
    """,
    numbers=_NUMBERS,
)


# The size of the context ---------------------------------------------------------------------


class Context(NamedTuple):
    """How much went into the answers between one start and the next, at most and at least."""

    # Which start, from 1.
    number: int
    most: int
    least: int


def contexts(known: Outline, lo: int, hi: int, starts: tuple[int, ...]) -> tuple[Context, ...]:
    """Of the events lo ≤ seq < hi; starts are numbers of events."""
    counted = _kept_contexts if hi - lo > WORTH_KEEPING else _contexts
    return counted(known, lo, hi, starts)


def _contexts(known: Outline, lo: int, hi: int, starts: tuple[int, ...]) -> tuple[Context, ...]:
    values = {"session": known.session_id, "is_subagent": known.is_subagent}
    values |= {"lo": lo, "hi": hi, "starts": list(starts)}  # type: ignore[dict-item]
    return tuple(map(Context._make, _fetched(_CONTEXTS, values)))


_kept_contexts = lru_cache(maxsize=16)(_contexts)
# What a subagent reads does not fill the context of its session.
_ANSWERS = _sql("""
    FROM sessions_app_usage
    WHERE session_id = %(session)s AND input + cache_read + cache_write > 0
      AND (%(is_subagent)s OR seq NOT IN (
        SELECT seq FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s
          AND flags & {Flag.SIDECHAIN.value} <> 0
      ))
""")
_CONTEXTS = _sql(
    """
    SELECT width_bucket(seq, %(starts)s::int[]), max(input + cache_read + cache_write),
           min(input + cache_read + cache_write)
    {answers} AND seq >= %(lo)s AND seq < %(hi)s GROUP BY 1 ORDER BY 1
    """,
    answers=_ANSWERS,
)
_CONTEXT_BEFORE = _sql(
    """
    SELECT input + cache_read + cache_write
    {answers} AND seq >= %(lo)s AND seq < %(hi)s ORDER BY seq DESC LIMIT 1
    """,
    answers=_ANSWERS,
)


def context_before(known: Outline, lo: int) -> int:
    """The tokens of the last answer before that event; of one long ago there is no telling."""
    values = {"session": known.session_id, "is_subagent": known.is_subagent}
    values |= {"lo": max(0, lo - REMEMBERED), "hi": lo}
    found = _fetched(_CONTEXT_BEFORE, values) if lo else []
    return int(found[0][0]) if found else 0


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
    values = {"session": known.session_id, "seq": seq, "lane": lane}
    values |= {"top": list(top), "is_subagent": known.is_subagent}  # type: ignore[dict-item]
    earlier = _fetched(_sql(_NEIGHBOUR, lane=_LANE, side="<", order="DESC"), values)
    later = _fetched(_sql(_NEIGHBOUR, lane=_LANE, side=">", order="ASC"), values)
    return Neighbours(
        earlier=earlier[0][0] if earlier else None, later=later[0][0] if later else None
    )


_NEIGHBOUR = """
    SELECT seq FROM sessions_app_event
    WHERE session_id = %(session)s AND seq {side} %(seq)s AND {lane} = %(lane)s
    ORDER BY seq {order} LIMIT 1
"""


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
            title=sessions.facts_of(row).title or "Untitled session",
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
