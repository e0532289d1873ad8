"""What turns took: time, tools, tokens and money, for all turns of a window in one question."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import connection

from sessions_app.models import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSums:
    """Costs are in millionths of a millionth of a dollar; None where no price is known."""

    took: timedelta | None
    events: int
    calls: int
    failed: int
    tokens: int
    output: int
    cost: int | None


def sums(session: Session, ends: dict[int, int]) -> dict[int, TurnSums]:
    """By the first event of each turn; `ends` tells for each where the next one begins. An answer
    of a provider counts once, in the turn that tells of it first; so does a call that is told
    again."""
    if not ends:
        return {}
    values: dict[str, int | list[int]] = {
        "session": session.id,
        "los": list(ends),
        "his": list(ends.values()),
        "first": min(ends),
        "last": max(ends.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, values)
        return {
            lo: TurnSums(
                took=took,
                events=events,
                calls=calls,
                failed=failed,
                tokens=int(tokens),
                output=int(output),
                cost=None if cost is None else int(cost),
            )
            for lo, took, events, calls, failed, tokens, output, cost in cursor.fetchall()
        }


_SUMS = """
    WITH turn AS (
        SELECT lo, hi FROM unnest(%(los)s::int[], %(his)s::int[]) AS t (lo, hi)
    ), answer AS (
        SELECT min(seq) AS seq, max(output) AS output, max(coalesce(cost, reported)) AS cost,
               max(input) + max(output) + max(cache_read) + max(cache_write) AS tokens
        FROM sessions_app_usage
        WHERE session_id = %(session)s AND seq >= %(first)s AND seq < %(last)s
        GROUP BY key
    )
    SELECT turn.lo, lasted.took, lasted.events, called.calls, called.failed,
           coalesce(used.tokens, 0), coalesce(used.output, 0), used.cost
    FROM turn
    CROSS JOIN LATERAL (
        SELECT max(at) - min(at) AS took, count(*) AS events FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= turn.lo AND seq < turn.hi
    ) lasted
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT key) FILTER (WHERE NOT is_result)
               + count(*) FILTER (WHERE key IS NULL) AS calls,
               count(DISTINCT key) FILTER (WHERE is_error) AS failed
        FROM sessions_app_call
        WHERE session_id = %(session)s AND seq >= turn.lo AND seq < turn.hi
    ) called
    CROSS JOIN LATERAL (
        SELECT sum(tokens) AS tokens, sum(output) AS output, sum(cost) AS cost FROM answer
        WHERE seq >= turn.lo AND seq < turn.hi
    ) used
"""
