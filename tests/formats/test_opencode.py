"""OpenCode: rows of its database, files of its storage in lines, and a file alone."""

import base64
import json
from pathlib import Path
from typing import Any

import orjson

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Picture,
    Reading,
    Record,
    Role,
    Scope,
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    Unreadable,
    Usage,
)
from sessions_app.formats import opencode
from sessions_app.ingest import stores
from tests.formats.reading import message, notes, parts, read, real, records
from tests.ingest import stores as build


def row(table: str, data: dict[str, Any], role: str = "", **columns: object) -> Reading:
    whole = {"id": "x_1", "session_id": "ses_1", **columns, "data": json.dumps(data)}
    return read(opencode.LINES, {"store": "opencode", "table": table, "row": whole, "role": role})


def test_a_database_is_read_from_its_lines(tmp_path: Path) -> None:
    build.opencode(tmp_path / "opencode.db").close()
    [held] = stores.sessions_in(str(tmp_path / "opencode.db"), "box")
    raw = held.stream.read()

    assert formats.recognise(raw) is opencode.LINES
    session, _, prompt, about, answer, named = records(opencode.LINES, raw)

    assert notes(session).ties == (Tie(TieKind.SELF, "ses_1"),)
    assert (notes(session).cwd, notes(session).version) == ("/home/ann/shop", "1.3.17")
    assert (message(prompt).role, parts(prompt)) == (Role.USER, (Text(text="prompt 1"),))
    assert (message(answer).role, parts(answer)) == (Role.ASSISTANT, (Text(text="answer 1"),))
    assert notes(named).title == "Fix it"
    assert all(reading.at for reading in (session, prompt, about))
    assert notes(about).model == "gpt-5"
    assert notes(about).usage == (
        Usage(
            key=f"opencode {build.THEN + build.MINUTE} gpt-5",
            model="gpt-5",
            provider="openai",
            input=10,
            output=7,
            cache_read=3,
            cache_write=1,
            reasoning=2,
            reported=10_000_000_000,
        ),
    )


def test_a_message_without_a_time_is_known_by_its_id_in_its_session() -> None:
    data = {"role": "assistant", "tokens": {"input": 1, "output": 2}}
    (used,) = notes(row("message", data, time_created=None)).usage

    assert (used.key, used.scope) == ("x_1", Scope.SESSION)


def test_a_fork_is_told_from_a_subagent() -> None:
    by_title = {"id": "b", "parent_id": "a", "title": "Fix it (fork #2)"}
    by_field = {"id": "b", "fork_session_id": "a", "title": "Fix it (fork #1)"}
    for fields in (by_title, by_field):
        line = {"store": "opencode", "table": "session_v2", "row": fields}
        assert notes(read(opencode.LINES, line)).ties == (
            Tie(TieKind.SELF, "b"),
            Tie(TieKind.FORK_OF, "a"),
        )


def test_a_session_with_a_parent_is_a_subagents() -> None:
    line = {"store": "opencode", "table": "session", "row": {"id": "b", "parent_id": "a"}}

    assert notes(read(opencode.LINES, line)).ties == (
        Tie(TieKind.SELF, "b"),
        Tie(TieKind.SUBAGENT_OF, "a"),
    )


def tool(**state: object) -> dict[str, Any]:
    return {"type": "tool", "tool": state.pop("tool", "bash"), "callID": "c", "state": state}


def test_a_tool_part_is_a_call_and_its_result() -> None:
    reading = row("part", tool(status="completed", input={"a": 1}, output="done"))

    assert message(reading).role is Role.ASSISTANT
    assert parts(reading) == (
        ToolCall(name="bash", call_id="c", arguments={"a": 1}),
        ToolResult(call_id="c", text="done", is_error=False),
    )
    assert len(parts(row("part", tool(status="running", input={})))) == 1


def test_failures_are_errors_whatever_their_status_says() -> None:
    for state in (
        {"status": "error", "error": "no"},
        {"status": "completed", "metadata": {"exit": 1}, "output": "x"},
        {"status": "completed", "tool": "invalid", "output": "x"},
    ):
        result = parts(row("part", tool(**state)))[1]
        assert isinstance(result, ToolResult)
        assert result.is_error
        assert result.text in ("no", "x")


