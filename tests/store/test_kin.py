"""The whole thread around a session: walked to its ends, bounded, and never into a stranger's."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import orjson
import pytest

from sessions_app.models import Session, Workspace
from sessions_app.store import forks, kin
from sessions_app.store.forks import Parting
from sessions_app.store.kin import Thread
from tests import build

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def record(own: str, uuid: str, parent: str | None, **more: Any) -> bytes:
    usual = {
        "type": "user",
        "sessionId": own,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-03-01T10:00:00Z",
        "message": {"role": "user", "content": f"words of {uuid}"},
    }
    return orjson.dumps({**usual, **more})


def taken(place: Workspace, name: str, lines: list[bytes]) -> Session:
    data = b"\n".join(lines) + b"\n"
    result = build.ingest(place, data, path=f"/logs/{name}.jsonl", machine="laptop", project="")
    return Session.objects.select_related("key").get(uid=str(result.uid))


def header(own: str, parent: str = "") -> bytes:
    more = {"parentSession": f"x_{parent}.jsonl"} if parent else {}
    return orjson.dumps(
        {"type": "session", "id": own, "timestamp": "2026-03-01T10:00:00Z", "cwd": "/w", **more}
    )


def name(number: int) -> str:
    return f"{number:08d}-1111-4111-8111-111111111111"


def forked(place: Workspace, number: int, parent: int | None) -> Session:
    """A session of an agent that says from which file it was made."""
    told = header(name(number), name(parent) if parent is not None else "")
    return taken(place, f"pi-{number}", [told])


def thread_of(session: Session) -> Thread:
    return kin.around(session, now=build.NOW)


def tree(thread: Thread) -> list[tuple[int, str, str]]:
    """Depth, id and what it is to its parent."""
    return [
        (place.depth, str(thread.members[place.member].uid), place.bond.kind if place.bond else "")
        for place in thread.places
    ]


def test_a_thread_is_the_same_from_each_of_its_sessions(place: Workspace) -> None:
    root, child = forked(place, 1, None), forked(place, 2, 1)
    grandchild, other = forked(place, 3, 2), forked(place, 4, 1)

    found = tree(thread_of(grandchild))

    assert found == [
        (0, str(root.uid), ""),
        (1, str(child.uid), "fork"),
        (2, str(grandchild.uid), "fork"),
        (1, str(other.uid), "fork"),
    ]
    assert tree(thread_of(root)) == tree(thread_of(other)) == found


def test_a_session_alone_is_a_thread_of_one(place: Workspace) -> None:
    thread = thread_of(forked(place, 1, None))

    assert len(thread.places) == 1
    assert not thread.is_cut


def test_sessions_that_name_each_other_as_their_origin_are_drawn_once(place: Workspace) -> None:
    forked(place, 1, 3)
    forked(place, 2, 1)
    last = forked(place, 3, 2)

    thread = thread_of(last)

    assert len(thread.places) == 3
    assert sum(len(each.beside) for each in thread.places) == 1


def test_subagents_and_side_files_hang_below_their_session(place: Workspace) -> None:
    main = taken(place, "main", [record("main", "u1", None)])
    side = {"isSidechain": True, "agentId": "a1"}
    agent = taken(place, "main/subagents/agent-a1", [record("main", "s1", None, **side)])
    data = b'{"agentType": "Explore", "description": "look"}'
    build.ingest(place, data, path="/logs/main/subagents/agent-a1.meta.json", machine="laptop")
    note = Session.objects.get(part=2)

    assert tree(thread_of(main)) == [
        (0, str(main.uid), ""),
        (1, str(agent.uid), "subagent"),
        (2, str(note.uid), "side file"),
    ]


def test_growing_copies_follow_each_other(place: Workspace) -> None:
    lines = [record("s", f"u{n}0", f"u{n - 1}0" if n else None) for n in range(9)]
    copies = [taken(place, f"copy-{n}", lines[:n]) for n in (3, 6, 9)]

    found = tree(thread_of(copies[0]))

    assert [uid for _, uid, _ in found] == [str(copy.uid) for copy in copies]
    assert [depth for depth, _, _ in found] == [0, 1, 2]


def test_a_replay_hangs_below_the_session_it_repeats(place: Workspace) -> None:
    lines = [("u0", None), ("u10", "u0"), ("u20", "u10")]
    late = {"timestamp": "2026-03-01T11:00:00Z"}
    main = taken(
        place, "main", [*(record("s", u, p) for u, p in lines), record("s", "x", "u20", **late)]
    )
    side = {"isSidechain": True, "agentId": "acompact-1"}
    repeated = [record("s", u, p, **side) for u, p in lines]
    replay = taken(
        place, "main/subagents/agent-acompact-1", [*repeated, record("s", "y", "u20", **side)]
    )

    assert tree(thread_of(replay)) == [(0, str(main.uid), ""), (1, str(replay.uid), "copy")]
    assert forks.parting(main, replay).shared == len(lines)


def test_generations_of_one_place_are_no_thread(place: Workspace) -> None:
    taken(place, "a", [record("s", "u1", None)])
    second = taken(place, "a", [record("s", "u1", None, cwd="/elsewhere")])

    assert len(thread_of(second).places) == 1


def test_a_thread_stays_in_its_workspace(place: Workspace) -> None:
    elsewhere = build.workspace()
    forked(elsewhere, 1, None)
    mine = forked(place, 2, 1)

    assert len(thread_of(mine).places) == 1


def test_a_long_thread_is_cut_and_says_so(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kin, "MOST_SESSIONS", 5)
    root = forked(place, 1, None)
    for number in range(2, 12):
        forked(place, number, 1)

    thread = thread_of(root)

    assert len(thread.places) == 5
    assert thread.is_cut


def test_a_level_costs_few_queries_however_many_sessions_it_has(
    place: Workspace, django_assert_max_num_queries: Queries
) -> None:
    root = forked(place, 1, None)
    for number in range(2, 12):
        forked(place, number, 1)
    thread_of(root)

    # The source of the first; per level links, sessions and sources, twice; tokens.
    with django_assert_max_num_queries(8):
        assert len(thread_of(root).places) == 11


def test_a_member_says_what_the_tree_shows(place: Workspace) -> None:
    usage = {"input_tokens": 100, "output_tokens": 20}
    answer = {"id": "m1", "model": "claude-opus-4", "content": [], "usage": usage}
    lines = [record("s", "u1", None), record("s", "u2", "u1", type="assistant", message=answer)]
    session = taken(place, "one", lines)

    (member,) = thread_of(session).members.values()

    assert (member.title, member.agent, member.machine) == ("words of u1", "claude-code", "laptop")
    assert (member.prompts, member.events, member.tokens) == (1, 2, 120)


# Where copies part --------------------------------------------------------------------------------


def messages(own: str, count: int, prefix: str = "u") -> list[bytes]:
    return [record(own, f"{prefix}{n}", None) for n in range(count)]


def test_a_fork_parts_where_its_own_messages_begin(place: Workspace) -> None:
    mark = orjson.dumps({"type": "summary", "summary": "x", "leafUuid": "y"})
    origin = taken(place, "origin", [*messages("a", 3), mark, *messages("a", 9)[3:]])
    copied = [line.replace(b'"sessionId":"a"', b'"sessionId":"b"') for line in messages("a", 5)]
    fork = taken(place, "fork", [*copied, record("b", "own", None)])

    assert forks.parting(fork, origin) == Parting(shared=5, mine=5, theirs=6)
    assert forks.parting(origin, fork) == Parting(shared=5, mine=6, theirs=5)


def test_a_copy_that_adds_nothing_says_so(place: Workspace) -> None:
    one, two = taken(place, "one", messages("a", 3)), taken(place, "two", messages("a", 5))

    assert forks.parting(one, two) == Parting(shared=3, mine=None, theirs=3)


def test_two_that_begin_otherwise_share_nothing(place: Workspace) -> None:
    one, two = taken(place, "one", messages("a", 3)), taken(place, "two", messages("b", 3, "v"))

    assert forks.parting(one, two).shared == 0


def test_comparing_ends_when_time_is_up(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "SECONDS", -1)
    one, two = taken(place, "one", messages("a", 3)), taken(place, "two", messages("a", 3))

    assert forks.parting(one, two) == Parting(shared=1, mine=1, theirs=1, is_cut=True)


# Inside one log -----------------------------------------------------------------------------------


def test_going_back_inside_a_log_is_found_with_its_first_words(place: Workspace) -> None:
    lines = [
        record("s", "a", None),
        record("s", "b", "a", type="assistant", message={"content": "answer"}),
        record("s", "c", "b"),
        orjson.dumps({"type": "mode", "sessionId": "s"}),
        record("s", "d", "b"),
    ]
    session = taken(place, "rewound", lines)

    found = forks.inside(session)

    assert [(fork.seq, [b.first for b in fork.branches]) for fork in found.forks] == [(1, [2, 4])]
    assert found.titles == {2: "words of c", 4: "words of d"}


def test_a_format_without_a_tree_and_a_log_too_large_are_told_apart(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not forks.inside(build.session(place)).is_tree
    monkeypatch.setattr(forks, "LARGEST_TREE", 10)
    assert forks.inside(taken(place, "large", [record("s", "a", None)])).is_too_large
