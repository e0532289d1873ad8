"""Claude Code's messages: what a person said, what the program put in, tools, pictures."""

from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    gist_of,
    title_of,
)
from tests import build

CLAUDE = formats.BY_NAME["claude-code"]


def line(kind: str, content: object, **more: object) -> bytes:
    message = {"role": kind, "content": content, "model": "some-model"}
    known: dict[str, Any] = {"type": kind, "sessionId": "s", "uuid": "u", "message": message}
    return orjson.dumps({**known, "timestamp": "2026-11-18T10:00:00.123Z", **more})


def body(kind: str, content: object, **more: object) -> Message:
    found = formats.read(CLAUDE, line(kind, content, **more)).body
    assert isinstance(found, Message)
    return found


def test_it_is_recognised_by_content() -> None:
    assert formats.recognise(b"\n".join([line("user", "hi")])) is CLAUDE
    assert (
        formats.recognise(b"\n".join([b'{"type":"summary","summary":"x","leafUuid":"y"}']))
        is CLAUDE
    )
    assert formats.recognise(b"\n".join([b"rubbish", b"", line("user", "hi")])) is CLAUDE


def test_other_content_is_not_taken_for_it() -> None:
    assert formats.recognise(b"\n".join([build.line("user", "hi")])).name == "plain"
    assert formats.recognise(b"\n".join([b'{"type":"user"}'])).name == "unknown"
    cousin = {"type": "system", "sessionId": "s", "uuid": "u", "systemPayload": {"uiEvent": {}}}
    assert formats.recognise(orjson.dumps(cousin)).name == "unknown"
    other = {"type": "system", "sessionId": "s", "uuid": "u", "message": {"parts": []}}
    assert formats.recognise(orjson.dumps(other)).name == "unknown"
    assert formats.recognise(b'{"type":"system","sessionId":"s","id":"1"}').name == "unknown"
    assert formats.recognise(b"\n".join([b"rubbish"])).name == "unknown"
    assert formats.recognise(b"\n".join([])).name == "unknown"


def test_what_an_editor_puts_beside_a_prompt_is_set_apart_from_it() -> None:
    opened = "<ide_opened_file>The user opened a.py</ide_opened_file>"
    found = body("user", [{"type": "text", "text": opened}, {"type": "text", "text": "fix it"}])

    assert found.role is Role.USER
    assert found.parts == (Data(label="surroundings", value=opened), Text(text="fix it"))
    assert gist_of(found).flags & Flag.PROMPT
    assert title_of(found) == "fix it"


def test_wrappers_alone_are_no_prompt_however_many_there_are() -> None:
    wrappers = ["<ide_opened_file>a.py</ide_opened_file>", "", "<system-reminder>x"]
    found = body("user", [{"type": "text", "text": text} for text in wrappers])

    assert found.role is Role.SYSTEM
    assert not gist_of(found).flags & Flag.PROMPT


def test_text_is_a_prompt_at_its_time() -> None:
    reading = formats.read(CLAUDE, line("user", "fix the bug"))

    assert reading.body == Message(
        role=Role.USER, parts=(Text(text="fix the bug"),), model="some-model"
    )
    assert reading.at is not None
    assert reading.at.microsecond == 123_000
    assert gist_of(reading.body).flags & Flag.PROMPT


@pytest.mark.parametrize("mark", ["isMeta", "isCompactSummary"])
def test_text_the_program_put_in_a_persons_mouth_is_no_prompt(mark: str) -> None:
    found = body("user", "caveat: …", **{mark: True})

    assert found.role is Role.SYSTEM
    assert not gist_of(found).flags & Flag.PROMPT


def test_thinking_text_and_a_tool_call_are_told_apart() -> None:
    found = body(
        "assistant",
        [
            {"type": "thinking", "thinking": "hm", "signature": "…"},
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        ],
    )

    assert found.parts == (
        Thinking(text="hm"),
        Text(text="I will look."),
        ToolCall(name="Bash", call_id="t1", arguments={"command": "ls"}),
    )
    assert gist_of(found).tool == "Bash"


def test_an_error_of_a_tool_is_an_error_and_no_prompt() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "boom", "is_error": True}

    found = body("user", [result])

    assert found.parts == (ToolResult(call_id="t1", text="boom", is_error=True),)
    assert gist_of(found).flags == Flag.ERROR


def test_a_result_of_several_texts_and_a_picture_keeps_them_all() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": "A" * 400}}
    texts = [{"type": "text", "text": "one"}, "two", {"odd": 3}]

    found = body(
        "user", [{"type": "tool_result", "tool_use_id": "t", "content": [*texts, picture]}]
    )

    result, image = found.parts
    assert isinstance(result, ToolResult)
    assert result.text.startswith("one\ntwo\n")
    assert '"odd": 3' in result.text
    assert image == Picture(media_type="image/png", size=300)


def test_a_picture_is_described() -> None:
    found = body("user", [{"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}])

    assert found.parts == (Picture(media_type="image/png", size=3),)


def test_a_block_of_a_kind_not_yet_known_is_kept() -> None:
    found = body("assistant", [{"type": "novelty", "x": 1}])

    assert found.parts == (Data(label="novelty", value={"type": "novelty", "x": 1}),)


def test_a_record_that_is_no_message_keeps_its_name_and_fields() -> None:
    raw = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"a.py": 1}}

    found = formats.read(CLAUDE, orjson.dumps(raw)).body

    assert isinstance(found, Record)
    assert (found.label, found.fields) == ("file-history-snapshot", raw)
