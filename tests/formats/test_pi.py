"""pi sessions of all versions, and OpenClaw's, which have the same shape."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Notes,
    Picture,
    Reading,
    Record,
    Role,
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

PI = formats.BY_NAME["pi"]
OPENCLAW = formats.BY_NAME["openclaw"]
SESSION = "019e19b4-eb48-746a-aa6b-8dfcfa37954b"
PARENT = "d97339c6-6c10-4827-846b-9ff1d9c3dc37"
HEADER = {"type": "session", "id": SESSION, "timestamp": "2026-05-12T01:02:27.657Z", "cwd": "/src"}
USAGE = {
    "input": 10,
    "output": 8,
    "cacheRead": 49204,
    "cacheWrite": 1739,
    "totalTokens": 50961,
    "cost": {"input": 5e-05, "total": 0.03572075},
}
# Two entries that were written into one line.
TORN = {"badlogic__pi-mono__root-compact.jsonl": 1, "badlogic__pi-mono__root-session.jsonl": 1}


def read(**entry: object) -> Reading:
    stamp = "2026-05-12T01:02:27.667Z"
    return PI.read(orjson.dumps({"id": "f7c7091e", "parentId": None, "timestamp": stamp, **entry}))


def message(role: str, content: object = None, **more: object) -> Reading:
    inner = {"role": role, "content": content, "timestamp": 1778547747671, **more}
    return read(type="message", message=inner)


def flags(reading: Reading) -> int:
    return gist_of(reading.body, reading.notes.flags if reading.notes else 0).flags


def recognised(*records: dict[str, Any]) -> str:
    return formats.recognise(b"\n".join([orjson.dumps(each) for each in records])).name


def test_it_is_recognised_by_its_header_or_by_a_result() -> None:
    entry = {"type": "message", "id": "a", "parentId": None}
    assert recognised(HEADER) == "pi"
    assert recognised({**HEADER, "version": 3}) == "pi"
    assert recognised({**entry, "message": {"role": "toolResult"}}) == "pi"
    assert recognised({**entry, "message": {"role": "user"}}) == "unknown"
    assert recognised({"type": "session", "id": SESSION}) == "unknown"


@pytest.mark.parametrize(
    "sign",
    [
        {"type": "custom", "customType": "openclaw.cache-ttl"},
        {"type": "custom", "customType": "openclaw:bootstrap-context:full"},
        {"type": "custom", "customType": "model-snapshot"},
        {"type": "message", "message": {"role": "assistant", "provider": "openclaw"}},
        {"type": "model_change", "provider": "openclaw-model"},
        {**HEADER, "cwd": "/home/a/.openclaw/workspace"},
    ],
)
def test_openclaw_is_told_apart_by_what_only_it_writes(sign: dict[str, Any]) -> None:
    assert recognised(HEADER, sign) == "openclaw"


def test_a_word_in_what_was_said_does_not_make_it_openclaws() -> None:
    spoken = {"type": "message", "message": {"role": "user", "content": "openclaw .openclaw/"}}
    assert recognised(HEADER, spoken) == "pi"


def test_a_header_says_whose_the_session_is_and_where_it_comes_from() -> None:
    path = f"/home/a/.pi/agent/sessions/--src--/2025-12-09T00-52-54-397Z_{PARENT}.jsonl"
    new = read(**HEADER, version=3, parentSession=path).notes
    old = read(**HEADER, modelId="claude-opus-4-5", branchedFrom=path).notes

    ties = (Tie(TieKind.SELF, SESSION), Tie(TieKind.FORK_OF, PARENT))
    assert new == Notes(ties=ties, cwd="/src", version="session format 3")
    assert old == Notes(ties=ties, cwd="/src", version="session format 1", model="claude-opus-4-5")


def test_a_parent_on_a_windows_machine_is_found_and_another_name_is_none() -> None:
    windows = read(**HEADER, parentSession=rf"C:\{SESSION}\2025_{PARENT}.jsonl").notes
    nameless = read(**HEADER, parentSession=f"/{PARENT}/session.jsonl").notes

    assert windows is not None
    assert windows.ties[1] == Tie(TieKind.FORK_OF, PARENT)
    assert nameless is not None
    assert len(nameless.ties) == 1


def test_a_prompt_is_text_or_blocks() -> None:
    assert message("user", "hi").body == Message(role=Role.USER, parts=(Text(text="hi"),))
    assert flags(message("user", [{"type": "text", "text": "hi"}])) == Flag.PROMPT


def test_thinking_text_and_a_call_are_told_apart() -> None:
    body = message(
        "assistant",
        [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
            {"type": "thinking", "thinking": ""},
            {"type": "text", "text": "I will look."},
            {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}},
            {"type": "novelty", "x": 1},
        ],
        model="claude-opus-4-5",
    ).body

    assert body == Message(
        role=Role.ASSISTANT,
        model="claude-opus-4-5",
        parts=(
            Thinking(text="hm"),
            Text(text="I will look."),
            ToolCall(name="bash", call_id="t1", arguments={"command": "ls"}),
            Data(label="novelty", value={"type": "novelty", "x": 1}),
        ),
    )


def test_a_result_belongs_to_its_call_and_brings_its_pictures() -> None:
    blocks = [
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
        {"type": "image", "data": "A" * 400, "mimeType": "image/png"},
    ]
    reading = message("toolResult", blocks, toolCallId="t1", toolName="read", isError=True)

    assert reading.body == Message(
        role=Role.TOOL,
        name="read",
        parts=(
            ToolResult(call_id="t1", text="one\ntwo", is_error=True),
            Picture(media_type="image/png", size=300),
        ),
    )
    assert flags(reading) == Flag.ERROR | Flag.PICTURE


def test_a_command_a_person_ran_is_no_prompt() -> None:
    reading = message("bashExecution", command="ls x", output="no such file", exitCode=2)

    assert reading.body == Message(
        role=Role.USER,
        parts=(
            ToolCall(name="bash", call_id="", arguments={"command": "ls x"}),
            ToolResult(call_id="", text="no such file", is_error=True),
        ),
    )
    assert flags(reading) == Flag.ERROR


def test_a_failure_is_an_error_and_an_interruption_is_none() -> None:
    failed = message("assistant", [], stopReason="error", errorMessage="overloaded")
    broken_off = message("assistant", [], stopReason="aborted", errorMessage="aborted")

    assert flags(failed) == Flag.ERROR
    assert isinstance(failed.body, Message)
    assert failed.body.parts == (Data(label="error", value="overloaded"),)
    assert flags(broken_off) == Flag.INTERRUPTED


def test_what_extensions_say_is_the_systems() -> None:
    for reading in (
        read(type="custom_message", customType="x", content="told"),
        message("custom", "told", customType="x"),
        message("hookMessage", [{"type": "text", "text": "told"}], customType="x"),
    ):
        assert reading.body == Message(role=Role.SYSTEM, parts=(Text(text="told"),), name="x")


def test_summaries_are_shown_and_only_a_compaction_is_marked_as_one() -> None:
    compaction = read(type="compaction", summary="so far", tokensBefore=19, retainedTail=[])
    branch = read(type="branch_summary", summary="left", fromId="a", usage=USAGE)

    assert flags(compaction) == Flag.COMPACTION
    assert flags(branch) == 0
    assert branch.body == Message(
        role=Role.SYSTEM, parts=(Text(text="left"),), name="branch_summary"
    )
    assert branch.notes is not None
    assert branch.notes.usage[0].output == 8


def test_a_choice_of_model_is_in_force() -> None:
    reading = read(type="model_change", provider="anthropic", modelId="claude-sonnet-4-5")

    assert reading.notes is not None
    assert (reading.notes.model, reading.notes.flags) == ("claude-sonnet-4-5", 0)


def test_an_entry_is_known_in_copies_by_its_id_and_time() -> None:
    stamp = "2026-01-02T03:04:05.678Z"
    entry = read(type="label", id="f7c7091e", timestamp=stamp, targetId="a")
    timeless = read(type="label", id="f7c7091e", timestamp=None, targetId="a")

    assert entry.notes == Notes(ties=(Tie(TieKind.RECORD, f"f7c7091e {stamp}"),))
    assert timeless.notes is None


def test_a_name_is_the_title_and_a_label_a_record() -> None:
    label = read(type="label", targetId="a", label="checkpoint").body

    named = read(type="session_info", name="Refunds").notes
    assert named is not None
    assert named.title == "Refunds"
    assert isinstance(label, Record)
    assert (label.label, label.fields["label"]) == ("label", "checkpoint")


def test_the_time_of_the_message_stands_in_for_that_of_the_entry() -> None:
    entry = {"type": "message", "message": {"role": "user", "timestamp": 1778547747671}}
    at = PI.read(orjson.dumps(entry)).at

    assert at is not None
    assert at.year == 2026


def test_usage_is_told_with_what_it_cost() -> None:
    notes = message("assistant", "x", usage=USAGE, model="claude-opus-4-5").notes

    assert notes is not None
    (usage,) = notes.usage
    assert (usage.input, usage.output) == (10, 8)
    assert (usage.cache_read, usage.cache_write) == (49204, 1739)
    assert (usage.model, usage.reported) == ("claude-opus-4-5", 35_720_750_000)


@pytest.mark.parametrize("cost", [0, -1, 1e300, True, "1", None])
def test_a_cost_that_is_none_is_not_told_as_nothing(cost: object) -> None:
    notes = message("assistant", "x", usage={**USAGE, "cost": {"total": cost}}).notes

    assert notes is not None
    assert notes.usage[0].reported is None


def test_a_copied_entry_names_the_same_answer_and_a_later_one_another() -> None:
    def key(**more: object) -> str:
        notes = message("assistant", "x", usage=USAGE, model="m", **more).notes
        assert notes is not None
        return notes.usage[0].key

    assert key() == key()
    assert key(timestamp=1778547747672) != key()


@pytest.mark.parametrize("path", folding.files("pi"), ids=lambda path: path.name)
def test_every_real_session_is_recognised_and_counted(path: Path) -> None:
    assert formats.recognise(path.read_bytes()) is PI
    found = folding.readings(PI, path)
    unreadable = [each for each in found if isinstance(each.body, Unreadable)]
    raw = _entries(path)

    assert len(found) == path.read_bytes().count(b"\n")
    assert len(unreadable) == TORN.get(path.name, 0)
    assert sum(bool(flags(each) & Flag.COMPACTION) for each in found) == sum(
        each["type"] == "compaction" for each in raw
    )
    assert sum(bool(flags(each) & Flag.ERROR) for each in found) == sum(map(_is_error, raw))


def _entries(path: Path) -> list[dict[str, Any]]:
    out = []
    for line in path.read_bytes().splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out


def _is_error(entry: dict[str, Any]) -> bool:
    inner = entry.get("message", {})
    ran = inner.get("role") == "bashExecution" and bool(inner.get("exitCode"))
    return ran or inner.get("isError") is True or inner.get("stopReason") == "error"


@pytest.mark.parametrize("path", folding.files("pi"), ids=lambda path: path.name)
def test_the_tokens_and_cost_of_a_real_session_are_those_of_its_messages(path: Path) -> None:
    told = [each["message"]["usage"] for each in _entries(path) if _tells_usage(each)]
    found = folding.answers(PI, [path])
    total = folding.total(found)

    assert total["input"] == sum(each["input"] for each in told)
    assert total["output"] == sum(each["output"] for each in told)
    assert total["cache_read"] == sum(each["cacheRead"] for each in told)
    assert total["cache_write"] == sum(each["cacheWrite"] for each in told)
    dollars = sum(usage.reported or 0 for usage in found.values()) / 10**12
    assert dollars == pytest.approx(sum(each["cost"]["total"] for each in told))


def _tells_usage(entry: dict[str, Any]) -> bool:
    return "usage" in entry.get("message", {})


@pytest.mark.parametrize("path", folding.files("other"), ids=lambda path: path.name)
def test_no_log_of_another_agent_is_taken_for_one_of_these(path: Path) -> None:
    taken = formats.recognise(path.read_bytes()).name

    assert taken not in {"pi", "openclaw", "codex", "copilot-cli"}


@pytest.mark.parametrize("path", folding.files("openclaw"), ids=lambda path: path.name)
def test_every_session_of_openclaw_is_recognised_and_read(path: Path) -> None:
    assert formats.recognise(path.read_bytes()) is OPENCLAW
    found = folding.readings(OPENCLAW, path)

    assert len(found) == path.read_bytes().count(b"\n")
    assert not any(isinstance(each.body, Unreadable) for each in found)
    assert sum(bool(flags(each) & Flag.PROMPT) for each in found) == 1
