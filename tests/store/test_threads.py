"""How sessions find each other: by ids, by copied records, by the folders their files lie in."""

from typing import Any

import orjson
import pytest

from sessions_app.domain.events import Flag
from sessions_app.models import Event, Session, Workspace
from sessions_app.models.record import Part
from sessions_app.store import calls, reproject, sessions, threads, usage
from sessions_app.store.threads import Evidence, Relation
from tests import build

pytestmark = pytest.mark.django_db
MAIN = "11111111-1111-4111-8111-111111111111"
FOLDER = f"/home/ada/.claude/projects/-tally/{MAIN}"


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def record(uuid: str, parent: str | None, **more: Any) -> bytes:
    usual = {
        "type": "user",
        "sessionId": MAIN,
        "uuid": uuid,
        "parentUuid": parent,
        "cwd": "/home/ada/tally",
        "gitBranch": "main",
        "version": "2.1.62",
        "message": {"role": "user", "content": f"words of {uuid}"},
    }
    return orjson.dumps({**usual, **more})


def taken(place: Workspace, path: str, lines: list[bytes], machine: str = "laptop") -> Session:
    result = build.ingest(place, b"\n".join(lines) + b"\n", path=path, machine=machine, project="")
    return Session.objects.select_related("key").get(uid=str(result.uid))


def links(session: Session) -> set[tuple[Relation, Evidence, str]]:
    return {(link.relation, link.evidence, str(link.uid)) for link in threads.of(session)}


def subagent(place: Workspace, agent: str = "a1") -> Session:
    side = {"isSidechain": True, "agentId": agent}
    path = f"{FOLDER}/subagents/agent-{agent}.jsonl"
    return taken(place, path, [record("s1", None, **side), record("s2", "s1", **side)])


def test_a_subagent_and_its_session_find_each_other_by_id(place: Workspace) -> None:
    main = taken(place, f"{FOLDER}.jsonl", [record("u1", None)])
    child = subagent(place)

    assert links(child) == {(Relation.SUBAGENT_OF, Evidence.EXPLICIT_ID, str(main.uid))}
    assert links(main) == {(Relation.SUBAGENT, Evidence.EXPLICIT_ID, str(child.uid))}
    assert child.part == Part.SUBAGENT
    assert main.part == Part.MAIN
    assert child.prompts == 0


def test_a_session_names_the_subagent_it_started(place: Workspace) -> None:
    started = record("u1", None, sessionId="other", toolUseResult={"agentId": "a9"})
    main = taken(place, "elsewhere.jsonl", [started])
    side = record("s1", None, sessionId="gone", isSidechain=True, agentId="a9")
    child = taken(place, "agent-a9.jsonl", [side])

    assert links(child) == {(Relation.SUBAGENT_OF, Evidence.EXPLICIT_ID, str(main.uid))}


def test_without_ids_the_folder_is_the_evidence(place: Workspace) -> None:
    main = taken(place, f"{FOLDER}.jsonl", [record("u1", None)])
    path = f"{FOLDER}/subagents/agent-a2.jsonl"
    child = taken(place, path, [record("s1", None, sessionId="x", isSidechain=True)])

    assert links(child) == {(Relation.SUBAGENT_OF, Evidence.DIRECTORY, str(main.uid))}


def test_a_fork_is_found_by_the_records_it_copied(place: Workspace) -> None:
    shared = [("u1", None), ("u2", "u1")]
    time = {"timestamp": "2026-03-01T10:00:00Z"}
    origin = taken(place, "a.jsonl", [record(u, p, **time) for u, p in shared])
    later = record("u3", "u2", sessionId="fork", timestamp="2026-03-02T10:00:00Z")
    copied = [record(u, p, sessionId="fork", **time) for u, p in shared]
    fork = taken(place, "b.jsonl", [*copied, later])

    assert links(fork) == {(Relation.FORKED_FROM, Evidence.UUID_OVERLAP, str(origin.uid))}
    assert links(origin) == {(Relation.FORK, Evidence.UUID_OVERLAP, str(fork.uid))}


def test_a_replay_of_a_session_is_a_copy_that_adds_no_prompts(place: Workspace) -> None:
    own = [record("u1", None), record("u20", "u1")]
    main = taken(place, f"{FOLDER}.jsonl", own)
    side = {"isSidechain": True, "agentId": "acompact-1"}
    replayed = [record("u1", None, **side), record("u20", "u1", **side)]
    replay = taken(place, f"{FOLDER}/subagents/agent-acompact-1.jsonl", replayed)

    assert (main.prompts, replay.prompts) == (2, 0)
    assert replay.part == Part.SUBAGENT
    assert links(replay) == {(Relation.COPY, Evidence.UUID_OVERLAP, str(main.uid))}


