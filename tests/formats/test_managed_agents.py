"""Events of Managed Agents: pairs by event id, tokens at the end of a request, threads, errors."""

from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Message,
    Notes,
    Record,
    Role,
    Text,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    gist_of,
)

LINES = formats.BY_NAME["managed-agents"]
PAGE = formats.BY_NAME["managed-agents-page"]
TEXT = [{"type": "text", "text": "hello"}]


def event(kind: str, **more: object) -> dict[str, Any]:
    return {"id": "sevt_1", "type": kind, "processed_at": "2026-11-18T10:00:00Z", **more}


def message(kind: str, **more: object) -> Message:
    body = formats.read(LINES, orjson.dumps(event(kind, **more))).body
    assert isinstance(body, Message)
    return body


def notes(kind: str, **more: object) -> Notes:
    found = formats.read(LINES, orjson.dumps(event(kind, **more))).notes
    assert found is not None
    return found


def test_lines_and_pages_of_events_are_recognised() -> None:
    said = event("user.message", content=TEXT)
    assert formats.recognise(orjson.dumps(said)) is LINES
    assert formats.recognise(orjson.dumps({"data": [said], "has_more": False})) is PAGE
    alike = {"type": "user.message", "id": "x", "data": {}, "timestamp": "…"}
    assert formats.recognise(orjson.dumps(alike)) is formats.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "role"), [("user.message", Role.USER), ("agent.message", Role.ASSISTANT)]
)
def test_messages_have_their_speaker(kind: str, role: Role) -> None:
    assert message(kind, content=TEXT) == Message(role=role, parts=(Text(text="hello"),))


@pytest.mark.parametrize(
    ("used", "told", "field"),
    [
        ("agent.tool_use", "agent.tool_result", "tool_use_id"),
        ("agent.mcp_tool_use", "agent.mcp_tool_result", "mcp_tool_use_id"),
        ("agent.custom_tool_use", "user.custom_tool_result", "custom_tool_use_id"),
    ],
)
def test_a_result_belongs_to_the_event_that_called(used: str, told: str, field: str) -> None:
    call = message(used, name="bash", input={"command": "ls"})
    answer = message(told, id="sevt_2", **{field: "sevt_1"}, content=TEXT, is_error=True)

    assert call.parts == (ToolCall(name="bash", call_id="sevt_1", arguments={"command": "ls"}),)
    assert answer.parts == (ToolResult(call_id="sevt_1", text="hello", is_error=True),)
    assert answer.role is Role.TOOL


def test_tokens_are_told_where_a_request_ends() -> None:
    told = {
        "input_tokens": 3,
        "output_tokens": 5,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 9,
    }
    (used,) = notes("span.model_request_end", model_request_start_id="s0", model_usage=told).usage

    assert (used.key, used.provider) == ("s0", "anthropic")
    assert (used.input, used.output, used.cache_read, used.cache_write) == (3, 5, 70, 9)


def test_errors_and_compaction_are_marked() -> None:
    assert notes("session.error", error={"type": "billing_error"}).flags == Flag.ERROR
    assert notes("span.model_request_end", is_error=True).flags == Flag.ERROR
    exhausted = {"type": "retries_exhausted"}
    assert notes("session.status_idle", stop_reason=exhausted).flags == Flag.ERROR
    assert notes("session.status_idle", stop_reason={"type": "end_turn"}).flags == 0
    assert notes("agent.thread_context_compacted").flags == Flag.COMPACTION
    assert notes("user.interrupt").flags == Flag.INTERRUPTED


def test_a_message_of_another_thread_is_no_prompt() -> None:
    reading = formats.read(
        LINES, orjson.dumps(event("agent.thread_message_received", content=TEXT))
    )

    assert reading.notes is not None
    gist = gist_of(reading.body, reading.notes.flags)
    assert gist.flags & Flag.SIDECHAIN
    assert not gist.flags & Flag.PROMPT


def test_a_thread_that_was_started_is_tied() -> None:
    ties = notes("session.thread_created", session_thread_id="sthr_1").ties

    assert Tie(TieKind.STARTED, "sthr_1") in ties


def test_statuses_and_what_is_not_known_are_records() -> None:
    for kind in ("session.status_idle", "agent.novelty", "user.interrupt", "agent.thinking"):
        body = formats.read(LINES, orjson.dumps(event(kind))).body
        assert isinstance(body, Record)
        assert body.label == kind


def test_a_queued_event_has_no_time_yet() -> None:
    assert formats.read(LINES, orjson.dumps(event("user.message", processed_at=None))).at is None


def test_a_page_is_cut_into_its_events() -> None:
    page = {"data": [event("user.message", content=TEXT), event("agent.message", content=TEXT)]}
    raw = orjson.dumps({**page, "has_more": True}, option=orjson.OPT_INDENT_2)
    assert PAGE.cut is not None
    starts = PAGE.cut(raw)
    slices = [raw[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True)]

    kinds = [type(formats.read(PAGE, piece).body) for piece in slices]

    assert b"".join(slices) == raw
    assert kinds == [Record, Message, Message, Record]
