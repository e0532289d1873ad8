"""What every format must do: any bytes in, a reading out, never an error, nothing quoted."""

import json
import math

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app import formats
from sessions_app.domain import events
from sessions_app.domain.events import Message, Reading, Record, Unreadable
from sessions_app.formats import FORMATS, Format

each_format = pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: str(fmt.name))
# One JSON object a line, and nothing else is readable.
each_line_format = pytest.mark.parametrize(
    "fmt", [fmt for fmt in FORMATS if fmt.cut is None], ids=lambda fmt: str(fmt.name)
)
each_document_format = pytest.mark.parametrize(
    "fmt", [fmt for fmt in FORMATS if fmt.cut], ids=lambda fmt: str(fmt.name)
)

# Keys and words that mean something to one of the formats, so that values reach their insides.
KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "message",
        "text",
        "thinking",
        "name",
        "input",
        "id",
        "source",
        "tool_use_id",
        "tool_calls",
        "tool_call_id",
        "function",
        "arguments",
        "is_error",
        "model",
        "sessionId",
        "agentId",
        "isSidechain",
        "toolUseResult",
        "usage",
        "input_tokens",
        "cache_creation",
        "requestId",
        "cwd",
        "customTitle",
        "subtype",
        "timestamp",
        "isMeta",
        "data",
        "media_type",
        "uuid",
        "payload",
        "summary",
        "output",
        "info",
        "toolRequests",
        "modelMetrics",
        "messages",
        "reasoning_content",
        "refusal",
        "function_call",
        "input_audio",
        "prompt_tokens",
        "say",
        "ask",
        "ts",
        "modelInfo",
        "otel",
        "span",
        "resource",
        "attributes",
        "resourceSpans",
        "scopeSpans",
        "spans",
        "parts",
        "gen_ai.input.messages",
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "processed_at",
        "model_usage",
        "row",
        "table",
        "store",
        "message_data",
        "__proto__",
        "constructor",
        *("$set", "$rewindTo", "messages", "thoughts", "tokens", "toolCalls", "result", "response"),
        *("functionCall", "functionResponse", "inlineData", "agentId", "projectHash", "summary"),
        *("store", "table", "row", "file", "base64", "state", "status", "metadata", "callID"),
        *("tool", "cost", "time", "created", "start", "output", "error", "attachments", "cache"),
        *("sessionID", "messageID", "parentID", "modelID", "content_json", "metadata_json"),
        *("toolCall", "toolResult", "value", "working_dir", "description", "cost_source"),
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "tool",
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "server_tool_use",
        "input_text",
        "image_url",
        "summary",
        "custom-title",
        "progress",
        "attachment",
        "compact_boundary",
        "session_meta",
        "response_item",
        "event_msg",
        "session",
        "compaction",
        "toolCall",
        "session.shutdown",
        "assistant.message",
        *(
            "gemini",
            "info",
            "error",
            "opencode",
            "goose",
            "session",
            "sessions",
            "part",
            "reasoning",
        ),
        *("session_message", "usage_ledger", "messages", "completed", "file", "compaction"),
        *("toolRequest", "toolResponse", "invalid", "success", "data:,x"),
        "api_req_started",
        "user_feedback",
        "agent.tool_use",
        "agent.message",
        "span.model_request_end",
        "agents-sdk",
        "agent_messages",
        "execute_tool",
        "chat",
        "tool_call",
        "tool_call_response",
        "",
        "{",
        "[1",
    ]
)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False),
    st.text(max_size=8), WORDS,
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(KEYS, st.text(max_size=4)), inner, max_size=6),
    ),
    max_leaves=25,
)
objects = st.dictionaries(st.one_of(KEYS, st.text(max_size=4)), values, max_size=8)


def wholly_read(fmt: Format, line: bytes) -> Reading:
    """A reading, and all that the house derives from it."""
    reading = formats.read(fmt, line)
    assert isinstance(reading.body, Message | Record | Unreadable)
    assert reading.at is None or reading.at.tzinfo is not None
    _are_bounded(reading)
    events.gist_of(reading.body, reading.notes.flags if reading.notes else 0)
    assert all(isinstance(text, str) for text in events.texts(reading.body))
    assert len(events.title_of(reading.body)) <= 120
    "\n".join(events.texts(reading.body)).encode()
    return reading


def _are_bounded(reading: Reading) -> None:
    notes = reading.notes
    if notes is None:
        return
    said = (notes.cwd, notes.branch, notes.version, notes.model, notes.turn)
    assert all(isinstance(text, str) and len(text) <= 1000 for text in said)
    assert isinstance(notes.title, str)
    assert all(isinstance(tie.id, str) and 0 < len(tie.id) <= 1000 for tie in notes.ties)
    for usage in notes.usage:
        counters = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        assert all(type(n) is int and n >= 0 for n in counters)
        assert usage.reported is None or (type(usage.reported) is int and usage.reported >= 0)


