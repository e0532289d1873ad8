"""The SQLite session store of the OpenAI Agents SDK: tables `agent_sessions` and `agent_messages`.

Told as: the session; its messages in the order of their ids. Left out: the time of the last change,
and the tables of turns and branches, whose rows are written over.
"""

from collections.abc import Iterator

from sessions_app.ingest.stores.shape import Line, Rows, Session, Store, Tables, has

NAME = "agents-sdk"
SESSIONS, MESSAGES = "agent_sessions", "agent_messages"
STABLE = ("session_id", "created_at")


def recognises(tables: Tables) -> bool:
    return has(tables, SESSIONS, "session_id") and has(
        tables, MESSAGES, "id", "session_id", "message_data"
    )


def sessions(db: Rows) -> Iterator[Session]:
    for row in db.rows(SESSIONS, order=("session_id",), only=("session_id",)):
        yield Session(row["session_id"], "", SESSIONS)


def lines(db: Rows, session: Session, _now: float) -> Iterator[Line]:
    own = {"session_id": session.id}
    for row in db.rows(SESSIONS, where=own, only=STABLE):
        yield Line(SESSIONS, row)
    for row in db.rows(MESSAGES, where=own, order=("id",)):
        yield Line(MESSAGES, row)


STORE = Store(NAME, recognises, sessions, lines)
