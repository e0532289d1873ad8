"""Plain role/content lines, as in the tutorial this format comes from."""

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
    assert formats.recognise(TUTORIAL) is PLAIN

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
