"""Plain role/content lines, as in the tutorial this format comes from."""

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Data,
    Message,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests import build

PLAIN = formats.BY_NAME["plain"]
TUTORIAL = b"""\
{"role":"system","content":"You are a helpful assistant."}
{"role":"user","content":"My name is Alice"}
{"role":"assistant","content":"Nice to meet you, Alice!"}
{"role":"user","content":"What's my name?"}
{"role":"assistant","content":"Your name is Alice."}
""".splitlines()


def message(role: str, content: object, **more: object) -> Message:
    body = formats.read(PLAIN, build.line(role, content, **more)).body
    assert isinstance(body, Message)
    return body


def test_the_session_file_of_the_tutorial_is_read() -> None:
    assert formats.recognise(b"\n".join(TUTORIAL)) is PLAIN

    bodies = [formats.read(PLAIN, line).body for line in TUTORIAL]

    assert all(isinstance(body, Message) for body in bodies)
    assert bodies[1] == Message(role=Role.USER, parts=(Text(text="My name is Alice"),))
    roles = [body.role for body in bodies if isinstance(body, Message)]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]


@pytest.mark.parametrize(
    ("word", "role"),
    [
        ("human", Role.USER),
        ("model", Role.ASSISTANT),
        ("developer", Role.SYSTEM),
        ("function", Role.TOOL),
    ],
)
def test_other_words_for_the_roles_are_understood(word: str, role: Role) -> None:
    assert message(word, "hello").role is role


def test_unknown_fields_are_kept() -> None:
    body = message("user", "hi", mood="good", nested={"a": [1]})

    assert body.parts == (
        Text(text="hi"),
        Data(label="other fields", value={"mood": "good", "nested": {"a": [1]}}),
    )


def test_an_unknown_role_is_a_record_with_all_its_fields() -> None:
    body = formats.read(PLAIN, build.line("wizard", "abracadabra", extra=1)).body

    assert isinstance(body, Record)
    assert body.fields == {"role": "wizard", "content": "abracadabra", "extra": 1}


def test_parts_of_a_content_list_are_told_apart() -> None:
    body = message(
        "user",
        [
            "bare",
            {"type": "text", "text": "said"},
            {"type": "thinking", "text": "thought"},
            {"type": "image_url", "image_url": {"url": "data:…"}},
            {"type": "novelty", "x": 1},
            7,
        ],
    )

    kinds = [type(part) for part in body.parts]
    assert kinds == [Text, Text, Thinking, Picture, Data, Data]
    assert body.parts[4] == Data(label="novelty", value={"type": "novelty", "x": 1})


def test_a_tool_call_and_its_result_are_understood() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    asked = message("assistant", None, tool_calls=[call])
    told = message("tool", "no such file", tool_call_id="c1", is_error=True)

    assert asked.parts == (ToolCall(name="bash", call_id="c1", arguments={"command": "ls"}),)
    assert told.parts == (ToolResult(call_id="c1", text="no such file", is_error=True),)


def test_arguments_that_are_no_json_stay_text() -> None:
    call = {"function": {"name": "bash", "arguments": "{not json"}}

    (part,) = message("assistant", None, tool_calls=[call]).parts
    assert isinstance(part, ToolCall)
    assert part.arguments == "{not json"


def test_the_time_of_a_line_is_read_from_its_usual_places() -> None:
    for name in ("timestamp", "created_at", "time", "ts"):
        at = formats.read(PLAIN, build.line("user", "x", **{name: "2026-11-18T10:00:00Z"})).at
        assert at is not None
        assert at.isoformat() == "2026-11-18T10:00:00+00:00"


def test_reasoning_beside_the_content_is_thinking_and_told_once() -> None:
    body = message("assistant", "4", reasoning_content="2 + 2", reasoning="2 + 2")

    assert body.parts == (Thinking(text="2 + 2"), Text(text="4"))


def test_a_refusal_is_what_the_assistant_said() -> None:
    assert message("assistant", None, refusal="I cannot.").parts == (Text(text="I cannot."),)
    part = {"type": "refusal", "refusal": "No."}
    assert message("assistant", [part]).parts == (Text(text="No."),)


def test_sound_is_described() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}

    assert message("user", [sound]).parts == (Picture(media_type="audio/wav", size=3),)


def test_a_call_of_the_old_form_is_a_call() -> None:
    body = message("assistant", None, function_call={"name": "f", "arguments": '{"a":1}'})

    assert body.parts == (ToolCall(name="f", call_id="", arguments={"a": 1}),)


def test_what_an_answer_used_is_noted_with_the_cache_taken_out_of_the_input() -> None:
    told = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    line = build.line("assistant", "hi", id="chatcmpl-7", model="m", usage=told)

    notes = formats.read(PLAIN, line).notes

    assert notes is not None
    (used,) = notes.usage
    assert (used.key, used.model) == ("chatcmpl-7", "m")
    assert (used.input, used.cache_read, used.output, used.reasoning) == (40, 60, 20, 15)


@pytest.mark.parametrize("told", [None, 7, [], {}, {"prompt_tokens": -1}, {"prompt_tokens": "9"}])
def test_odd_usage_is_no_usage(told: object) -> None:
    line = orjson.dumps({"role": "assistant", "content": "hi", "usage": told})

    assert formats.read(PLAIN, line).notes is None
