"""The demo workspace: deterministic, recent, believable, and harmless."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from sessions_app import formats
from sessions_app.domain.events import Flag, gist_of
from sessions_app.ingest.demo import DemoFile, files

NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
EPOCH = re.compile(rb'"timestamp":(\d{13})')
DAMAGED = "session-expired-certificate"
CUT = "session-backfill-revenue-1"


@cache
def demo() -> tuple[DemoFile, ...]:
    return tuple(files(NOW))


def logs(agent: str = "") -> list[DemoFile]:
    return [file for file in demo() if file.kind == "log" and file.agent.startswith(agent)]


def log(name: str) -> DemoFile:
    return next(file for file in logs() if name in file.path)


def versions(path: str) -> list[str]:
    return [file.data.decode() for file in demo() if file.path == path]


def readable(file: DemoFile) -> list[dict[str, Any]]:
    """All lines but the one that is damaged on purpose and the one that is cut."""
    lines = [line for line in file.data.splitlines() if b"\x00" not in line]
    return [json.loads(line) for line in (lines[:-1] if CUT in file.path else lines)]


def test_the_same_now_gives_the_same_bytes() -> None:
    assert tuple(files(NOW)) == demo()


def test_now_moves_dates_and_nothing_else() -> None:
    later = tuple(files(NOW + timedelta(days=40)))
    assert [file.path for file in later] == [file.path for file in demo()]
    for old, new in zip(demo(), later, strict=True):
        assert new.written_at - old.written_at == timedelta(days=40)
        assert _dateless(new.data) == _dateless(old.data)


def _dateless(data: bytes) -> bytes:
    data = EPOCH.sub(b"", STAMP.sub(b"", data))
    return re.sub(rb"2026-\d\d-\d\d", b"", data)


def test_now_may_be_told_in_any_zone() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=9)))
    assert tuple(files(elsewhere)) == demo()


def test_everything_lies_before_now_and_within_three_weeks() -> None:
    oldest = (NOW - timedelta(days=22)).isoformat().encode()
    latest = NOW.isoformat().encode()
    for file in demo():
        assert file.written_at < NOW
        stamps = STAMP.findall(file.data)
        assert all(oldest < stamp < latest for stamp in stamps), file.path
        for stamp in EPOCH.findall(file.data):
            assert int(stamp) < NOW.timestamp() * 1000


def test_the_newest_session_is_of_the_last_hour() -> None:
    assert NOW - demo()[-1].written_at < timedelta(hours=1)


def test_files_come_oldest_first() -> None:
    times = [file.written_at for file in demo()]
    assert times == sorted(times)


def test_it_is_neither_small_nor_slow_to_load() -> None:
    assert 3_000_000 < sum(len(file.data) for file in demo()) < 6_000_000


def test_several_agents_machines_and_projects_take_part() -> None:
    agents = Counter(file.agent for file in logs())
    assert agents["chat"] >= 12
    assert {"chat", "claude-code", "codex", "pi"} == set(agents)
    assert agents.total() >= 24
    assert len({file.project for file in demo()}) == 4
    assert len({file.machine for file in demo()}) == 5


@pytest.mark.parametrize("file", logs(), ids=lambda file: file.path[-40:])
def test_every_log_is_recognised_as_its_agents_and_somebody_asks_in_it(file: DemoFile) -> None:
    fmt = formats.recognise(file.data)
    readings = [fmt.read(line) for line in file.data.splitlines()]
    flags = [gist_of(each.body, each.notes.flags if each.notes else 0).flags for each in readings]

    assert fmt.agent == file.agent
    if "/subagents/" not in file.path:
        assert any(each & Flag.PROMPT for each in flags)


def test_log_paths_are_unique_and_relative() -> None:
    paths = [file.path for file in logs()]
    assert len(set(paths)) == len(paths)
    assert not any(path.startswith("/") or ".." in path for path in paths)


@pytest.mark.parametrize("file", logs(), ids=lambda file: file.path[-40:])
def test_every_line_but_the_deliberate_ones_is_an_object(file: DemoFile) -> None:
    assert all(isinstance(record, dict) for record in readable(file))
    assert (b"\x00" in file.data) == (DAMAGED in file.path)
    assert file.data.endswith(b"\n") == (CUT not in file.path)


def test_the_damaged_line_is_no_text_and_ends_properly() -> None:
    (line,) = (x for x in log(DAMAGED).data.splitlines() if b"\x00" in x)
    with pytest.raises(UnicodeDecodeError):
        line.decode()


def test_the_crashed_session_ends_in_the_middle_of_a_line() -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(log(CUT).data.splitlines()[-1])


def test_plain_chat_lines_have_role_and_content() -> None:
    for file in logs("chat"):
        for record in readable(file):
            assert record["role"] in {"system", "user", "assistant", "tool"}
            assert isinstance(record["content"], str) or record["tool_calls"]


def test_one_chat_is_nothing_but_role_and_content() -> None:
    records = readable(log("quick-question"))
    assert {tuple(record) for record in records} == {("role", "content")}


def _calls(record: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Ids of the calls and of the answers in a record of any of the four shapes."""
    if "role" in record:
        asked = [call["id"] for call in record.get("tool_calls", [])]
        return asked, [record["tool_call_id"]] if record["role"] == "tool" else []
    payload = record.get("payload", {})
    if "call_id" in payload:
        answer = payload["type"].endswith("_output")
        return ([], [payload["call_id"]]) if answer else ([payload["call_id"]], [])
    message = record.get("message", {})
    blocks = [b for b in message.get("content", []) if isinstance(b, dict)]
    asked = [b["id"] for b in blocks if b["type"] in {"tool_use", "toolCall"}]
    told = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    if "toolCallId" in message:
        told.append(message["toolCallId"])
    return asked, told


