"""What sessions used, each answer of a provider counted once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max, Min

from sessions_app.domain.events import Flag
from sessions_app.domain.spending import By, Sums
from sessions_app.models import Usage
from sessions_app.store import spending, tally

# A program can wait for all of it to be counted.
PATIENCE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage(Sums):
    """Of the answers of one model."""

    model: str


def of_session(session_id: int) -> list[ModelUsage]:
    """Everything the session's own lines tell, also of answers that other sessions hold copies
    of."""
    return _by_model("session_id = %s", session_id)


def of_range(session_id: int, lo: int, hi: int) -> list[ModelUsage]:
    """What the events lo ≤ seq < hi tell."""
    return _by_model("session_id = %s AND seq >= %s AND seq < %s", session_id, lo, hi)


def of_workspace(workspace_id: UUID) -> list[ModelUsage]:
    """Once per corpus: an answer that several sessions tell of counts once."""
    tally.refresh(workspace_id, seconds=PATIENCE)
    found = spending.totals(workspace_id, by=By.MODEL)
    rows = [_of_sums(str(model), sums) for model, sums in found.items()]
    return sorted(rows, key=lambda row: (-row.input - row.output, row.model))


def _of_sums(model: str, sums: Sums) -> ModelUsage:
    names = ("answers", "input", "output", "cache_read", "cache_write", "reasoning")
    more = ("cost", "unpriced", "reported", "priced_on")
    return ModelUsage(model=model, **{name: getattr(sums, name) for name in (*names, *more)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a provider, at the first line that tells of it."""

    seq: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: int | None


def answers(session_id: int) -> Iterator[Answer]:
    """In the order of their lines, a few at a time."""
    most = [Max(name) for name in ("input", "output", "cache_read", "cache_write", "cost")]
    rows = (
        Usage.objects.filter(session_id=session_id)
        .values("key")
        .annotate(first=Min("seq"))
        .order_by("first", "key")
        .values_list("first", *most)
    )
    for seq, tokens_in, tokens_out, cache_read, cache_write, cost in rows.iterator(chunk_size=500):
        yield Answer(
            seq=seq,
            input=tokens_in,
            output=tokens_out,
            cache_read=cache_read,
            cache_write=cache_write,
            cost=cost,
        )


def _by_model(condition: str, *values: int) -> list[ModelUsage]:
    with connection.cursor() as cursor:
        cursor.execute(_SUMS.format(condition=condition), list(values))
        return [_row(row) for row in cursor.fetchall()]


# Lines of one answer may name the model only in part of them: the largest name is a name.
_SUMS = """
    WITH answers AS (
        SELECT max(model) AS model, max(input) AS input, max(output) AS output,
               max(cache_read) AS cache_read, max(cache_write) AS cache_write,
               max(reasoning) AS reasoning, max(cost) AS cost, max(reported) AS reported,
               max(priced_on) AS priced_on
        FROM sessions_app_usage WHERE {condition}
        GROUP BY key
    )
    SELECT model, count(*), sum(input), sum(output), sum(cache_read), sum(cache_write),
           sum(reasoning), sum(cost), count(*) - count(cost), sum(reported), max(priced_on)
    FROM answers GROUP BY model ORDER BY 3 + 4 DESC, model
"""


def _row(row: tuple[Any, ...]) -> ModelUsage:
    model, *sums = row
    return ModelUsage(model=model, **_sums(sums))


def _sums(row: Sequence[Any]) -> dict[str, Any]:
    """Sums of the database are decimals."""
    answers, *tokens, cost, unpriced, reported, priced_on = row
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    return {
        "answers": answers,
        **{name: int(number) for name, number in zip(names, tokens, strict=True)},
        "cost": None if cost is None else int(cost),
        "unpriced": unpriced,
        "reported": None if reported is None else int(reported),
        "priced_on": priced_on,
    }


# By turn -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Sums):
    """A prompt and all that follows until the next. What precedes the first prompt is turn 0."""

    number: int
    # The prompt; none of turn 0.
    seq: int | None
    at: datetime | None
    # The most that went into one answer of it.
    context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Sums):
    """Turns in a row that share a bar: the first one's number."""

    number: int
    context: int


