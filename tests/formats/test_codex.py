"""Codex rollouts: each thing said once, each answer of the model counted once."""

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
    Scope,
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

CODEX = formats.BY_NAME["codex"]
THREAD = "019ed893-d2a6-7c30-a8b8-5a8a49cfa23e"
PARENT = "019ed936-c4f5-7a21-ad41-d1eed95dc4df"
TURN = "019ed99c-d00d-7613-b2e7-d2f512f78afd"
# These are no rollouts, whatever folder they lie in.
OTHERS = ("history", "oss-story", "schema_drift", "session_")
ROLLOUTS = [path for path in folding.files("codex") if not any(x in path.name for x in OTHERS)]
# The others are cut together from lines of several sessions.
WHOLE = [path for path in ROLLOUTS if "jazzyalex" not in path.name]
# One line of this file tells of two answers at once: the first of them was never written.
GAPS = {"EntityProcess__agentv__3c-162d1d8ad4-1-full.jsonl": (88_335, 69)}


def line(kind: str, payload: object) -> bytes:
    stamp = "2026-11-18T10:00:00.123Z"
    return orjson.dumps({"timestamp": stamp, "type": kind, "payload": payload})


def read(kind: str, /, **payload: object) -> Reading:
    return formats.read(CODEX, line(kind, payload))


def event(name: str, /, **payload: object) -> Reading:
    return read("event_msg", type=name, **payload)


def item(name: str, /, **payload: object) -> Reading:
    return read("response_item", type=name, **payload)


def said(role: str, *texts: str) -> Reading:
    return item("message", role=role, content=[{"type": "input_text", "text": x} for x in texts])


def flags(reading: Reading) -> int:
    return gist_of(reading.body, reading.notes.flags if reading.notes else 0).flags


def result(output: object) -> ToolResult:
    body = item("function_call_output", call_id="c1", output=output).body
    assert isinstance(body, Message)
    (part,) = body.parts
    assert isinstance(part, ToolResult)
    return part


def test_what_an_editor_tells_of_itself_is_set_apart_from_the_request() -> None:
    around = "# Context from my IDE setup:\n\n## Active file: a.py"
    text = f"{around}\n\n## My request for Codex:\nfix it\n"
    apart = (Data(label="surroundings", value=around), Text(text="fix it"))
    pages = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}

    for reading in (event("user_message", message=text), event("item_completed", item=pages)):
        assert isinstance(reading.body, Message)
        assert reading.body.parts == apart
        assert flags(reading) & Flag.PROMPT
    assert said("user", text).body == Message(role=Role.USER, parts=apart)
    alone = event("user_message", message=around).body
    assert alone == Message(role=Role.USER, parts=(Text(text=around),))


def test_it_is_recognised_by_its_lines_and_by_the_header_of_old_files() -> None:
    header = b'{"id":"x","timestamp":"2025-06-01T10:00:00Z","instructions":null}'
    assert formats.recognise(line("session_meta", {"id": THREAD})) is CODEX
    assert formats.recognise(b"rubbish\n" + line("event_msg", {"type": "x"})) is CODEX
    assert formats.recognise(header) is CODEX
    assert formats.recognise(b'{"record_type":"state"}') is CODEX


def test_a_history_of_prompts_is_no_rollout() -> None:
    assert formats.recognise(b'{"session_id":"s","ts":1759131180,"text":"/clarify"}') is not CODEX


def test_a_prompt_is_the_event_and_its_item_is_the_echo() -> None:
    prompt, echo = event("user_message", message="fix it", images=[]), said("user", "fix it")

    assert prompt.body == Message(role=Role.USER, parts=(Text(text="fix it"),))
    assert flags(prompt) == Flag.PROMPT
    assert echo.body == prompt.body
    assert flags(echo) == Flag.ECHO


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/x</cwd>",
        "# AGENTS.md instructions for /x",
        "<turn_aborted>\nThe user interrupted",
        "<skill>\n<name>x</name>",
    ],
)
def test_what_the_program_put_in_a_persons_mouth_is_the_systems(text: str) -> None:
    reading = said("user", text, "more")

    assert isinstance(reading.body, Message)
    assert reading.body.role is Role.SYSTEM
    assert flags(reading) == 0


def test_instructions_that_came_as_an_event_are_no_prompt() -> None:
    reading = event("user_message", message="Be careful.", kind="user_instructions")

    assert flags(reading) == 0