@pytest.mark.parametrize("file", logs(), ids=lambda file: file.path[-40:])
def test_every_call_has_one_answer_after_it(file: DemoFile) -> None:
    open_calls: set[str] = set()
    for record in readable(file):
        asked, told = _calls(record)
        assert not open_calls & set(asked)
        open_calls |= set(asked)
        assert set(told) <= open_calls
        open_calls -= set(told)
    assert len(open_calls) == (CUT in file.path)


def test_the_long_session_has_about_two_thousand_events() -> None:
    assert 1_800 < log("backfill-orders").data.count(b"\n") < 2_200


def test_a_fork_of_a_chat_begins_with_the_same_bytes() -> None:
    origin, fork = log("led-419-keys.jsonl").data, log("led-419-keys-redis").data
    shared = _shared(origin.splitlines(), fork.splitlines())
    assert shared > 20
    assert shared < min(origin.count(b"\n"), fork.count(b"\n"))


def test_a_claude_code_fork_differs_from_its_origin_only_in_the_session() -> None:
    origin, fork = (x for x in logs("claude-code") if "v3 next month" in x.data.decode())
    ids = [readable(x)[1]["sessionId"].encode() for x in (origin, fork)]
    assert ids[0] != ids[1]
    copied = fork.data.replace(ids[1], ids[0]).splitlines()
    assert _shared(origin.data.splitlines(), copied) > 50


def test_a_pi_fork_names_its_parent_and_copies_its_entries() -> None:
    trees = [file for file in logs("pi") if readable(file)[0].get("version") == 3]
    origin, fork = sorted(trees, key=lambda file: "parentSession" in readable(file)[0])
    assert readable(fork)[0]["parentSession"] == origin.path
    assert _shared(origin.data.splitlines()[1:], fork.data.splitlines()[1:]) > 50


def _shared(one: list[bytes], other: list[bytes]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)


def test_a_pi_tree_has_a_branch_that_was_left() -> None:
    tree = next(file for file in logs("pi") if readable(file)[0].get("version") == 3)
    entries = readable(tree)[1:]
    parents = Counter(entry["parentId"] for entry in entries)
    assert [n for parent, n in parents.items() if parent and n > 1] == [2]
    assert {"branch_summary", "compaction"} <= {entry["type"] for entry in entries}


def test_the_oldest_pi_session_is_a_list_without_ids() -> None:
    (linear,) = (file for file in logs("pi") if "version" not in readable(file)[0])
    assert not any("parentId" in entry for entry in readable(linear))


def test_the_helper_belongs_to_its_parents_session_and_ends_before_its_answer() -> None:
    helper = log("/subagents/")
    first = readable(helper)[0]
    assert first["isSidechain"]
    assert f"/{first['sessionId']}/subagents/agent-{first['agentId']}" in helper.path
    parent = next(x for x in logs("claude-code") if x.path.endswith(f"{first['sessionId']}.jsonl"))
    (answer,) = (
        record
        for record in readable(parent)
        if isinstance(record.get("toolUseResult"), dict)
        and record["toolUseResult"].get("agentId") == first["agentId"]
    )
    assert readable(helper)[-1]["timestamp"] < answer["timestamp"]


