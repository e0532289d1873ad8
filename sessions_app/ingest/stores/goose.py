"""Goose's `sessions.db`: tables `sessions`, `messages` and, in newer ones, `usage_ledger`.

Told as: the session; messages and ledger rows, each in the order of their ids, woven together by
the time they were written; the session's name after the first answer. Where there is no ledger,
the totals of a session that has rested for a day. Left out of the session's row: its name until
then, the time of its last change and settings.
"""

import heapq
from collections.abc import Iterable, Iterator

from sessions_app.domain import times
from sessions_app.ingest.stores.shape import Line, Row, Rows, Session, Store, Tables, has

NAME = "goose"
STABLE = ("id", "session_type", "working_dir", "created_at", "parent_session_id", "schedule_id")
NAMES = ("id", "name", "description", "user_set_name")
# Rows of the same second may still come in before these.
SETTLED_SECONDS = 5.0
# Totals change with every request, and a line that changes makes a new generation.
TOTALS = ("id", *(f"accumulated_{name}_tokens" for name in ("input", "output", "total")))
RESTED_SECONDS = 86_400.0


def recognises(tables: Tables) -> bool:
    return has(tables, "sessions", "id", "working_dir") and has(
        tables, "messages", "session_id", "role", "content_json"
    )


def sessions(db: Rows) -> Iterator[Session]:
    for row in db.rows("sessions", order=("id",), only=("id", "working_dir")):
        yield Session(row["id"], row.get("working_dir"), "sessions")


def lines(db: Rows, session: Session, now: float) -> Iterator[Line]:
    yield from _session(db, session, STABLE)
    is_named = has_ledger = False
    at = 0.0
    for at, line in heapq.merge(
        _timed(db, "messages", session), _timed(db, "usage_ledger", session), key=_moment
    ):
        if now - SETTLED_SECONDS < at <= now + SETTLED_SECONDS:
            return
        yield line
        has_ledger |= line.table == "usage_ledger"
        if not is_named and line.row.get("role") == "assistant":
            is_named = True
            yield from _session(db, session, NAMES)
    if not has_ledger and at < now - RESTED_SECONDS and has(db.tables, "sessions", *TOTALS[1:2]):
        yield from _session(db, session, TOTALS)


def _session(db: Rows, session: Session, only: Iterable[str]) -> Iterator[Line]:
    for row in db.rows("sessions", where={"id": session.id}, only=only):
        yield Line("sessions", row)


def _timed(db: Rows, table: str, session: Session) -> Iterator[tuple[float, Line]]:
    """Rising: a clock that was set back does not change the order of rows."""
    latest = 0.0
    for row in db.rows(table, where={"session_id": session.id}, order=("id",)):
        latest = max(latest, _written(row))
        yield latest, Line(table, row)


def _moment(timed: tuple[float, Line]) -> float:
    return timed[0]


def _written(row: Row) -> float:
    """`timestamp` is when the row was written; `created_timestamp` may be when it was begun."""
    for name in ("timestamp", "created_timestamp", "created_at"):
        if moment := times.read(row.get(name)):
            return moment.timestamp()
    return 0.0


STORE = Store(NAME, recognises, sessions, lines)
