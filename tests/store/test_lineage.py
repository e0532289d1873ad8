"""Forks and subagents of Codex, pi and Copilot CLI, as their logs name them."""

from collections.abc import Mapping

import orjson
import pytest

from sessions_app.models import Session, Workspace
from sessions_app.models.record import Part
from sessions_app.store import sessions, threads
from sessions_app.store.threads import Evidence, Relation
from tests import build

pytestmark = pytest.mark.django_db
ONE = "019ed893-d2a6-7c30-a8b8-5a8a49cfa23e"
TWO = "019ed936-c4f5-7a21-ad41-d1eed95dc4df"
THREE = "019ed99c-d00d-7613-b2e7-d2f512f78afd"
NAMED = Evidence.EXPLICIT_ID


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def taken(place: Workspace, path: str, *lines: Mapping[str, object]) -> Session:
    data = b"".join([orjson.dumps(line) + b"\n" for line in lines])
    result = build.ingest(place, data, path=path)
    return Session.objects.select_related("key").get(uid=str(result.uid))


def links(session: Session) -> set[tuple[Relation, Evidence, str]]:
    return {(link.relation, link.evidence, str(link.uid)) for link in threads.of(session)}


def rollout(own: str, **more: object) -> dict[str, object]:
    return {"timestamp": "", "type": "session_meta", "payload": {"id": own, **more}}


PROMPT = {"timestamp": "", "type": "event_msg", "payload": {"type": "user_message", "message": "x"}}


def test_a_codex_fork_with_its_parents_header_knows_which_of_both_it_is(place: Workspace) -> None:
    parent = taken(place, "a.jsonl", rollout(ONE, git={"branch": "main"}), PROMPT)
    header = rollout(TWO, forked_from_id=ONE, git={"branch": "fix"})
    fork = taken(place, "b.jsonl", header, rollout(ONE, git={"branch": "main"}), PROMPT)
    sibling = taken(place, "c.jsonl", rollout(THREE, forked_from_id=ONE), PROMPT)

    assert links(fork) == {(Relation.FORKED_FROM, NAMED, str(parent.uid))}
    assert links(sibling) == {(Relation.FORKED_FROM, NAMED, str(parent.uid))}
    assert links(parent) == {
        (Relation.FORK, NAMED, str(fork.uid)),
        (Relation.FORK, NAMED, str(sibling.uid)),
    }
    assert sessions.facts_of(fork).branch == "fix"


def test_a_copied_header_alone_tells_of_the_fork(place: Workspace) -> None:
    parent = taken(place, "a.jsonl", rollout(ONE), PROMPT)
    fork = taken(place, "b.jsonl", rollout(TWO), rollout(ONE, parent_thread_id=THREE), PROMPT)

    assert links(fork) == {(Relation.FORKED_FROM, NAMED, str(parent.uid))}
    assert fork.part == Part.MAIN


def test_a_header_that_a_resume_wrote_again_changes_nothing(place: Workspace) -> None:
    session = taken(place, "a.jsonl", rollout(ONE), PROMPT, rollout(ONE, cli_version="0.142.0"))

    assert links(session) == set()
    assert sessions.facts_of(session).version == "0.142.0"


def test_a_codex_subagent_belongs_to_the_thread_that_started_it(place: Workspace) -> None:
    started = {"type": "collab_agent_spawn_end", "new_thread_id": TWO}
    parent = taken(
        place, "a.jsonl", rollout(ONE), {"timestamp": "", "type": "event_msg", "payload": started}
    )
    source = {"subagent": {"thread_spawn": {"parent_thread_id": ONE}}}
    child = taken(place, "b.jsonl", rollout(TWO, source=source), rollout(ONE), PROMPT)

    assert links(child) == {(Relation.SUBAGENT_OF, NAMED, str(parent.uid))}
    assert links(parent) == {(Relation.SUBAGENT, NAMED, str(child.uid))}
    assert child.part == Part.SUBAGENT


def test_a_pi_fork_finds_its_parent_by_the_name_of_its_file(place: Workspace) -> None:
    head = {"type": "session", "version": 3, "timestamp": "2026-05-12T01:02:27Z", "cwd": "/src"}
    parent = taken(place, "a.jsonl", {**head, "id": ONE})
    fork = taken(
        place, "b.jsonl", {**head, "id": TWO, "parentSession": f"/x/2026-05-12_{ONE}.jsonl"}
    )

    assert links(fork) == {(Relation.FORKED_FROM, NAMED, str(parent.uid))}


def test_a_copy_of_a_copilot_session_is_found_by_its_events(place: Workspace) -> None:
    start = {
        "type": "session.start",
        "id": TWO,
        "timestamp": "2026-06-25T01:50:51Z",
        "parentId": None,
        "data": {"sessionId": ONE},
    }
    first, second = taken(place, "a.jsonl", start), taken(place, "b.jsonl", start)

    assert links(second) == {(Relation.COPY, Evidence.UUID_OVERLAP, str(first.uid))}