def test_the_same_session_from_two_machines_stays_two_that_know_of_each_other(
    place: Workspace,
) -> None:
    lines = [record("u1", None)]
    one = taken(place, f"{FOLDER}.jsonl", lines, machine="laptop")
    two = taken(place, f"{FOLDER}.jsonl", lines, machine="desktop")

    assert one.uid != two.uid
    assert links(one) == {(Relation.COPY, Evidence.UUID_OVERLAP, str(two.uid))}


def test_generations_of_one_place_are_no_links(place: Workspace) -> None:
    taken(place, "a.jsonl", [record("u1", None)])
    second = taken(place, "a.jsonl", [record("u1", None, cwd="/elsewhere")])

    assert second.generation == 2
    assert links(second) == set()


def test_sessions_of_another_workspace_are_no_links(place: Workspace) -> None:
    taken(build.workspace(), "a.jsonl", [record("u1", None)])

    assert links(taken(place, "a.jsonl", [record("u1", None)])) == set()


def test_an_output_beside_a_log_is_a_side_file_of_its_session(place: Workspace) -> None:
    main = taken(place, f"{FOLDER}.jsonl", [record("u1", None)])
    description = b'{"agentType": "Explore", "description": "look around"}'
    taken(place, f"{FOLDER}/subagents/agent-a1.meta.json", [description])
    child = subagent(place)

    assert (Relation.SIDE_FILE, Evidence.DIRECTORY) in {link[:2] for link in links(main)}
    assert (Relation.SIDE_FILE, Evidence.DIRECTORY) in {link[:2] for link in links(child)}
    assert {row.uid for row in sessions.listed(place)} == {main.uid, child.uid}


def test_documents_of_one_task_know_of_each_other_and_of_the_facts_beside_them(
    place: Workspace,
) -> None:
    folder = "/home/ada/globalStorage/saoudrizwan.claude-dev/tasks/1789000000123"
    said = {"ts": 1, "type": "say", "say": "task", "text": "fix"}
    sent = {"role": "user", "content": [{"type": "text", "text": "<task>fix</task>"}]}
    panel = taken(place, f"{folder}/ui_messages.json", [orjson.dumps([said])])
    history = taken(place, f"{folder}/api_conversation_history.json", [orjson.dumps([sent])])
    about: dict[str, list[str]] = {"files_in_context": [], "model_usage": []}
    taken(place, f"{folder}/task_metadata.json", [orjson.dumps(about)])
    facts = Session.objects.get(part=Part.SIDE)

    assert links(panel) == {
        (Relation.SAME_ID, Evidence.EXPLICIT_ID, str(history.uid)),
        (Relation.SIDE_FILE, Evidence.DIRECTORY, str(facts.uid)),
    }


def test_titles_directory_branch_and_version_are_told_the_last_title_wins(
    place: Workspace,
) -> None:
    lines = [
        record("u1", None),
        b'{"type":"ai-title","sessionId":"s","aiTitle":"First guess"}',
        b'{"type":"custom-title","sessionId":"s","customTitle":"Tally"}',
        b'{"type":"ai-title","sessionId":"s","aiTitle":"Later guess"}',
        b'{"type":"custom-title","sessionId":"s","customTitle":"Tally of all"}',
        record("u2", "u1", gitBranch="fix", version="2.1.63", cwd="/tmp/other"),
    ]
    told = sessions.shown(taken(place, "a.jsonl", lines), now=build.NOW)

    assert (told.title, told.branch, told.version) == ("Tally of all", "fix", "2.1.63")
    assert (told.cwd, told.project) == ("/home/ada/tally", "tally")


def test_deriving_anew_gives_the_same_links_and_facts(place: Workspace) -> None:
    taken(place, f"{FOLDER}.jsonl", [record("u1", None)])
    child = subagent(place)
    before = links(child), sessions.shown(child, now=build.NOW)

    reproject.session(child.id, now=build.NOW)
    again = Session.objects.select_related("key").get(id=child.id)

    assert (links(again), sessions.shown(again, now=build.NOW)) == before


def block(uuid: str, kind: str, **fields: Any) -> bytes:
    role = "assistant" if kind == "tool_use" else "user"
    return record(uuid, "x", type=role, message={"content": [{"type": kind, **fields}]})


def test_calls_and_results_are_paired_and_what_is_missing_is_told(place: Workspace) -> None:
    lines = [
        block("u1", "tool_use", id="t1", name="Bash", input={}),
        block("u2", "tool_use", id="t2", name="Bash", input={}),
        block("u3", "tool_result", tool_use_id="t1", content="ok", is_error=True),
        block("u4", "tool_result", tool_use_id="t9", content="cut off"),
    ]
    session = taken(place, "a.jsonl", lines)

    found = calls.pairings(session, 0, 10)

    assert {seq: [pair.other for pair in pairs] for seq, pairs in found.items()} == {
        0: [2],
        1: [None],
        2: [0],
        3: [None],
    }
    counts = calls.counts(session)
    assert (counts.calls, counts.results, counts.failed) == (2, 2, 1)
    assert (counts.without_result, counts.without_call) == (1, 1)