def test_an_answer_is_the_item_and_its_event_is_the_echo() -> None:
    assert flags(said("assistant", "done")) == 0
    assert flags(event("agent_message", message="done")) == Flag.ECHO
    assert flags(event("agent_reasoning", text="hm")) == Flag.ECHO | Flag.THINKING


def test_reasoning_is_read_where_it_is_not_sealed() -> None:
    summary = [{"type": "summary_text", "text": "hm"}]
    open_, sealed = (
        item("reasoning", summary=summary, encrypted_content="x").body,
        item("reasoning", summary=[], content=None, encrypted_content="x").body,
    )

    assert open_ == Message(role=Role.ASSISTANT, parts=(Thinking(text="hm"),))
    assert isinstance(sealed, Record)
    assert sealed.label == "reasoning"


def test_calls_keep_name_id_and_what_was_asked() -> None:
    shell = item("function_call", name="exec_command", call_id="c1", arguments='{"cmd":"ls"}')
    patch = item("custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch")
    search = item("web_search_call", id="ws_1", action={"type": "search", "query": "x"})

    calls = [each.body.parts[0] for each in (shell, patch, search)]  # type: ignore[union-attr]
    assert calls == [
        ToolCall(name="exec_command", call_id="c1", arguments={"cmd": "ls"}),
        ToolCall(name="apply_patch", call_id="c2", arguments="*** Begin Patch"),
        ToolCall(name="web_search", call_id="", arguments={"type": "search", "query": "x"}),
    ]


@pytest.mark.parametrize(
    ("namespace", "name", "whole"),
    [
        ("mcp__codex_apps__github", "_fetch_pr", "mcp__codex_apps__github_fetch_pr"),
        ("mcp__deepwiki", "ask_question", "mcp__deepwiki__ask_question"),
        ("mcp__deepwiki__", "ask_question", "mcp__deepwiki__ask_question"),
        ("", "exec_command", "exec_command"),
        ("builtin", "exec_command", "exec_command"),
    ],
)
def test_a_tool_from_outside_has_the_name_of_its_server(
    namespace: str, name: str, whole: str
) -> None:
    call = item("function_call", name=name, namespace=namespace, call_id="c1", arguments="{}")

    assert isinstance(call.body, Message)
    assert call.body.parts == (ToolCall(name=whole, call_id="c1", arguments={}),)


@pytest.mark.parametrize(
    ("output", "is_error"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx", False),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 127\nOutput:\nx", True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nExit code: 1", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nx", True),
        ("Process exited with code -1\nOutput:\nx", True),
        ("Wall time: 3 seconds\nOutput:\nProcess exited with code 1", False),
        ("exec command rejected by user", True),
        ("apply_patch verification failed: Failed to find", True),
        ("aborted by user after 3.1s", True),
        ("Plan updated", False),
    ],
)
def test_an_exit_code_at_the_head_of_an_output_says_whether_it_failed(
    output: str, is_error: bool
) -> None:
    assert result(output) == ToolResult(call_id="c1", text=output, is_error=is_error)


def test_an_output_that_is_json_gives_its_text_and_exit_code() -> None:
    told = json.dumps({"output": "rg: not found", "metadata": {"exit_code": 127}})

    assert result('{"output":' + told.split(":", 1)[1]) == ToolResult(
        call_id="c1", text="rg: not found", is_error=True
    )


def test_an_output_of_parts_keeps_text_and_pictures() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400}
    body = item("custom_tool_call_output", call_id="c", output=[image, {"text": "seen"}]).body

    assert body == Message(
        role=Role.TOOL,
        parts=(
            ToolResult(call_id="c", text="seen", is_error=False),
            Picture(media_type="image/png", size=300),
        ),
    )


