"""One id, two contents: both are kept, and an admin hears of it."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from sessions_app.ingest.reconcile import SAME_ID
from sessions_app.models import Session
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import conflicts, findings, read
from sessions_app.store.findings import FindingRow
from tests import build
from tests.claude import Log
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db

PATH = "/home/ada/.claude/projects/tally/s.jsonl"


@pytest.fixture
def people() -> Cast:
    return cast()


def common() -> Log:
    return Log().prompt("count the lines").answer("there are four " * 400)


def take(people: Cast, log: Log | bytes, machine: str = "box", path: str = PATH) -> Session:
    data = log if isinstance(log, bytes) else log.data
    result = build.ingest(people.workspace, data, path, machine=machine)
    return Session.objects.get(uid=str(result.uid))


def told() -> list[dict[str, Any]]:
    out = StringIO()
    call_command("reconcile", "--json", stdout=out)
    conflicts: list[dict[str, Any]] = json.loads(out.getvalue())["conflicts"]
    return conflicts


def open_ones(people: Cast) -> list[FindingRow]:
    return findings.latest(people.workspace, FindingKind.CONFLICT)


def test_one_id_with_two_contents_on_two_machines_is_two_sessions_and_a_finding(
    people: Cast,
) -> None:
    """T10"""
    first = take(people, common().prompt("and now the words"))
    second = take(people, common().prompt("and now the letters"), machine="laptop")

    (row,) = told()

    assert row == {"session": str(second.uid), "path": f"laptop: {PATH}", "message": SAME_ID}
    assert b"words" in b"".join(read.stream(first))
    assert b"letters" in b"".join(read.stream(second))
    thread = f"/sessions/{second.uid}/thread"
    for page in ("/sources/reconcile", "/sources/"):
        shown = browser(people.alice).get(page).content.decode()
        assert "Same id, different content" in shown, page
        assert "Both are kept. Its thread shows where they part" in shown, page
        assert f'href="{thread}"' in shown, page
    assert str(first.uid) in browser(people.alice).get(thread).content.decode()


def test_one_id_that_begins_otherwise_is_told_without_reading_on(people: Cast) -> None:
    """T10"""
    take(people, common())
    second = take(people, Log().prompt("something else entirely"), path="/other.jsonl")
    assert [row["session"] for row in told()] == [str(second.uid)]


@pytest.mark.parametrize("is_newer_first", [True, False])
def test_an_older_copy_and_the_same_bytes_elsewhere_are_no_conflict(
    people: Cast, is_newer_first: bool
) -> None:
    newer = common().prompt("and now the words").data
    copies = [newer, common().data, newer[:-20], newer]
    for number, data in enumerate(copies if is_newer_first else reversed(copies)):
        take(people, data, machine=f"box{number}")
    assert told() == []


def test_a_rewritten_source_is_told_as_rewritten_and_not_twice(people: Cast) -> None:
    take(people, common().prompt("and now the words"))
    take(people, common().prompt("and now the letters"))
    assert Session.objects.filter(generation=2).count() == 1
    assert told() == []


def test_other_workspaces_short_ids_and_subagents_make_no_conflict(people: Cast) -> None:
    take(people, common())
    elsewhere = people.charlie.memberships.get().workspace
    build.ingest(elsewhere, Log().prompt("something else").data, PATH, machine="laptop")
    take(people, Log("s1").prompt("one"), path="/1.jsonl")
    take(people, Log("s1").prompt("two"), path="/2.jsonl")
    helper = Log().prompt("look it up", isSidechain=True, agentId="a1")
    take(people, helper, path="/home/ada/.claude/projects/tally/s/subagents/agent-a1.jsonl")
    assert told() == []


def test_what_was_settled_stays_settled_and_what_is_gone_is_over(people: Cast) -> None:
    take(people, common().prompt("and now the words"))
    take(people, common().prompt("and now the letters"), machine="laptop")
    told()
    told()
    (row,) = open_ones(people)
    assert row.times == 2
    browser(people.alice).post("/sources/", {"action": "settle", "finding": row.id})
    assert told() == []

    third = take(people, common().prompt("and now the pages"), machine="desk")
    assert [row["session"] for row in told()] == [str(third.uid)]
    third.delete()
    assert told() == []


def test_the_api_tells_members_of_findings_and_strangers_nothing(people: Cast) -> None:
    take(people, common().prompt("and now the words"))
    second = take(people, common().prompt("and now the letters"), machine="laptop")
    told()
    address = f"/api/v1/workspaces/{people.workspace.id}/findings"

    (row,) = browser(people.bob).get(address).json()

    assert (row["kind"], row["session"], row["message"]) == ("conflict", str(second.uid), SAME_ID)
    assert browser(people.charlie).get(address).status_code == 404
    assert browser(None).get(address).status_code == 401


def test_what_is_too_much_for_one_time_is_read_the_next_and_stays_told(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("1" * 36, "2" * 36):
        for machine in ("box", "laptop"):
            log = Log(name).prompt("the same " * 900).prompt(f"and then {machine}")
            take(people, log, machine=machine, path=f"/{name}.jsonl")
    size = Session.objects.latest("id").raw_bytes
    monkeypatch.setattr(conflicts, "MOST_BYTES", size * 3 // 2)

    assert len(told()) == 1
    assert len(told()) == 2
    # A process that has read nothing yet takes none of it back.
    conflicts._compared.clear()
    assert len(told()) == 2
