"""Conversations, one a line."""

import orjson

from sessions_app import formats
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Record,
    Role,
    Text,
    ToolCall,
    ToolResult,
    gist_of,
    title_of,
)

CONVERSATION = formats.BY_NAME["plain-conversation"]
SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "What is my name?"}
ANSWERED = {"role": "assistant", "content": "Alice."}


def line(*messages: object, **more: object) -> bytes:
    return orjson.dumps({"messages": messages, **more})


def body(*messages: object, **more: object) -> Message:
    found = formats.read(CONVERSATION, line(*messages, **more)).body
    assert isinstance(found, Message)
    return found


def test_lines_of_messages_are_recognised() -> None:
    assert formats.recognise(line(SYSTEM, ASKED) + b"\n" + line(ASKED, ANSWERED)) is CONVERSATION


def test_other_lists_of_messages_are_not_taken_for_conversations() -> None:
    for raw in (b'{"messages":[]}', b'{"messages":["hi"]}', b'{"messages":[{"role":"user"}]}'):
        assert formats.recognise(raw) is formats.UNKNOWN
    assert formats.recognise(line(ASKED) + b"\n" + orjson.dumps({"other": 1})) is formats.UNKNOWN


def test_the_whole_exchange_is_one_event_with_every_role_in_sight() -> None:
    found = body(SYSTEM, ASKED, ANSWERED, {**ASKED, "name": "bob"})

    assert found.role is Role.USER
    assert found.parts == (
        Data(label="system", value="Be brief."),
        Text(text="What is my name?"),
        Text(text="assistant:"),
        Text(text="Alice."),
        Text(text="user (bob):"),
        Text(text="What is my name?"),
    )
    assert title_of(found) == "What is my name?"
    assert gist_of(found).flags & Flag.PROMPT


def test_calls_and_results_inside_keep_their_ids() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    found = body(
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    )

    assert ToolCall(name="bash", call_id="c1", arguments={"command": "ls"}) in found.parts
    assert ToolResult(call_id="c1", text="a.py", is_error=False) in found.parts


def test_tools_and_other_fields_are_kept() -> None:
    found = body(ASKED, ANSWERED, tools=[{"type": "function"}], split="train")

    kept = {"tools": [{"type": "function"}], "split": "train"}
    assert found.parts[-1] == Data(label="other fields", value=kept)


def test_a_line_that_is_no_conversation_is_a_record() -> None:
    assert isinstance(formats.read(CONVERSATION, b'{"messages":7}').body, Record)


def test_what_an_answer_used_is_noted() -> None:
    told = {"prompt_tokens": 10, "completion_tokens": 5}
    notes = formats.read(CONVERSATION, line(ASKED, ANSWERED, usage=told, id="chatcmpl-1")).notes

    assert notes is not None
    assert (notes.usage[0].key, notes.usage[0].input, notes.usage[0].output) == (
        "chatcmpl-1",
        10,
        5,
    )


def test_a_conversation_without_end_is_bounded() -> None:
    found = body(*[ASKED, ANSWERED] * 5000)

    assert len(found.parts) < 5000
    assert isinstance(found.parts[-1], Data)
    assert found.parts[-1].label == "more messages"
