"""Rows of the Agents SDK's store, from the database to what is said."""

import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Body,
    Data,
    Message,
    Record,
    Role,
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
)
from sessions_app.ingest import stores

SDK = formats.BY_NAME["agents-sdk"]


def line(item: object, **more: object) -> bytes:
    row = {"id": 1, "session_id": "s1", "message_data": orjson.dumps(item).decode(), **more}
    return orjson.dumps({"store": "agents-sdk", "table": "agent_messages", "row": row})


def body(**item: Any) -> Body:
    return formats.read(SDK, line(item)).body


def parts(**item: Any) -> tuple[object, ...]:
    found = body(**item)
    assert isinstance(found, Message)
    return found.parts


def test_rows_are_recognised_and_tied_to_their_session() -> None:
    raw = line({"role": "user", "content": "hi", "id": "msg_1"}, created_at="2026-11-18 10:00:00")
    reading = formats.read(SDK, raw)

    assert formats.recognise(raw) is SDK
    assert reading.body == Message(role=Role.USER, parts=(Text(text="hi"),))
    assert reading.at is not None
    assert reading.at.isoformat() == "2026-11-18T10:00:00+00:00"
    assert reading.notes is not None
    assert reading.notes.ties == (Tie(TieKind.SELF, "s1"), Tie(TieKind.RECORD, "msg_1"))


def test_an_answer_of_parts_is_text() -> None:
    content = [{"type": "output_text", "text": "hello", "annotations": []}]

    assert parts(type="message", role="assistant", content=content) == (Text(text="hello"),)


def test_a_call_and_its_output_belong_together() -> None:
    called = parts(type="function_call", call_id="c1", name="ls", arguments='{"path":"."}')
    told = parts(type="function_call_output", call_id="c1", output="a.py")

    assert called == (ToolCall(name="ls", call_id="c1", arguments={"path": "."}),)
    assert told == (ToolResult(call_id="c1", text="a.py", is_error=False),)


def test_reasoning_is_thinking_where_it_can_be_read() -> None:
    summary = [{"type": "summary_text", "text": "hm"}]

    assert parts(type="reasoning", summary=summary) == (Thinking(text="hm"),)
    assert isinstance(parts(type="reasoning", encrypted_content="…")[0], Data)


def test_a_tool_of_the_provider_is_call_and_answer() -> None:
    found = parts(type="mcp_call", id="m1", name="find", arguments="{}", error="gone")

    assert found[:2] == (
        ToolCall(name="find", call_id="m1", arguments={}),
        ToolResult(call_id="m1", text="gone", is_error=True),
    )


def test_what_is_not_known_is_a_record() -> None:
    found = body(type="novelty", x=1)
    assert isinstance(found, Record)
    assert found.label == "novelty"
    for data in ("{broken", "7", None):
        row = {"id": 1, "message_data": data}
        raw = orjson.dumps({"store": "agents-sdk", "table": "agent_messages", "row": row})
        assert isinstance(formats.read(SDK, raw).body, Record)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.db"
    link = sqlite3.connect(path)
    link.executescript(
        """
        CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY,
            created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
            updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
        CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL, message_data TEXT NOT NULL,
            created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
        INSERT INTO agent_sessions (session_id) VALUES ('s1'), ('s2');
        """
    )
    said = [("s1", '{"role":"user","content":"hi"}'), ("s2", '{"role":"user","content":"other"}')]
    link.executemany("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", said)
    link.commit()
    link.close()
    return path


def test_each_session_of_a_database_is_a_source_that_grows(database: Path) -> None:
    first, _ = stores.sessions_in(str(database), "box")
    before = first.stream.read()
    link = sqlite3.connect(database)
    link.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('s1', '{}')")
    link.execute("UPDATE agent_sessions SET updated_at = '2030-01-01 00:00:00'")
    link.commit()
    link.close()

    again, other = stores.sessions_in(str(database), "box")
    after = again.stream.read()

    assert formats.recognise(before) is SDK
    assert (first.path, other.path) == (f"{database}#s1", f"{database}#s2")
    assert after.startswith(before)
    assert (before.count(b"\n"), after.count(b"\n")) == (2, 3)
