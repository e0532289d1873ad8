"""OpenCode's `opencode.db`: tables `session`, `message`, `part`; in newer ones `session_message`.

Told as: the session; each message with its parts; the session's title after the first answer, by
when it has one. Left out of the session's row: its title until then, the time of its last change,
cost and token totals, the summary of its changes, and what is set while it goes on.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from sessions_app.domain import times
from sessions_app.ingest.stores.shape import Line, Row, Rows, Session, Store, Tables, has

NAME = "opencode"
SESSIONS = ("session", "session_v2")
STABLE = (
    *("id", "project_id", "workspace_id", "parent_id", "fork_session_id", "slug", "directory"),
    *("path", "version", "time_created"),
)
LONGEST_ROLE = 40
# A turn is told once its rows are no longer touched: parts are written over while they stream, and
# the prompt is given a summary when the turn is over.
SETTLED_SECONDS = 15.0
# One that was never finished is taken for abandoned.
ABANDONED_SECONDS = 1800.0


def recognises(tables: Tables) -> bool:
    old = has(tables, "message", "id", "session_id", "data")
    old = old and has(tables, "part", "message_id", "data")
    new = has(tables, "session_message", "session_id", "type", "data")
    return (old or new) and any(has(tables, name, "id") for name in SESSIONS)


def sessions(db: Rows) -> Iterator[Session]:
    seen: set[object] = set()
    for table in SESSIONS:
        for row in db.rows(table, order=("id",), only=("id", "directory")):
            if row["id"] not in seen:
                seen.add(row["id"])
                yield Session(row["id"], row.get("directory"), table)


def lines(db: Rows, session: Session, now: float) -> Iterator[Line]:
    yield from _session(db, session, STABLE)
    is_named = False
    for message, parts in _told(list(_messages(db, session)), now):
        yield message
        yield from parts
        if not is_named and _role(message) == "assistant":
            is_named = True
            yield from _session(db, session, ("id", "title"))


def _session(db: Rows, session: Session, only: Iterable[str]) -> Iterator[Line]:
    for row in db.rows(session.table, where={"id": session.id}, only=only):
        yield Line(session.table, row)


Told = tuple[Line, list[Line]]


def _messages(db: Rows, session: Session) -> Iterator[Told]:
    mine = {"session_id": session.id}
    order = ("seq", "time_created", "id")
    parts: dict[object, list[Line]] = {}
    for row in db.rows("part", where=mine, order=("id",)):
        parts.setdefault(row.get("message_id"), []).append(Line("part", row))
    is_old = False
    for row in db.rows("message", where=mine, order=order):
        is_old = True
        line = Line("message", row)
        role = _role(line)[:LONGEST_ROLE]
        yield line, [part._replace(role=role) for part in parts.pop(row.get("id"), [])]
    if not is_old:
        for row in db.rows("session_message", where=mine, order=order):
            yield Line("session_message", row), []
    for left in parts.values():
        yield left[0], left[1:]


def _told(messages: list[Told], now: float) -> list[Told]:
    """All turns but the last, and that too once it rests."""
    begins = [n for n, (line, _) in enumerate(messages) if _role(line) == "user"]
    last = messages[begins[-1] :] if begins else messages
    rows = [line.row for message, parts in last for line in (message, *parts)]
    patience = SETTLED_SECONDS if _is_finished(last) else ABANDONED_SECONDS
    touched = max((_seconds(row.get("time_updated")) for row in rows), default=0.0)
    is_resting = not now - patience < touched <= now + patience
    return messages if is_resting else messages[: len(messages) - len(last)]


def _is_finished(turn: list[Told]) -> bool:
    if not turn or _role(turn[-1][0]) == "user":
        return False
    data = _data(turn[-1][0].row)
    time = data.get("time")
    is_done = isinstance(time, dict) and "completed" in time
    return is_done and data.get("finish") != "tool-calls"


def _role(line: Line) -> str:
    said = line.row.get("type") if line.table == "session_message" else _data(line.row).get("role")
    return said if isinstance(said, str) else ""


def _seconds(value: object) -> float:
    moment = times.read(value)
    return moment.timestamp() if moment else 0.0


def _data(row: Row) -> dict[str, Any]:
    try:
        value = orjson.loads(row.get("data") or b"")  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


STORE = Store(NAME, recognises, sessions, lines)
