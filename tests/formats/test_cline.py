"""Tasks of Cline and Roo Code: both documents, tools as blocks and as XML, tokens told once."""

from typing import Any

import orjson

from sessions_app import formats
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Notes,
    Reading,
    Record,
    Role,
    Text,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    gist_of,
)

PANEL = formats.BY_NAME["cline-ui"]
HISTORY = formats.BY_NAME["cline-api"]
TASK = formats.BY_NAME["cline-task"]
STAMP = 1_789_000_000_123


def said(kind: str, text: str = "", **more: object) -> dict[str, Any]:
    return {"ts": STAMP, "type": "say", "say": kind, "text": text, **more}


def turn(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def readings(fmt: formats.Format, document: object) -> list[Reading]:
    raw = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    assert fmt.cut is not None
    starts = fmt.cut(raw)
    slices = [raw[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True)]
    assert b"".join(slices) == raw
    return [formats.read(fmt, piece) for piece in slices]


def only(fmt: formats.Format, entry: object) -> Reading:
    """Neither the first nor the last of a document."""
    return readings(fmt, [said("task", "fix"), entry, said("text")])[-3]


def parts(fmt: formats.Format, entry: object) -> tuple[object, ...]:
    body = only(fmt, entry).body
    assert isinstance(body, Message)
    return body.parts


def notes(entry: object) -> Notes:
    found = only(PANEL, entry).notes
    assert found is not None
    return found


def test_the_documents_are_recognised_by_content() -> None:
    assert formats.recognise(orjson.dumps([said("task", "fix")])) is PANEL
    assert formats.recognise(orjson.dumps([turn("user", "<task>\nfix\n</task>")])) is HISTORY
    item = {"id": "1", "ts": 1, "task": "fix", "tokensIn": 1, "tokensOut": 2}
    assert formats.recognise(orjson.dumps(item, option=orjson.OPT_INDENT_2)) is TASK
    assert formats.recognise(orjson.dumps([{"some": "list"}])) is formats.UNKNOWN


def test_a_task_is_a_prompt_at_its_time() -> None:
    reading = only(PANEL, said("task", "fix the bug"))

    assert reading.body == Message(role=Role.USER, parts=(Text(text="fix the bug"),))
    assert gist_of(reading.body).flags & Flag.PROMPT
    assert reading.at is not None
    assert reading.at.microsecond == 123_000


def test_the_first_entry_is_the_task_whatever_it_is_called() -> None:
    first, second, end = readings(PANEL, [said("text", "fix the bug"), said("text", "I will")])

    assert first.body == Message(role=Role.USER, parts=(Text(text="fix the bug"),))
    assert second.body == Message(role=Role.ASSISTANT, parts=(Text(text="I will"),))
    assert isinstance(end.body, Record)
    assert [each.body for each in readings(PANEL, [])] == [
        Record(label="list header", fields={}),
        Record(label="list trailer", fields={}),
    ]


def test_calls_results_and_questions_of_the_panel_are_understood() -> None:
    assert parts(PANEL, said("command", "ls")) == (
        ToolCall(name="execute_command", call_id="", arguments={"command": "ls"}),
    )
    tool = {"tool": "readFile", "path": "a.py"}
    assert parts(PANEL, said("tool", orjson.dumps(tool).decode())) == (
        ToolCall(name="readFile", call_id="", arguments=tool),
    )
    assert parts(PANEL, said("command_output", "a.py")) == (
        ToolResult(call_id="", text="a.py", is_error=False),
    )
    asked = {"ts": STAMP, "type": "ask", "ask": "followup", "text": '{"question":"Which?"}'}
    assert parts(PANEL, asked) == (Text(text="Which?"),)


def test_what_a_request_used_and_cost_is_told_by_its_time() -> None:
    told = {"tokensIn": 10, "tokensOut": 5, "cacheReads": 70, "cacheWrites": 3, "cost": 0.25}
    model = {"providerId": "anthropic", "modelId": "m-1"}
    entry = said("api_req_started", orjson.dumps(told).decode(), modelInfo=model)

    found = notes(entry)

    (used,) = found.usage
    assert (used.input, used.output, used.cache_read, used.cache_write) == (10, 5, 70, 3)
    assert (used.reported, used.model, used.provider) == (250_000_000_000, "m-1", "anthropic")
    assert used.key == notes({**entry, "conversationHistoryIndex": 7}).usage[0].key
    assert found.model == "m-1"


def test_a_request_without_an_answer_yet_used_nothing() -> None:
    assert only(PANEL, said("api_req_started", '{"request":"…"}')).notes is None


def test_a_request_that_a_person_stopped_is_an_interruption_and_one_that_failed_an_error() -> None:
    stopped = said("api_req_started", '{"request":"…","cancelReason":"user_cancelled"}')
    failed = said("api_req_started", '{"request":"…","cancelReason":"streaming_failed"}')

    assert notes(stopped).flags == Flag.INTERRUPTED
    assert notes(failed).flags == Flag.ERROR


def test_what_went_wrong_and_what_was_condensed_is_marked() -> None:
    assert notes(said("diff_error", "no match")).flags == Flag.ERROR
    assert notes(said("condense_context")).flags == Flag.COMPACTION


def test_an_entry_that_was_still_written_says_so() -> None:
    assert parts(PANEL, said("text", "hal", partial=True)) == (
        Text(text="hal"),
        Data(label="other fields", value={"partial": True}),
    )


def test_what_is_not_known_is_a_record() -> None:
    body = only(PANEL, said("checkpoint_created")).body
    assert isinstance(body, Record)
    assert body.label == "checkpoint_created"


def test_tools_in_xml_are_calls_between_texts() -> None:
    text = "I look.\n<read_file>\n<path>a.py</path>\n</read_file>\nThen I say."

    assert parts(HISTORY, turn("assistant", text)) == (
        Text(text="I look."),
        ToolCall(name="read_file", call_id="", arguments={"path": "a.py"}),
        Text(text="\nThen I say."),
    )
    assert parts(HISTORY, turn("assistant", "an <read_file> without end")) == (
        Text(text="an <read_file> without end"),
    )


def test_many_tags_without_end_take_no_time() -> None:
    text = "<read_file>" * 200_000

    assert parts(HISTORY, turn("assistant", text)) == (Text(text=text),)


def test_surroundings_and_results_are_no_prompt() -> None:
    entry = turn("user", "[read_file for 'a.py'] Result:\nx = 1", "<environment_details>\n…")

    body = only(HISTORY, entry).body

    assert isinstance(body, Message)
    assert [type(part) for part in body.parts] == [ToolResult, Data]
    assert not gist_of(body).flags & Flag.PROMPT


def test_what_a_person_typed_stands_without_its_marks() -> None:
    assert parts(HISTORY, turn("user", "<task>\nfix the bug\n</task>", "<task> half")) == (
        Text(text="fix the bug"),
        Text(text="<task> half"),
    )


def test_blocks_of_newer_versions_are_understood() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}

    assert parts(HISTORY, {"role": "assistant", "content": [call]}) == (
        ToolCall(name="read_file", call_id="t1", arguments={"path": "a.py"}),
    )
    assert parts(HISTORY, {"role": "user", "content": [answer]}) == (
        ToolResult(call_id="t1", text="x = 1", is_error=False),
    )


def test_facts_of_a_task_name_it_and_its_parent() -> None:
    item = {"id": "t2", "task": "fix", "workspace": "/home/alice/shop", "parentTaskId": "t1"}

    found = formats.read(TASK, orjson.dumps(item)).notes

    assert found is not None
    assert (found.title, found.cwd) == ("fix", "/home/alice/shop")
    assert found.ties == (Tie(TieKind.SELF, "t2"), Tie(TieKind.SUBAGENT_OF, "t1"))