@each_format
@given(line=st.binary(max_size=300))
def test_any_bytes_are_read(fmt: Format, line: bytes) -> None:
    wholly_read(fmt, line)


@each_format
@settings(max_examples=150)
@given(value=objects)
def test_any_object_is_read(fmt: Format, value: dict[str, object]) -> None:
    wholly_read(fmt, json.dumps(value).encode())


@each_line_format
@given(value=values)
def test_any_value_that_is_no_object_is_unreadable_with_a_reason(
    fmt: Format, value: object
) -> None:
    reading = wholly_read(fmt, json.dumps(value).encode())

    if not isinstance(value, dict):
        assert isinstance(reading.body, Unreadable)
        assert reading.body.reason


@each_document_format
@given(
    raw=st.one_of(
        st.binary(max_size=300), values.map(lambda value: json.dumps(value, indent=1).encode())
    )
)
def test_any_document_is_cut_into_records_that_join_to_it(fmt: Format, raw: bytes) -> None:
    assert fmt.cut is not None
    starts = fmt.cut(raw)

    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert starts[-1] < max(len(raw), 1)
    for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True):
        wholly_read(fmt, raw[lo:hi])


@each_format
@given(value=objects)
def test_reading_again_gives_the_same(fmt: Format, value: dict[str, object]) -> None:
    line = json.dumps(value).encode()

    assert formats.read(fmt, line) == formats.read(fmt, line)


def _tool(content: object) -> str:
    return json.dumps({"type": "tool", "tool": content, "state": content})


def _entry(content: object) -> str:
    return json.dumps({"type": "assistant", "content": content, "tokens": content, "cost": content})


def shapes(content: object) -> list[dict[str, object]]:
    """The same content where each format keeps its own."""
    return [
        {"role": "user", "content": content},
        {"role": "tool", "content": content},
        {"role": "user", "content": [content]},
        {"role": "assistant", "content": None, "tool_calls": content},
        {"role": "assistant", "tool_calls": [content]},
        {"role": "assistant", "tool_calls": [{"function": content}]},
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": content}},
        {"type": "user", "sessionId": "s", "message": {"content": [content]}},
        {"type": "assistant", "sessionId": "s", "message": content},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": content}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": [content]}]}},
        {"type": "user", "message": {"content": [{"type": "image", "source": content}]}},
        {"messages": [{"role": "user", "content": content}, {"role": "tool", "content": content}]},
        {"role": "assistant", "content": "", "usage": content, "function_call": content},
        {"ts": 1, "type": "say", "say": "api_req_started", "text": content, "modelInfo": content},
        {"ts": 1, "type": "say", "say": "tool", "text": json.dumps(content), "images": content},
        {"otel": 1, "resource": content, "span": {"attributes": content, "events": content}},
        {"otel": 1, "span": {"attributes": {"gen_ai.input.messages": [{"parts": [content]}]}}},
        {"otel": 1, "span": {"events": [{"name": "gen_ai.choice", "attributes": content}]}},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [content]}, content]}]}]},
        {"type": "agent.tool_result", "processed_at": content, "content": content},
        {"type": "span.model_request_end", "id": content, "model_usage": content},
        {"store": "agents-sdk", "table": "agent_messages", "row": {"message_data": content}},
        {
            "store": "agents-sdk",
            "table": "agent_messages",
            "row": {"message_data": json.dumps({"type": "function_call", "output": content})},
        },
        {"type": content},
        {"type": "summary", "leafUuid": content, "summary": content},
        {"type": "gemini", "content": content, "thoughts": content, "tokens": content},
        {"type": "gemini", "toolCalls": content},
        {"type": "gemini", "toolCalls": [{"name": "x", "status": "success", "result": content}]},
        {"type": "user", "content": [{"functionResponse": {"response": content}}]},
        {"$set": content},
        {"store": "opencode", "table": "session", "row": {"id": content, "title": content}},
        {"store": "opencode", "table": "message", "row": {"data": json.dumps(content)}},
        {"store": "opencode", "table": "part", "row": {"data": json.dumps(content)}},
        {"store": "opencode", "table": "part", "role": "user", "row": {"data": _tool(content)}},
        {"store": "opencode", "table": "session_message", "row": {"data": _entry(content)}},
        {"store": "opencode", "file": content, "text": json.dumps(content), "base64": content},
        {"store": "goose", "table": "sessions", "row": {"id": content, "name": content}},
        {"store": "goose", "table": "usage_ledger", "row": {"id": content, "cost": content}},
        {
            "store": "goose",
            "table": "messages",
            "row": {"role": "user", "content_json": json.dumps(content), "metadata_json": content},
        },
        {
            "role": "user",
            "created": 1,
            "content": [{"type": "toolResponse", "toolResult": content}],
        },
        {"role": "user", "created": 1, "content": [{"type": "toolRequest", "toolCall": content}]},
    ]