def test_two_sessions_go_on_after_a_gap() -> None:
    assert _longest_gap(log("inc-27-double-payouts")) > timedelta(hours=6)
    assert max(_longest_gap(file) for file in logs("codex")) > timedelta(hours=17)


def _longest_gap(file: DemoFile) -> timedelta:
    times = [datetime.fromisoformat(stamp.decode()) for stamp in STAMP.findall(file.data)]
    return max(b - a for a, b in pairwise(times))


def test_the_second_session_repeats_what_the_first_handoff_left_out() -> None:
    first, second, third = versions("src/ledger-api/HANDOFF.md")
    test = "test_two_equal_partial_refunds_are_both_paid"
    failed = f"FAILED tests/test_refunds.py::{test}"
    assert failed in log("led-412-refunds-1").data.decode()
    assert failed in log("led-412-refunds-2").data.decode()
    assert failed not in log("led-412-refunds-3").data.decode()
    assert "Failed approaches" not in first
    assert "Unique index" not in first
    assert "Failed approaches" in second
    assert "Unique index" in third


def test_what_a_session_reads_is_what_the_one_before_wrote() -> None:
    first = versions("src/ledger-api/HANDOFF.md")[0]
    told = [record["content"] for record in readable(log("led-412-refunds-2"))]
    assert first.rstrip("\n") in told


def test_artefacts_of_every_kind_are_there() -> None:
    kinds = Counter(file.kind for file in demo() if file.kind != "log")
    assert set(kinds) == {"handoff", "memory", "state", "journal"}
    assert kinds["handoff"] >= 5
    for text in versions("src/orders-pipeline/.agent/state.json"):
        assert json.loads(text)["task"].startswith("backfill")


def test_the_memory_index_links_files_and_has_something_to_repair() -> None:
    index = versions("src/ledger-api/memory/MEMORY.md")[-1]
    linked = set(re.findall(r"\]\((\S+?)\)", index))
    present = {
        file.path.rsplit("/", 1)[1]
        for file in demo()
        if file.kind == "memory" and file.project == "ledger-api"
    } - {"MEMORY.md"}
    assert linked - present == {"feedback_team.md"}
    assert present - linked == {"project_payouts.md"}


def test_hidden_and_bidirectional_characters_are_in_one_session_only() -> None:
    hidden = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\U000e0000-\U000e007f]")
    found = [file.path for file in demo() if hidden.search(file.data.decode(errors="replace"))]
    assert found == [log("courier-lookup").path]
    text = log("courier-lookup").data.decode()
    assert {"\u202e", "\u200b", "\U000e0073"} <= set(text)
    assert "ignore all previous instructions" in text


def test_errors_are_marked_in_every_shape() -> None:
    marks = {
        "chat": b'"is_error":true',
        "claude-code": b'"is_error":true',
        "codex": b"exited with code 1",
        "pi": b'"isError":true',
    }
    for agent, mark in marks.items():
        assert any(mark in file.data for file in logs(agent)), agent
    assert any(b'"isApiErrorMessage":true' in file.data for file in logs("claude-code"))


def test_the_only_secrets_are_published_examples() -> None:
    everything = b"\n".join(file.data for file in demo())
    keys = set(re.findall(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", everything))
    assert keys == {b"AKIAIOSFODNN7EXAMPLE"}
    secrets = re.findall(rb"SECRET_ACCESS_KEY=([A-Za-z0-9/+]+)", everything)
    assert secrets
    assert all(b"EXAMPLE" in secret for secret in secrets)
    assert not re.search(
        rb"-----BEGIN|\bgh[pousr]_\w{20}|\bxox[abp]-|\bsk-\w{20}|eyJ\w{20}", everything
    )


def test_every_host_is_a_reserved_name() -> None:
    everything = b"\n".join(file.data for file in demo())
    hosts = set(re.findall(rb"https?://([a-z0-9.-]+)", everything))
    assert hosts
    assert all(host.endswith((b".example", b".invalid")) for host in hosts)


def test_what_claude_code_tells_beside_an_answer_is_the_text_of_the_file_without_numbers() -> None:
    files_read = [
        (line["message"]["content"][0]["content"], line["toolUseResult"]["file"])
        for file in logs("claude-code")
        for line in readable(file)
        if isinstance(line.get("toolUseResult"), dict) and "file" in line["toolUseResult"]
    ]
    assert files_read
    for shown, told in files_read:
        first, _, rest = shown.partition("\n")[0].partition("\t")
        if first.strip().isdigit():
            assert told["startLine"] == int(first)
            assert told["content"].split("\n")[0] == rest