def test_a_header_says_whose_the_session_is_and_where_it_comes_from() -> None:
    notes = read(
        "session_meta",
        id=THREAD,
        cwd="/src",
        cli_version="0.142.0",
        git={"branch": "main"},
        forked_from_id=PARENT,
        source={"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}},
        history_base={"thread_id": PARENT, "end_ordinal_exclusive": 3},
    ).notes

    assert notes == Notes(
        ties=(
            Tie(TieKind.SELF, THREAD),
            Tie(TieKind.FORK_OF, PARENT),
            Tie(TieKind.SUBAGENT_OF, PARENT),
        ),
        cwd="/src",
        branch="main",
        version="0.142.0",
        is_header=True,
    )


def test_a_history_by_reference_is_a_continuation() -> None:
    notes = read("session_meta", id=THREAD, history_base={"thread_id": PARENT}).notes

    assert notes is not None
    assert Tie(TieKind.CONTINUES, PARENT) in notes.ties


def test_a_subagent_that_was_started_is_named() -> None:
    notes = event("collab_agent_spawn_end", new_thread_id=THREAD).notes

    assert notes == Notes(ties=(Tie(TieKind.STARTED, THREAD),))


def test_a_turn_brings_its_id_model_and_folder() -> None:
    notes = read("turn_context", turn_id=TURN, model="gpt-5.5", cwd="/src").notes

    assert notes == Notes(turn=TURN, model="gpt-5.5", cwd="/src", ties=(Tie(TieKind.RECORD, TURN),))


def test_the_name_of_a_thread_is_its_title() -> None:
    assert event("thread_name_updated", thread_name="Refunds").notes == Notes(title="Refunds")


def test_a_compaction_is_marked_once_and_its_copies_are_not_searched() -> None:
    history = [{"type": "message", "role": "user", "content": "copied words"}]
    told = read("compacted", message="what happened", replacement_history=history)
    sealed = read("compacted", message="", replacement_history=history)

    assert told.body == Message(role=Role.SYSTEM, parts=(Text(text="what happened"),))
    assert flags(told) == flags(sealed) == Flag.COMPACTION
    assert isinstance(sealed.body, Record)
    assert "replacement_history" in sealed.body.quiet
    assert flags(event("context_compacted")) == Flag.ECHO


def test_errors_are_marked_and_interruptions_are_none() -> None:
    failed = {"Ok": {"isError": True}}
    assert flags(event("error", message="no")) == Flag.ERROR
    assert flags(event("task_complete", error={"message": "no"})) == Flag.ERROR
    assert flags(event("task_complete", last_agent_message="x")) == 0
    assert flags(event("turn_aborted", reason="interrupted")) == Flag.INTERRUPTED
    assert flags(event("mcp_tool_call_end", result={"Err": "no"})) == Flag.ERROR
    assert flags(event("mcp_tool_call_end", result=failed)) == Flag.ERROR
    assert flags(event("mcp_tool_call_end", result={"Ok": {}})) == Flag.ECHO


def test_a_rollback_is_a_record() -> None:
    body = event("thread_rolled_back", num_turns=2).body

    assert isinstance(body, Record)
    assert (body.label, body.fields["num_turns"]) == ("thread_rolled_back", 2)


def test_in_a_paginated_file_the_completed_item_is_the_prompt() -> None:
    text = [{"type": "text", "text": "fix it"}]
    prompt = event("item_completed", item={"type": "UserMessage", "content": text})
    answer = event("item_completed", item={"type": "AgentMessage", "content": text})
    command = event("item_completed", item={"type": "CommandExecution"})
    plan = event("item_completed", item={"type": "Plan", "text": "1. look"})

    assert [flags(each) for each in (prompt, answer, command, plan)] == [
        Flag.PROMPT,
        Flag.ECHO,
        Flag.ECHO,
        0,
    ]


def test_an_old_file_of_bare_items_is_read() -> None:
    header = {"id": THREAD, "timestamp": "2025-06-01T10:00:00Z", "instructions": None}
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    first, state, prompt = (
        CODEX.read(orjson.dumps(each)) for each in (header, {"record_type": "state"}, asked)
    )

    assert first.notes == Notes(ties=(Tie(TieKind.SELF, THREAD),), is_header=True)
    assert isinstance(state.body, Record)
    assert state.body.label == "state"
    assert flags(prompt) == Flag.PROMPT


def tokens(last: dict[str, int], whole: dict[str, int]) -> Reading:
    info = {"last_token_usage": last, "total_token_usage": whole}
    return event("token_count", info=info, rate_limits={})


def test_tokens_of_an_answer_are_told_without_those_from_the_cache() -> None:
    last = {
        "input_tokens": 1000,
        "cached_input_tokens": 600,
        "cache_write_input_tokens": 100,
        "output_tokens": 50,
        "reasoning_output_tokens": 20,
    }
    notes = tokens(last, {**last, "total_tokens": 1050}).notes

    assert notes is not None
    (usage,) = notes.usage
    assert (usage.key, usage.scope) == ("1000.600.50.20.1050", Scope.TURN)
    assert (usage.input, usage.cache_read, usage.cache_write) == (300, 600, 100)
    assert (usage.output, usage.reasoning) == (50, 20)


@pytest.mark.parametrize("info", [None, {}, {"prompt": 3}, {"last_token_usage": {}}, []])
def test_a_count_without_numbers_counts_nothing(info: Any) -> None:
    assert event("token_count", info=info).notes is None


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.name[-40:])
def test_every_real_rollout_is_recognised_and_no_line_of_it_is_lost(path: Path) -> None:
    assert formats.recognise(path.read_bytes()) is CODEX
    found = folding.readings(CODEX, path)
    raw = [json.loads(each) for each in path.read_bytes().splitlines()]

    assert len(found) == len(raw)
    assert not any(isinstance(each.body, Unreadable) for each in found)
    prompts = sum(bool(flags(each) & Flag.PROMPT) for each in found)
    assert prompts == sum(_is_prompt(each) for each in raw)


