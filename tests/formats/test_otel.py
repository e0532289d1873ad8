"""Spans of generative AI: old names and new ones, told once, counted once."""

from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Message,
    Notes,
    Picture,
    Record,
    Role,
    Scope,
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    gist_of,
    title_of,
)
from sessions_app.formats import otlp

OTEL = formats.BY_NAME["otel"]
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
USER = {"role": "user", "parts": [{"type": "text", "content": "What is my name?"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "Alice."}]}


def stored(attributes: dict[str, Any], **more: object) -> bytes:
    span = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "chat m",
        "startTimeUnixNano": "1789000000000000000",
        "endTimeUnixNano": "1789000001000000000",
        "attributes": attributes,
        **more,
    }
    return orjson.dumps(otlp.line({"service.name": "shop"}, {"name": "lib"}, span))


def chat(**attributes: object) -> dict[str, Any]:
    told = {name.replace("__", "."): value for name, value in attributes.items()}
    return {"gen_ai.operation.name": "chat", **told}


def message(attributes: dict[str, Any], **more: object) -> Message:
    body = formats.read(OTEL, stored(attributes, **more)).body
    assert isinstance(body, Message)
    return body


def notes(attributes: dict[str, Any], **more: object) -> Notes:
    found = formats.read(OTEL, stored(attributes, **more)).notes
    assert found is not None
    return found


def wrapped(value: object) -> dict[str, object]:
    """As OTLP/JSON has values."""
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [wrapped(item) for item in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": wrapped(item)} for key, item in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


def export(*spans: dict[str, Any]) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": wrapped("shop")}]}
    scoped = {"scope": {"name": "lib", "version": "1"}, "spans": spans}
    return orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]})


def exported(attributes: dict[str, Any], span_id: str = SPAN, **more: object) -> dict[str, Any]:
    pairs = [{"key": key, "value": wrapped(value)} for key, value in attributes.items()]
    return {"traceId": TRACE, "spanId": span_id, "name": "chat m", "attributes": pairs, **more}


def test_stored_spans_and_export_files_are_recognised() -> None:
    assert formats.recognise(stored(chat())) is OTEL
    assert formats.recognise(export(exported(chat()))) is OTEL
    assert formats.recognise(b'{"otel":1}') is formats.UNKNOWN


@pytest.mark.parametrize("form", [lambda value: value, lambda value: orjson.dumps(value).decode()])
def test_question_and_answer_are_one_event_at_its_end(form: Any) -> None:
    told = {"gen_ai.input.messages": form([USER]), "gen_ai.output.messages": form([ANSWER])}
    reading = formats.read(OTEL, stored(chat(gen_ai__response__model="m-1", **told)))

    body = reading.body
    assert isinstance(body, Message)
    assert (body.role, body.model) == (Role.USER, "m-1")
    assert body.parts[:3] == (
        Text(text="What is my name?"),
        Text(text="assistant:"),
        Text(text="Alice."),
    )
    assert title_of(body) == "What is my name?"
    assert reading.at is not None
    assert reading.at.timestamp() == 1789000001


def test_of_a_repeated_history_only_what_is_new_is_laid_out() -> None:
    again = {"role": "user", "parts": [{"type": "text", "content": "And yours?"}]}
    told = {"gen_ai.input.messages": [USER, ANSWER, again], "gen_ai.output.messages": [ANSWER]}

    found = [part.text for part in message(chat(**told)).parts if isinstance(part, Text)]

    assert found == ["And yours?", "assistant:", "Alice."]


def test_every_kind_of_part_is_read() -> None:
    parts = [
        {"type": "reasoning", "content": "hm"},
        {"type": "tool_call", "id": "c1", "name": "ls", "arguments": '{"path":"."}'},
        {"type": "blob", "mime_type": "image/png", "content": "AAAA"},
    ]
    response = {"type": "tool_call_response", "id": "c0", "response": {"ok": True}}
    told = {
        "gen_ai.input.messages": [{"role": "tool", "parts": [response]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": parts}],
    }

    found = message(chat(**told))

    assert found.role is Role.TOOL
    assert found.parts[0] == ToolResult(call_id="c0", text='{\n  "ok": true\n}', is_error=False)
    assert found.parts[2:5] == (
        Thinking(text="hm"),
        ToolCall(name="ls", call_id="c1", arguments={"path": "."}),
        Picture(media_type="image/png", size=3),
    )


def test_message_events_of_older_conventions_are_read() -> None:
    call = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [call]}}
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "List."}},
        {"name": "gen_ai.choice", "attributes": choice},
    ]

    found = message({"gen_ai.system": "openai", "gen_ai.request.model": "m"}, events=events)

    assert found.parts[:3] == (
        Text(text="List."),
        Text(text="assistant:"),
        ToolCall(name="ls", call_id="c1", arguments={}),
    )


def test_messages_spread_over_numbered_attributes_are_gathered() -> None:
    found = message(
        {
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": "List.",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "ls",
            "gen_ai.completion.0.tool_calls.0.arguments": "{}",
        }
    )

    assert found.parts[:3] == (
        Text(text="List."),
        Text(text="assistant:"),
        ToolCall(name="ls", call_id="c1", arguments={}),
    )


