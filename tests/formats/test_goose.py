"""Goose: rows of its database, and the older log of lines."""

from pathlib import Path

import orjson

from sessions_app import formats
from sessions_app.domain.events import (
    Flag,
    Picture,
    Role,
    Scope,
    Text,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    Usage,
)
from sessions_app.formats import goose
from sessions_app.ingest import stores
from tests.formats.reading import message, notes, parts, read, records
from tests.ingest import stores as build

HEADER = {"working_dir": "/home/ann/shop", "description": "Fix it", "message_count": 3}
CALL = {
    "role": "assistant",
    "created": 1_760_000_000,
    "content": [
        {"type": "text", "text": "Look"},
        {
            "type": "toolRequest",
            "id": "c",
            "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"a": 1}}},
        },
    ],
}


def answer(result: dict[str, object]) -> dict[str, object]:
    content = [{"type": "toolResponse", "id": "c", "toolResult": result}]
    return {"role": "user", "created": 1_760_000_001, "content": content}


def test_a_database_is_read_from_its_lines(tmp_path: Path) -> None:
    build.goose(tmp_path / "sessions.db").close()
    [held] = stores.sessions_in(str(tmp_path / "sessions.db"), "box")
    raw = held.stream.read()

    assert formats.recognise(raw) is goose.FORMAT
    session, prompt, reply, named, used = records(goose.FORMAT, raw)

    assert notes(session).ties == (
        Tie(TieKind.SELF, "20251009_1 2025-10-09 08:53:20"),
        Tie(TieKind.SELF, "20251009_1"),
    )
    assert notes(session).cwd == "/home/ann/shop"
    assert notes(named).title == "Fix it"
    assert (message(prompt).role, parts(prompt)) == (Role.USER, (Text(text="prompt 1"),))
    assert message(reply).role is Role.ASSISTANT
    assert prompt.at is not None
    assert notes(used).usage == (
        Usage(
            key="ledger 1",
            scope=Scope.SESSION,
            model="gpt-5",
            input=100,
            output=20,
            reported=20_000_000_000,
        ),
    )


def test_the_older_log_is_recognised_and_read() -> None:
    value = [{"type": "text", "text": "out"}, {"type": "image", "data": "AAAA", "mimeType": "i/p"}]
    lines = [HEADER, CALL, answer({"status": "success", "value": value})]
    raw = b"".join(orjson.dumps(line) + b"\n" for line in lines)

    assert formats.recognise(raw) is goose.FORMAT
    header, call, result = records(goose.FORMAT, raw)

    assert (notes(header).title, notes(header).cwd) == ("Fix it", "/home/ann/shop")
    assert parts(call)[1] == ToolCall(name="shell", call_id="c", arguments={"a": 1})
    assert message(result).role is Role.TOOL
    assert parts(result) == (
        ToolResult(call_id="c", text="out", is_error=False),
        Picture(media_type="i/p", size=3),
    )


def test_failed_results_are_errors() -> None:
    results: tuple[dict[str, object], ...] = (
        {"status": "error", "error": "no"},
        {
            "status": "success",
            "value": {"content": [{"type": "text", "text": "no"}], "isError": True},
        },
    )
    for result in results:
        assert parts(read(goose.FORMAT, answer(result))) == (
            ToolResult(call_id="c", text="no", is_error=True),
        )


def test_what_only_the_model_sees_is_a_compaction() -> None:
    line = {**CALL, "role": "user", "metadata": {"userVisible": False, "agentVisible": True}}

    assert message(read(goose.FORMAT, line)).role is Role.SYSTEM
    assert notes(read(goose.FORMAT, line)).flags == Flag.COMPACTION


def test_the_cache_is_part_of_the_input_where_the_input_is_large_enough() -> None:
    def told(sent: int) -> int:
        row = {"id": 1, "input_tokens": sent, "cache_read_tokens": 80, "cache_write_tokens": 10}
        line = {"store": "goose", "table": "usage_ledger", "row": row}
        return notes(read(goose.FORMAT, line)).usage[0].input

    assert (told(100), told(20)) == (10, 20)


def test_an_estimate_is_no_reported_cost() -> None:
    row = {"id": 1, "cost": 1.5, "cost_source": "estimated"}
    line = {"store": "goose", "table": "usage_ledger", "row": row}

    assert notes(read(goose.FORMAT, line)).usage[0].reported is None
