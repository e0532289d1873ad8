"""What sessions used, as one number each: tokens, cost, calls.

An answer is told of in several lines and counts once, with the largest of each counter; a call
counts once however often its line was copied.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

# Up to here counting again costs less than looking whether it is due.
SMALL = 20_000
# A large session that grows is counted anew when it grew by a quarter, so that all the counting
# of its life costs a few times the last one.
GROWTH = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    # None where the log does not say.
    tokens: int | None
    cost: int | None
    unpriced: int
    calls: int


def is_due(*, events: int, counted: int) -> bool:
    return events <= SMALL or events >= counted * GROWTH


def count(session_ids: Collection[int]) -> None:
    """Count and keep, in the transaction that wrote the rows."""
    if session_ids:
        with connection.cursor() as cursor:
            cursor.execute(_KEEP.replace("{sums}", _SUMS), {"ids": list(session_ids)})


def of(session_ids: Collection[int]) -> dict[int, Totals]:
    """Counted now, kept nowhere: for sessions that grew since they were last counted."""
    if not session_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"ids": list(session_ids)})
        return {
            session_id: Totals(
                tokens=None if tokens is None else int(tokens),
                cost=None if cost is None else int(cost),
                unpriced=unpriced,
                calls=calls,
            )
            for session_id, tokens, cost, unpriced, calls in cursor.fetchall()
        }


_SUMS = """
    WITH asked AS (SELECT unnest(%(ids)s::bigint[]) AS id),
    answers AS (
        SELECT session_id, max(input) + max(output) + max(cache_read) + max(cache_write) AS tokens,
               max(cost) AS cost
        FROM sessions_app_usage WHERE session_id = ANY(%(ids)s::bigint[])
        GROUP BY session_id, key
    ),
    used AS (
        SELECT session_id, sum(tokens) AS tokens, sum(cost) AS cost,
               count(*) - count(cost) AS unpriced
        FROM answers GROUP BY session_id
    ),
    called AS (
        SELECT session_id, count(DISTINCT key) + count(*) FILTER (WHERE key IS NULL) AS calls
        FROM sessions_app_call
        WHERE session_id = ANY(%(ids)s::bigint[]) AND NOT is_result
        GROUP BY session_id
    )
    SELECT asked.id, used.tokens, used.cost, coalesce(used.unpriced, 0) AS unpriced,
           coalesce(called.calls, 0) AS calls
    FROM asked LEFT JOIN used ON used.session_id = asked.id
    LEFT JOIN called ON called.session_id = asked.id
"""

# Whatever a hostile log claims, a sum stays a number the column holds; what is unknown stays so.
_KEEP = """
    UPDATE sessions_app_session s
    SET tokens = CASE WHEN t.tokens > 9e18 THEN 9e18 ELSE t.tokens END,
        cost = CASE WHEN t.cost > 9e18 THEN 9e18 ELSE t.cost END,
        unpriced = t.unpriced, calls = t.calls, totals_events = s.events
    FROM ({sums}) t WHERE s.id = t.id
"""
