"""Tool calls and their results, brought together."""

from collections import defaultdict
from dataclasses import dataclass

from django.db import connection

from sessions_app.models import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What a line with a call or a result belongs to; None where the other half is missing."""

    is_result: bool
    other: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    calls: int
    results: int
    failed: int
    without_result: int
    without_call: int
    # Calls that nothing tells the result of.
    without_id: int


def pairings(session: Session, lo: int, hi: int) -> dict[int, list[Pairing]]:
    """For the events lo ≤ seq < hi."""
    out: dict[int, list[Pairing]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS, [session.id, lo, hi])
        for seq, is_result, other in cursor.fetchall():
            out[seq].append(Pairing(is_result=is_result, other=other))
    return dict(out)


# A copied line repeats its ids: the nearest counterpart is the one meant.
_PAIRS = """
    SELECT a.seq, a.is_result, b.seq
    FROM sessions_app_call a
    LEFT JOIN LATERAL (
        SELECT seq FROM sessions_app_call b
        WHERE b.session_id = a.session_id AND b.key = a.key AND b.is_result <> a.is_result
        ORDER BY abs(b.seq - a.seq) LIMIT 1
    ) b ON true
    WHERE a.session_id = %s AND a.seq >= %s AND a.seq < %s AND a.key IS NOT NULL
    ORDER BY a.seq, a.no
"""


def answered(session_id: int, seqs: list[int]) -> dict[int, set[int]]:
    """The blind tools whose calls the results in these events answer."""
    out: dict[int, set[int]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERED, [session_id, seqs])
        for seq, tool in cursor.fetchall():
            out[seq].add(tool)
    return dict(out)


_ANSWERED = """
    SELECT r.seq, c.tool
    FROM sessions_app_call r
    JOIN sessions_app_call c
      ON c.session_id = r.session_id AND c.key = r.key AND NOT c.is_result
    WHERE r.session_id = %s AND r.seq = ANY(%s) AND r.is_result
"""


def counts(session: Session) -> CallCounts:
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [session.id])
        calls, results, failed, no_result, no_call, no_id = cursor.fetchone()
    return CallCounts(
        calls=calls + no_id,
        results=results,
        failed=failed,
        without_result=no_result,
        without_call=no_call,
        without_id=no_id,
    )


_COUNTS = """
    WITH pairs AS (
        SELECT key, bool_or(NOT is_result) AS called, bool_or(is_result) AS answered,
               bool_or(is_error) AS failed, count(*) AS rows
        FROM sessions_app_call WHERE session_id = %s GROUP BY key
    )
    SELECT count(*) FILTER (WHERE called AND key IS NOT NULL), count(*) FILTER (WHERE answered),
           count(*) FILTER (WHERE failed),
           count(*) FILTER (WHERE called AND NOT answered AND key IS NOT NULL),
           count(*) FILTER (WHERE answered AND NOT called),
           coalesce(sum(rows) FILTER (WHERE key IS NULL), 0)::int
    FROM pairs
"""