# Other agents -------------------------------------------------------------------------------------

OWN = "019e19b4-eb48-746a-aa6b-8dfcfa37954b"


def entries(*texts: str) -> list[bytes]:
    """A session of OpenClaw."""
    stamp = "2026-05-12T01:02:{:02}.000Z".format
    header = {"type": "session", "version": 3, "id": OWN, "timestamp": stamp(0), "cwd": "/x"}
    snapshot = {"type": "custom", "customType": "model-snapshot", "id": "aaaaaaaa", "data": {}}
    said = [
        {
            "type": "message",
            "id": f"{number:08x}",
            "timestamp": stamp(number),
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(texts, start=1)
    ]
    return [orjson.dumps(each) for each in (header, {**snapshot, "timestamp": stamp(0)}, *said)]


def test_a_checkpoint_of_openclaw_is_a_copy(place: Workspace) -> None:
    folder = "/home/ann/.openclaw/agents/main/sessions"
    main = taken(place, f"{folder}/{OWN}.jsonl", entries("one", "two", "three"))
    kept = taken(place, f"{folder}/{OWN}.checkpoint.1.jsonl", entries("one", "two"))

    assert main.format == "openclaw"
    assert links(kept) == {(Relation.COPY, Evidence.UUID_OVERLAP, str(main.uid))}


def opencode_rows(own: str, **more: object) -> list[bytes]:
    row = {"id": own, "directory": "/x", "version": "1.3.17", **more}
    data = {"role": "assistant", "modelID": "m", "time": {"created": 1_760_000_000_123}}
    data["tokens"] = {"input": 10, "output": 5}
    message = {"id": f"msg_{own}", "session_id": own, "data": orjson.dumps(data).decode()}
    lines = ({"table": "session", "row": row}, {"table": "message", "row": message})
    return [orjson.dumps({"store": "opencode", **line}) for line in lines]


def test_a_fork_of_opencode_is_known_by_what_it_copied_and_counted_once(place: Workspace) -> None:
    """It names no parent, and gives its copies ids of their own."""
    first = taken(place, "/o/opencode.db#ses_1", opencode_rows("ses_1"))
    fork = taken(place, "/o/opencode.db#ses_2", opencode_rows("ses_2"))

    assert links(fork) == {(Relation.FORKED_FROM, Evidence.UUID_OVERLAP, str(first.uid))}
    (row,) = usage.of_workspace(place.id)
    assert (row.answers, row.input, row.output) == (1, 10, 5)


@pytest.mark.parametrize(
    "said",
    ["unknown", "Default", "", " none ", "0", "00000000-0000-0000-0000-000000000000", "f" * 32],
)
def test_an_id_that_stands_for_none_ties_nothing(place: Workspace, said: str) -> None:
    one = taken(place, "a.jsonl", [record(f"{1:032x}-a", None, sessionId=said)])
    taken(place, "b.jsonl", [record(f"{2:032x}-b", None, sessionId=said)])

    assert links(one) == set()
    assert sessions.facts_of(one).native == ""


# What is in force ---------------------------------------------------------------------------------


def test_the_first_model_is_no_change_and_the_next_one_is(place: Workspace) -> None:
    def chosen(number: int, model: str) -> bytes:
        stamp = f"2026-05-12T01:03:0{number}.000Z"
        own = f"{number:08x}"
        return orjson.dumps(
            {"type": "model_change", "id": own, "timestamp": stamp, "modelId": model}
        )

    lines = [*entries(), chosen(1, "a"), chosen(2, "a"), chosen(3, "b")]
    session = taken(place, "a.jsonl", lines)

    rows = Event.objects.filter(session_id=session.id).order_by("seq")
    assert [bool(row.flags & Flag.MODEL_CHANGE) for row in rows][2:] == [False, False, True]


def test_a_word_to_the_program_names_a_session_only_if_nothing_else_does(place: Workspace) -> None:
    alone = taken(place, "a.jsonl", entries("/mode"))
    asked = taken(place, "b.jsonl", entries("/mode", "/model", "/usr/bin is empty, why?", "more"))

    assert sessions.facts_of(alone).title == "/mode"
    assert sessions.facts_of(asked).title == "/usr/bin is empty, why?"


def test_a_summary_names_what_was_said_before_it_and_not_what_comes(place: Workspace) -> None:
    def summary(text: str) -> bytes:
        return orjson.dumps({"type": "summary", "summary": text, "leafUuid": "u1"})

    lines = [summary("of another session"), record("u1", None)]
    before = taken(place, "a.jsonl", lines)
    after = taken(place, "b.jsonl", [*lines, summary("First"), summary("Then"), record("u2", "u1")])

    assert sessions.facts_of(before).title == "words of u1"
    assert sessions.facts_of(after).title == "Then"
