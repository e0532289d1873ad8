"""Copilot CLI events: what was said, called and answered, and tokens told in two places."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Message,
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
    gist_of,
)
from tests.formats import folding

COPILOT = formats.BY_NAME["copilot-cli"]
EVENT = "4abc11c9-8659-4cb3-9464-5633a2f33767"
SESSION = "10fb4666-56f0-4352-90fc-715caf95b418"
FILES = folding.files("copilot-cli")
REAL = [path for path in FILES if "jazzyalex" not in path.name]


def line(kind: str, data: object) -> bytes:
    stamp = "2026-06-25T01:50:51.197Z"
    event = {"type": kind, "data": data, "id": EVENT, "timestamp": stamp, "parentId": None}
    return orjson.dumps(event)


def read(kind: str, /, **data: object) -> Reading:
    return COPILOT.read(line(kind, data))


def flags(reading: Reading) -> int:
    return gist_of(reading.body, reading.notes.flags if reading.notes else 0).flags


def test_it_is_recognised_by_its_events() -> None:
    assert formats.recognise(line("session.start", {"sessionId": SESSION})) is COPILOT
    assert formats.recognise(line("hook.start", {})) is COPILOT
    assert formats.recognise(b'{"type":"user.message","id":"a","data":{}}') is not COPILOT


def test_a_prompt_is_what_the_person_wrote() -> None:
    attached = [{"type": "file", "path": "/x", "displayName": "x"}]
    reading = read("user.message", content="hi", transformedContent="<x>hi", attachments=attached)

    assert reading.body == Message(
        role=Role.USER, parts=(Text(text="hi"), Picture(media_type="file", size=0))
    )
    assert flags(reading) == Flag.PROMPT | Flag.PICTURE


def test_an_answer_has_thoughts_text_and_calls() -> None:
    asked = [{"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}}]
    body = read(
        "assistant.message",
        content="I look.",
        reasoningText="hm",
        model="claude-sonnet-4.6",
        toolRequests=asked,
    ).body

    assert body == Message(
        role=Role.ASSISTANT,
        model="claude-sonnet-4.6",
        parts=(
            Thinking(text="hm"),
            Text(text="I look."),
            ToolCall(name="bash", call_id="t1", arguments={"command": "ls"}),
        ),
    )


@pytest.mark.parametrize(
    ("data", "text", "is_error"),
    [
        ({"success": True, "result": {"content": "x", "detailedContent": "y"}}, "x", False),
        ({"success": False, "error": {"message": "no", "code": "failure"}}, "no", True),
        ({"success": False, "result": {"content": "exit code: 1"}}, "exit code: 1", True),
        ({"result": "x"}, "x", False),
    ],
)
def test_a_result_says_whether_it_failed(data: dict[str, Any], text: str, is_error: bool) -> None:
    body = read("tool.execution_complete", toolCallId="t1", **data).body

    assert body == Message(
        role=Role.TOOL, parts=(ToolResult(call_id="t1", text=text, is_error=is_error),)
    )


def test_the_start_of_a_tool_says_again_what_the_message_asked() -> None:
    reading = read("tool.execution_start", toolCallId="t1", toolName="bash")

    assert isinstance(reading.body, Record)
    assert flags(reading) == Flag.ECHO


def test_a_start_says_whose_the_session_is_and_where_it_runs() -> None:
    notes = read(
        "session.start",
        sessionId=SESSION,
        copilotVersion="1.0.64",
        selectedModel="gpt-5-mini",
        context={"cwd": "/src", "branch": "main"},
    ).notes

    assert notes is not None
    assert notes.ties == (Tie(TieKind.SELF, SESSION), Tie(TieKind.RECORD, EVENT))
    assert (notes.cwd, notes.branch, notes.version) == ("/src", "main", "1.0.64")
    assert notes.model == "gpt-5-mini"


def test_an_id_that_is_no_uuid_ties_nothing() -> None:
    event = line("hook.start", {}).replace(EVENT.encode(), b"e1")

    assert COPILOT.read(event).notes is None


def test_a_choice_of_model_is_in_force() -> None:
    reading = read("session.model_change", newModel="claude-opus-4.8")

    assert reading.notes is not None
    assert reading.notes.model == "claude-opus-4.8"
    assert flags(reading) == 0


def test_a_subagent_is_beside_the_conversation_and_its_model_is_not_the_sessions() -> None:
    reading = read("assistant.message", content="x", model="m", parentToolCallId="t1")

    assert flags(reading) == Flag.SIDECHAIN
    assert reading.notes is not None
    assert reading.notes.model == ""


def test_errors_are_marked_and_an_abort_is_an_interruption() -> None:
    assert flags(read("session.error", message="no")) == Flag.ERROR
    assert flags(read("hook.end", success=False)) == Flag.ERROR
    assert flags(read("hook.end", success=True)) == 0
    assert flags(read("abort", reason="user_initiated")) == Flag.INTERRUPTED


def test_a_compaction_is_its_summary() -> None:
    reading = read("session.compaction_complete", success=True, summaryContent="so far")

    assert reading.body == Message(role=Role.SYSTEM, parts=(Text(text="so far"),))
    assert flags(reading) == Flag.COMPACTION


def test_output_is_told_by_messages_and_the_rest_by_the_end_of_a_run() -> None:
    said = read("assistant.message", messageId="m1", model="gpt-4.1", outputTokens=50).notes
    told = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 800, "reasoningTokens": 9}
    ended = read("session.shutdown", modelMetrics={"gpt-4.1": {"usage": told}}).notes

    assert said is not None
    assert ended is not None
    (output,), (rest,) = said.usage, ended.usage
    assert (output.key, output.scope, output.output) == ("m1", Scope.SESSION, 50)
    assert (rest.key, rest.model) == (f"{EVENT} gpt-4.1", "gpt-4.1")
    assert (rest.input, rest.cache_read, rest.output, rest.reasoning) == (200, 800, 0, 9)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[-40:])
def test_every_real_session_is_recognised_and_no_line_of_it_is_lost(path: Path) -> None:
    assert formats.recognise(path.read_bytes()) is COPILOT
    found, raw = folding.readings(COPILOT, path), _events(path)

    assert len(found) == len(raw)
    assert not any(isinstance(each.body, Unreadable) for each in found)
    prompts = sum(bool(flags(each) & Flag.PROMPT) for each in found)
    assert prompts == sum(each["type"] == "user.message" for each in raw)


def _events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.read_bytes().splitlines()]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[-40:])
def test_every_call_of_a_real_session_has_its_result(path: Path) -> None:
    bodies = [each.body for each in folding.readings(COPILOT, path)]
    parts = [part for body in bodies if isinstance(body, Message) for part in body.parts]
    asked = [part.call_id for part in parts if isinstance(part, ToolCall)]
    told = [part.call_id for part in parts if isinstance(part, ToolResult)]

    assert sorted(asked) == sorted(told)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[-40:])
def test_the_tokens_of_a_real_session_are_those_of_its_messages_and_its_end(path: Path) -> None:
    raw = _events(path)
    said = sum(each["data"].get("outputTokens", 0) for each in raw)
    ends = [each["data"]["modelMetrics"] for each in raw if each["type"] == "session.shutdown"]
    told = [metric["usage"] for end in ends for metric in end.values()]
    found = folding.total(folding.answers(COPILOT, [path]))

    assert found["output"] == said
    if ends:
        assert said == sum(usage["outputTokens"] for usage in told)
    assert found["input"] + found["cache_read"] == sum(usage["inputTokens"] for usage in told)
