"""Gemini CLI: a document of messages, and a log in which the last version of a message counts."""

import json

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Message,
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
    Unreadable,
    Usage,
)
from sessions_app.formats import gemini
from tests.formats.reading import message, notes, parts, read, real, records

ANSWER = {
    "id": "a-1",
    "timestamp": "2026-01-10T02:08:35.661Z",
    "type": "gemini",
    "content": "Done.",
    "thoughts": [{"subject": "Plan", "description": "Look first."}],
    "tokens": {"input": 100, "output": 18, "cached": 40, "thoughts": 31, "tool": 5, "total": 154},
    "model": "gemini-2.5-flash",
    "toolCalls": [
        {
            "id": "c-1",
            "name": "read_file",
            "args": {"path": "a"},
            "status": "success",
            "result": [{"functionResponse": {"id": "c-1", "response": {"output": "text"}}}],
        },
        {"id": "c-2", "name": "ask", "args": {}, "status": "awaiting_approval"},
    ],
}
HEADER = {
    "sessionId": "s-1",
    "projectHash": "h",
    "startTime": "2026-01-10T02:08:26.108Z",
    "lastUpdated": "2026-01-10T02:09:27.575Z",
}
DOCUMENT = {
    **HEADER,
    "messages": [{"id": "u-1", "type": "user", "content": "Fix it"}, ANSWER],
    "summary": "Fixing it",
    "directories": ["/home/ann/shop"],
}


def test_a_document_falls_into_its_messages() -> None:
    for indent in (None, 2):
        raw = json.dumps(DOCUMENT, indent=indent).encode()
        assert formats.recognise(raw) is gemini.DOCUMENT

        header, prompt, answer, trailer = records(gemini.DOCUMENT, raw)

        assert notes(header).ties == (Tie(TieKind.SELF, "s-1"),)
        assert message(prompt).role is Role.USER
        assert message(answer).model == "gemini-2.5-flash"
        assert (notes(trailer).title, notes(trailer).cwd) == ("Fixing it", "/home/ann/shop")


def test_an_answer_has_thoughts_text_and_calls_with_what_came_of_them() -> None:
    reading = read(gemini.LOG, ANSWER)

    assert parts(reading) == (
        Thinking(text="Plan\n\nLook first."),
        Text(text="Done."),
        ToolCall(name="read_file", call_id="c-1", arguments={"path": "a"}),
        ToolResult(call_id="c-1", text="text", is_error=False),
        ToolCall(name="ask", call_id="c-2", arguments={}),
    )


def test_tokens_count_once_per_message_id() -> None:
    assert notes(read(gemini.LOG, ANSWER)).usage == (
        Usage(
            key="a-1",
            scope=Scope.SESSION,
            model="gemini-2.5-flash",
            provider="google",
            input=65,
            output=49,
            cache_read=40,
            reasoning=31,
        ),
    )


def test_failed_calls_are_errors() -> None:
    def is_error(**call: object) -> bool:
        reading = read(gemini.LOG, {"type": "gemini", "toolCalls": [{"name": "x", **call}]})
        result = parts(reading)[1]
        assert isinstance(result, ToolResult)
        return result.is_error

    answer = [{"functionResponse": {"response": {"error": "no"}}}]
    failed = [{"functionResponse": {"response": {"output": "Output: \nExit Code: 2"}}}]
    assert is_error(status="error", resultDisplay="no")
    assert is_error(status="cancelled")
    assert is_error(status="success", result=answer)
    assert is_error(status="success", result=failed, name="run_shell_command")
    assert not is_error(status="success", result=failed)


def test_the_log_is_recognised_and_its_patches_are_records() -> None:
    lines = [HEADER, ANSWER, {"$set": {"lastUpdated": "2026-01-10T02:09:27.575Z"}}]
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert formats.recognise(raw) is gemini.LOG
    assert formats.recognise(raw[raw.index(b"\n") + 1 :]) is gemini.LOG

    again = read(gemini.LOG, {"$set": {"messages": [ANSWER], "summary": "New name"}})
    rewind = read(gemini.LOG, {"$rewindTo": "u-1"})

    assert notes(again).flags == Flag.ECHO
    assert notes(again).title == "New name"
    assert isinstance(rewind.body, Record)
    assert rewind.body.label == "rewind"


def test_tokens_of_messages_that_a_patch_brings_have_the_keys_of_their_own_lines() -> None:
    again = read(gemini.LOG, {"$set": {"messages": [DOCUMENT["messages"], None, ANSWER]}})

    assert notes(again).usage == notes(read(gemini.LOG, ANSWER)).usage


def test_words_of_the_program_are_the_systems() -> None:
    error = read(gemini.LOG, {"type": "error", "content": "quota"})
    squeezed = read(gemini.LOG, {"type": "info", "content": "… (compressed from: 9 to 1 tokens)."})

    assert message(error).role is Role.SYSTEM
    assert notes(error).flags == Flag.ERROR
    assert notes(squeezed).flags == Flag.COMPACTION


def test_the_programs_own_word_in_a_persons_name_is_no_prompt() -> None:
    told = {"id": "m1", "timestamp": "2026-01-12T00:00:00Z", "type": "user"}

    assert message(read(gemini.LOG, {**told, "content": gemini.GO_ON})).role is Role.SYSTEM
    assert message(read(gemini.LOG, {**told, "content": "Please continue."})).role is Role.USER


def test_an_answer_that_a_person_stopped_is_an_interruption() -> None:
    told = {"id": "m1", "timestamp": "2026-01-12T00:00:00Z", "type": "info"}

    stopped = read(gemini.LOG, {**told, "content": "Request cancelled."})

    assert notes(stopped).flags == Flag.INTERRUPTED


def test_content_may_be_a_list_of_parts() -> None:
    content = [
        {"text": "see"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"fileData": {"mimeType": "text/plain", "fileUri": "x"}},
        {"functionCall": {"id": "c", "name": "n", "args": {}}},
    ]

    assert parts(read(gemini.LOG, {"type": "user", "content": content})) == (
        Text(text="see"),
        Picture(media_type="image/png", size=3),
        Picture(media_type="text/plain", size=0),
        ToolCall(name="n", call_id="c", arguments={}),
    )


def test_a_subagent_is_tied_by_the_call_that_started_it() -> None:
    reading = read(gemini.LOG, {"type": "gemini", "toolCalls": [{"name": "x", "agentId": "sub-1"}]})

    assert notes(reading).ties == (Tie(TieKind.STARTED, "sub-1"),)


def test_real_files_are_recognised_and_wholly_read() -> None:
    found: list[str] = []
    for path in real("gemini-cli"):
        raw = path.read_bytes()
        fmt = formats.recognise(raw)
        readings = records(fmt, raw)
        found.append(fmt.name)
        assert not any(isinstance(reading.body, Unreadable) for reading in readings), path.name
        if fmt is gemini.DOCUMENT:
            whole = json.loads(raw)
            said = [reading for reading in readings if isinstance(reading.body, Message)]
            assert len(said) == len(whole.get("messages", whole.get("history")))
            told = sum(use.output for r in said if r.notes for use in r.notes.usage)
            tokens = [each.get("tokens", {}) for each in whole.get("messages", [])]
            assert told == sum(t.get("output", 0) + t.get("thoughts", 0) for t in tokens)
    assert sorted(found) == ["gemini"] * 9 + ["gemini-log"]