def test_a_call_that_starts_a_session_is_tied_to_it() -> None:
    reading = row("part", tool(status="completed", metadata={"sessionId": "ses_2"}))

    assert Tie(TieKind.STARTED, "ses_2") in notes(reading).ties


def test_parts_are_text_thinking_files_and_marks() -> None:
    file = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}

    assert parts(row("part", {"type": "reasoning", "text": "hm"})) == (Thinking(text="hm"),)
    assert parts(row("part", file, "user")) == (Picture(media_type="image/png", size=3),)
    injected = row("part", {"type": "text", "text": "x", "synthetic": True}, "user")
    assert message(injected).role is Role.SYSTEM
    mark = row("part", {"type": "compaction", "auto": True}, "user")
    assert isinstance(mark.body, Record)
    assert (mark.body.label, notes(mark).flags) == ("compaction", Flag.COMPACTION)


def test_a_message_tells_errors_interruptions_and_compaction() -> None:
    failed = row("message", {"role": "assistant", "error": {"name": "ProviderAuthError"}})
    stopped = row("message", {"role": "assistant", "error": {"name": "MessageAbortedError"}})
    summary = row("message", {"role": "assistant", "summary": True})

    assert notes(failed).flags == Flag.ERROR
    assert notes(stopped).flags == Flag.INTERRUPTED
    assert notes(summary).flags == Flag.COMPACTION
    assert not notes(row("message", {"role": "user", "summary": {"title": "x"}})).flags


def test_newer_entries_hold_their_parts() -> None:
    content = [
        {"type": "reasoning", "id": "r", "text": "hm"},
        {"type": "text", "text": "done"},
        {
            "type": "tool",
            "id": "c",
            "name": "bash",
            "state": {
                "status": "completed",
                "input": {},
                "content": [{"type": "text", "text": "o"}],
            },
        },
    ]
    answer = row(
        "session_message",
        {"content": content, "model": {"id": "gpt-5", "providerID": "openai"}, "cost": 1},
        type="assistant",
    )

    assert parts(answer) == (
        Thinking(text="hm"),
        Text(text="done"),
        ToolCall(name="bash", call_id="c", arguments={}),
        ToolResult(call_id="c", text="o", is_error=False),
    )
    assert message(answer).model == "gpt-5"
    assert notes(answer).usage[0].reported == 10**12
    assert parts(row("session_message", {"text": "hi"}, type="user")) == (Text(text="hi"),)
    squeezed = row("session_message", {"summary": "s"}, type="compaction")
    assert notes(squeezed).flags == Flag.COMPACTION


def test_a_line_of_a_file_is_read_as_the_file() -> None:
    text = '{"id": "p", "type": "text", "text": "Hello"}\n'
    line = {"store": "opencode", "file": "storage/part/msg_1/p.json", "role": "user"}
    packed = {**line, "base64": base64.b64encode(text.encode()).decode()}

    assert parts(read(opencode.LINES, {**line, "text": text})) == (Text(text="Hello"),)
    assert parts(read(opencode.LINES, packed)) == (Text(text="Hello"),)
    assert isinstance(read(opencode.LINES, {**line, "text": "{"}).body, Record)


def test_real_files_are_recognised_and_wholly_read() -> None:
    labels: list[str] = []
    for path in real("opencode"):
        raw = path.read_bytes()
        assert formats.recognise(raw) is opencode.FILE, path.name
        [reading] = records(opencode.FILE, raw)
        assert not isinstance(reading.body, Unreadable)
        labels.append(reading.body.label if isinstance(reading.body, Record) else "message")
    assert labels.count("session") == 3
    assert labels.count("user message") == 4
    assert labels.count("assistant message") == 4


def test_a_pretty_printed_file_is_one_record() -> None:
    raw = orjson.dumps(
        {"id": "s", "projectID": "p", "directory": "/a", "time": {}}, option=orjson.OPT_INDENT_2
    )

    assert formats.recognise(raw + b"\n\n") is opencode.FILE
    assert len(records(opencode.FILE, raw + b"\n\n")) == 1