def _is_prompt(record: dict[str, Any]) -> bool:
    payload = record["payload"]
    kind = payload.get("type")
    return (kind == "user_message" and bool(payload["message"])) or (
        kind == "item_completed" and payload["item"]["type"] == "UserMessage"
    )


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name[-40:])
def test_the_calls_of_a_real_rollout_are_those_its_results_answer(path: Path) -> None:
    parts = [
        part
        for each in folding.readings(CODEX, path)
        if isinstance(each.body, Message)
        for part in each.body.parts
    ]
    asked = [part.call_id for part in parts if isinstance(part, ToolCall) and part.call_id]
    told = [part.call_id for part in parts if isinstance(part, ToolResult)]

    assert len(set(asked)) == len(asked)
    assert set(told) <= set(asked)
    assert len(set(asked) - set(told)) <= 3


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.name[-40:])
def test_the_tokens_of_a_real_rollout_are_itsfinal_total(path: Path) -> None:
    whole = final_total(path)
    found = folding.total(folding.answers(CODEX, [path]))
    input_gap, output_gap = GAPS.get(path.name, (0, 0))

    assert found["input"] + found["cache_read"] + found["cache_write"] == whole[0] - input_gap
    assert found["output"] == whole[1] - output_gap


def final_total(path: Path) -> tuple[int, int]:
    """The last running total; one that begins anew is added to the one before."""
    done, last = (0, 0), (0, 0)
    for raw in path.read_bytes().splitlines():
        payload = json.loads(raw)["payload"]
        info = payload.get("info") if payload.get("type") == "token_count" else None
        if not info or "total_token_usage" not in info:
            continue
        told = info["total_token_usage"]
        now = (told["input_tokens"], told["output_tokens"])
        if now < last:
            done = (done[0] + last[0], done[1] + last[1])
        last = now
    return done[0] + last[0], done[1] + last[1]


def test_a_fork_adds_only_what_its_parent_has_not(tmp_path: Path) -> None:
    first = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    both = {"input_tokens": 30, "output_tokens": 3, "total_tokens": 33}
    second = {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22}
    shared = [
        line("turn_context", {"turn_id": TURN}),
        _count(first, first),
        _count(first, first),
    ]
    parent, fork = tmp_path / "parent", tmp_path / "fork"
    parent.write_bytes(b"\n".join([line("session_meta", {"id": PARENT}), *shared]))
    own = [line("session_meta", {"id": THREAD, "forked_from_id": PARENT})]
    copied = [line("session_meta", {"id": PARENT}), *shared]
    # A turn that was broken off at once tells the old total again.
    later = [line("turn_context", {"turn_id": THREAD}), _count(first, first), _count(second, both)]
    fork.write_bytes(b"\n".join([*own, *copied, *later]))

    found = folding.total(folding.answers(CODEX, [parent, fork]))

    assert (found["input"], found["output"]) == (30, 3)


def _count(last: dict[str, int], whole: dict[str, int]) -> bytes:
    info = {"last_token_usage": last, "total_token_usage": whole}
    return line("event_msg", {"type": "token_count", "info": info})