def test_a_tool_that_ran_is_its_call_and_its_result() -> None:
    told = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"command":"ls"}',
        "gen_ai.tool.call.result": "no such file",
    }
    found = message(told, status={"code": 2})

    assert found.parts[:2] == (
        ToolCall(name="bash", call_id="c1", arguments={"command": "ls"}),
        ToolResult(call_id="c1", text="no such file", is_error=True),
    )
    assert gist_of(found).tool == "bash"


def test_a_span_without_messages_is_a_record_under_its_name() -> None:
    body = formats.read(OTEL, stored({"http.route": "/x"}, name="GET /x")).body

    assert isinstance(body, Record)
    assert body.label == "GET /x"


def test_an_error_is_one_on_the_span_and_on_the_event() -> None:
    assert notes(chat(), status={"code": "STATUS_CODE_ERROR"}).flags == Flag.ERROR
    assert notes(chat(error__type="timeout")).flags == Flag.ERROR
    assert notes(chat(), status={"code": 1}).flags == 0


def test_cached_and_reasoning_tokens_are_parts_of_the_totals() -> None:
    told = {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 10,
        "gen_ai.usage.reasoning.output_tokens": 20,
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.model": "m-1",
        "gen_ai.provider.name": "anthropic",
    }
    (used,) = notes(chat(**told)).usage

    assert (used.key, used.model, used.provider) == ("resp_1", "m-1", "anthropic")
    assert (used.input, used.cache_read, used.cache_write) == (30, 60, 10)
    assert (used.output, used.reasoning) == (30, 20)


def test_older_names_of_tokens_are_read_and_a_span_is_its_own_key() -> None:
    told = {"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 3}

    (used,) = notes(chat(**told, **{"gen_ai.system": "openai"})).usage

    assert (used.input, used.output, used.provider) == (7, 3, "openai")
    assert used.key == f"{TRACE}:{SPAN}"


@pytest.mark.parametrize("operation", ["invoke_agent", "create_agent", "invoke_workflow"])
def test_what_an_agent_used_is_that_of_its_trace(operation: str) -> None:
    tokens = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    told = notes({"gen_ai.operation.name": operation, "gen_ai.request.model": "m", **tokens})
    (used,) = told.usage

    assert (used.key, used.scope, used.model) == (f"trace {TRACE}", Scope.WHOLE, "m")
    assert (used.input, used.output) == (9, 2)
    assert Tie(TieKind.WHOLE_TOLD, used.key) in told.ties
    assert Tie(TieKind.PART_TOLD, used.key) in notes(chat(**tokens)).ties
    assert not notes({"gen_ai.operation.name": operation, **tokens}, traceId="").usage


def test_a_span_is_tied_to_its_conversation_its_trace_and_itself() -> None:
    assert notes(chat(gen_ai__conversation__id="conv_1")).ties == (
        Tie(TieKind.SELF, "conv_1"),
        Tie(TieKind.CONTINUES, TRACE),
        Tie(TieKind.RECORD, f"{TRACE}:{SPAN}"),
    )
    assert notes(chat()).ties[0] == Tie(TieKind.SELF, TRACE)


def test_an_export_of_several_spans_is_one_event_that_counts_each() -> None:
    told = {"gen_ai.usage.input_tokens": 5, "gen_ai.operation.name": "chat"}
    first = exported({**told, "gen_ai.input.messages": [USER]})
    second = exported({**told, "gen_ai.output.messages": [ANSWER]}, "eee19b7ec3c1b175")

    reading = formats.read(OTEL, export(first, second, exported({}, "eee19b7ec3c1b176")))

    assert isinstance(reading.body, Message)
    assert [part.text for part in reading.body.parts if isinstance(part, Text)] == [
        "What is my name?",
        "assistant:",
        "Alice.",
    ]
    assert reading.notes is not None
    assert [used.input for used in reading.notes.usage] == [5, 5]
    assert len({used.key for used in reading.notes.usage}) == 2


def test_an_export_of_one_span_reads_as_the_span() -> None:
    reading = formats.read(OTEL, export(exported({"gen_ai.input.messages": [USER]})))

    assert isinstance(reading.body, Message)
    assert reading.body.parts[0] == Text(text="What is my name?")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TRACE, TRACE),
        (TRACE.upper(), TRACE),
        ("W47/95gDgQPSabYzgT/GDA==", TRACE),
        ("0" * 32, ""),
        ("x" * 32, ""),
        ("", ""),
        (7, ""),
    ],
)
def test_ids_are_hex_whatever_they_came_as(text: object, wanted: str) -> None:
    assert otlp.hex_id(text, 16) == wanted


def test_values_nested_without_end_are_kept_as_they_came() -> None:
    value: object = {"stringValue": "x"}
    for _ in range(300):
        value = {"arrayValue": {"values": [value]}}

    found = otlp.value(value)

    for _ in range(otlp.DEEPEST):
        assert isinstance(found, list)
        (found,) = found
    assert isinstance(found, dict)