HOSTILE = {
    "a list as type": {"type": [], "name": "x", "input": {}},
    "an object as type": {"type": {}, "text": {}},
    "a number as type": {"type": 5},
    "a list as role": {"role": [], "content": []},
    "prototype keys": {"__proto__": {"type": "text"}, "constructor": 1, "toString": None},
    "an empty name": {"": {"": []}},
    "nothing": None,
    "the truth": True,
    "a big number": 2**64 - 1,
    "a small number": 5e-324,
    "lists in lists": [[[[]]]],
    "text of escapes": "\u0000\u001b[31m\u202e\ufffe\U0010ffff",
    "many keys": {str(n): n for n in range(10_000)},
    "deep": json.loads("[" * 400 + "]" * 400),
    "deep objects": json.loads('{"text":' * 400 + "1" + "}" * 400),
}


@each_format
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_content_in_every_place_is_read(fmt: Format, content: object) -> None:
    for shape in shapes(content):
        wholly_read(fmt, json.dumps(shape).encode())


RAW = {
    "nothing": b"",
    "blank": b" \t\r",
    "NaN": b'{"role":"user","content":NaN}',
    "infinity": b'{"role":"user","content":-Infinity}',
    "a number past all bounds": b'{"role":"user","content":1e999}',
    "a lone surrogate": b'{"role":"user","content":"\\ud800"}',
    "raw NUL": b'{"role":"user","content":"\0"}',
    "invalid UTF-8": b'{"role":"user","content":"\xff"}',
    "cut inside a character": b'{"role":"user","content":"\xc3',
    "UTF-16": '{"role":"user"}'.encode("utf-16"),
    "depth 100,000": b'{"content":' * 100_000,
    "closed depth 100,000": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "trailing text": b'{"role":"user","content":"a"} and more',
    "two objects": b'{"role":"user","content":"a"}{"role":"user","content":"b"}',
}


@each_line_format
@pytest.mark.parametrize("line", RAW.values(), ids=RAW)
def test_a_line_that_breaks_the_promise_is_unreadable_and_quotes_nothing(
    fmt: Format, line: bytes
) -> None:
    body = wholly_read(fmt, line).body

    assert isinstance(body, Unreadable)
    assert "role" not in body.reason
    assert "user" not in body.reason


@each_format
def test_a_number_of_five_thousand_digits_is_no_time(fmt: Format) -> None:
    line = b'{"role":"user","content":"x","timestamp":' + b"9" * 5000 + b"}"

    assert wholly_read(fmt, line).at is None


@each_format
def test_duplicate_keys_keep_the_last_and_a_byte_order_mark_is_no_fault(fmt: Format) -> None:
    line = b'\xef\xbb\xbf{"role":"user","content":"a","content":"b"}\r'

    assert not isinstance(wholly_read(fmt, line).body, Unreadable)


@each_format
@pytest.mark.parametrize(
    "time", [-1, 0, 1e308, -1e308, 2**64 - 1, True, [], {}, "", "x" * 10_000, "9999-99-99", "٢٠٢٦"]
)
def test_a_hostile_time_is_no_time_or_a_bounded_one(fmt: Format, time: object) -> None:
    for shape in shapes("x"):
        reading = wholly_read(fmt, orjson.dumps({**shape, "timestamp": time, "created_at": time}))
        assert reading.at is None or 1970 <= reading.at.year <= 9999


def test_a_line_of_too_many_values_is_not_interpreted() -> None:
    many = b'{"role":"user","content":[' + b"[]," * 2_000_000 + b"[]]}"

    body = formats.read(formats.UNKNOWN, many).body

    assert body == Unreadable(reason="more than 1,000,000 values: kept, not interpreted")


def test_a_long_line_of_few_values_is_interpreted() -> None:
    long = orjson.dumps({"role": "user", "content": "word " * 1_000_000})

    assert isinstance(formats.read(formats.BY_NAME["plain"], long).body, Message)


def test_floats_that_are_no_numbers_never_reach_a_reading() -> None:
    for value in (math.nan, math.inf):
        line = json.dumps({"role": "user", "content": value}).encode()
        assert isinstance(formats.read(formats.UNKNOWN, line).body, Unreadable)


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_recognising_never_raises(lines: list[bytes]) -> None:
    assert formats.recognise(b"\n".join(lines)) in FORMATS


@given(st.lists(objects, min_size=1, max_size=4))
def test_recognising_any_objects_never_raises(records: list[dict[str, object]]) -> None:
    assert formats.recognise(b"\n".join([json.dumps(each).encode() for each in records])) in FORMATS


def test_names_are_unique_and_known() -> None:
    assert [fmt.name for fmt in FORMATS] == list(formats.BY_NAME)
    assert FORMATS[-1] is formats.UNKNOWN