def turns(session_id: int, *, first: int, size: int) -> list[Turn]:
    """The turns first ≤ number < first + size. An answer counts once, in the turn of the line that
    tells of it first. Reads the lines of these turns, and what else tells of the same answers."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"session": session_id, "skip": max(first - 1, 0)}
        cursor.execute(_PROMPTS, values | {"most": size + bool(first)})
        prompts = dict(enumerate(cursor.fetchall(), start=max(first, 1)))
        seqs = [seq for seq, _ in prompts.values()]
        if first and not seqs:
            return []
        values |= {"starts": seqs if first else [0, *seqs], "first": first}
        values["end"] = seqs[-1] if len(seqs) >= size + bool(first) else None
        cursor.execute(_TURNS.format(answer=_ANSWER, sums=_TURN_SUMS), values)
        told = {number: _turn(*row) for number, *row in cursor.fetchall()}
    listed = range(first if first or 0 in told else 1, first + size)
    return [
        Turn(number=n, seq=seq, at=at, **told.get(n, _NO_ANSWERS))
        for n in listed
        if n in prompts or n == 0
        for seq, at in [prompts.get(n, (None, None))]
    ]


def _turn(context: int, *sums: Any) -> dict[str, Any]:
    return _sums(sums) | {"context": context}


_NO_ANSWERS: dict[str, Any] = {"context": 0}


def groups(session_id: int, *, together: int) -> list[Group]:
    """All turns that have answers, so many in a row together."""
    values = {"session": session_id, "together": together}
    with connection.cursor() as cursor:
        statement = _GROUPS.format(answer=_ANSWER, sums=_TURN_SUMS, prompt=Flag.PROMPT.value)
        cursor.execute(statement, values)
        return [Group(number=number, **_turn(*row)) for number, *row in cursor.fetchall()]


_TURN_SUMS = """
    coalesce(max(input + cache_read + cache_write), 0), count(*),
    coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cache_read), 0),
    coalesce(sum(cache_write), 0), coalesce(sum(reasoning), 0),
    sum(cost), count(*) - count(cost), sum(reported), max(priced_on)
"""
# Written as the index of prompts and errors is.
_PROMPTS = """
    SELECT seq, at FROM sessions_app_event
    WHERE session_id = %(session)s AND flags & 9 <> 0 AND flags & 8 <> 0
    ORDER BY seq OFFSET %(skip)s LIMIT %(most)s
"""
_ANSWER = """
    min(seq) AS seq, max(input) AS input, max(output) AS output,
    max(cache_read) AS cache_read, max(cache_write) AS cache_write,
    max(reasoning) AS reasoning, max(cost) AS cost, max(reported) AS reported,
    max(priced_on) AS priced_on
    FROM sessions_app_usage
"""
# Lines of an answer are found by its key. Of a session that has just been written the planner
# knows nothing and would read all of it for every key: `+ 0` leaves it no other index.
_TURNS = """
    WITH keys AS MATERIALIZED (
        SELECT DISTINCT key FROM sessions_app_usage
        WHERE session_id = %(session)s AND seq >= (%(starts)s::int[])[1]
          AND (%(end)s::int IS NULL OR seq < %(end)s::int)
    ), answers AS (
        SELECT answer.* FROM keys CROSS JOIN LATERAL (
            SELECT {answer} WHERE key = keys.key AND session_id + 0 = %(session)s
        ) answer
    )
    SELECT %(first)s + width_bucket(seq, %(starts)s::int[]) - 1, {sums} FROM answers
    WHERE seq >= (%(starts)s::int[])[1] GROUP BY 1
"""
_GROUPS = """
    WITH prompts AS MATERIALIZED (
        SELECT coalesce(array_agg(seq ORDER BY seq), '{{}}'::int[]) AS seqs
        FROM sessions_app_event
        WHERE session_id = %(session)s AND flags & {prompt} <> 0
    ), answers AS (
        SELECT {answer} WHERE session_id = %(session)s GROUP BY key
    ), placed AS (
        SELECT CASE WHEN cardinality(seqs) > 0 THEN width_bucket(seq, seqs) ELSE 0 END AS turn,
               answers.*
        FROM answers, prompts
    )
    SELECT turn / %(together)s * %(together)s, {sums} FROM placed GROUP BY 1 ORDER BY 1
"""


# The context ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How much went into an answer, or the most of several in a row."""

    # Which answer of the session it is, from 1.
    number: int
    seq: int
    tokens: int
    # The least of them: the context may have been cut in between.
    least: int


def growth(session_id: int, *, most: int, is_subagent: bool) -> list[Reach]:
    """Over the life of the session, at most so many points. What a subagent inside the session
    reads does not fill its context."""
    values = {"session": session_id, "most": most, "is_subagent": is_subagent}
    with connection.cursor() as cursor:
        cursor.execute(_GROWTH.format(sidechain=Flag.SIDECHAIN.value), values)
        found = cursor.fetchall()
    return [Reach(number=n, seq=seq, tokens=most, least=least) for n, seq, most, least in found]


_GROWTH = """
    WITH answers AS (
        SELECT min(seq) AS seq, max(input + cache_read + cache_write) AS tokens
        FROM sessions_app_usage
        WHERE session_id = %(session)s AND input + cache_read + cache_write > 0
          AND (%(is_subagent)s OR seq NOT IN (
            SELECT seq FROM sessions_app_event
            WHERE session_id = %(session)s AND flags & {sidechain} <> 0
          ))
        GROUP BY key
    ), counted AS (
        SELECT seq, tokens, row_number() OVER (ORDER BY seq) AS number, count(*) OVER () AS total
        FROM answers
    )
    SELECT min(number), min(seq), max(tokens), min(tokens) FROM counted
    GROUP BY (number - 1) * least(%(most)s, total) / total ORDER BY 1
"""
