"""Events of a kind are found from their rows, and a section of them opens few chunks."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from sessions_app.domain.events import Flag
from sessions_app.domain.sorts import EVERYTHING, Sort, Sought, sought
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import chunks, read, sift, threads, turns
from tests import build, claude
from tests.claude import Log

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def of(*names: str, tool: str = "") -> Sought:
    return sought(names, tool)


def mixed(place: Workspace) -> Session:
    log = Log().record().prompt("go").think("hm").answer("I look")
    log.bash("ls", "a").call("Read", {"file_path": "/f"}).result("no", is_error=True).compaction()
    return build.session(place, log.answer("done").data + b"broken\n")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (of("prompts"), [1]),
        (of("answers"), [3, 10]),
        (of("tools"), [4, 5, 6, 7]),
        (of("errors"), [7]),
        (of("thinking"), [2]),
        (of("system"), [0, 8, 9, 11]),
        (of("prompts", "errors"), [1, 7]),
        (of(tool="Bash"), [4]),
        (of(tool="bash"), [4]),
        (of("errors", tool="Read"), [6]),
        (of("errors", tool="Bash"), []),
        (of("prompts", tool="Read"), [1, 6]),
        (of(tool="never called"), []),
        (EVERYTHING, list(range(12))),
    ],
)
def test_kinds_are_told_apart_by_the_rows(
    place: Workspace, wanted: Sought, expected: list[int]
) -> None:
    assert list(sift.section(mixed(place), wanted, 0).seqs) == expected


def test_a_prompt_that_is_repeated_is_no_work_of_a_tool(place: Workspace) -> None:
    session = mixed(place)
    Event.objects.filter(session_id=session.id, seq=1).update(flags=Flag.ECHO)

    assert list(sift.section(session, of("tools"), 0).seqs) == [4, 5, 6, 7]
    assert list(sift.section(session, of("system"), 0).seqs) == [0, 1, 8, 9, 11]


def test_counts_and_tools(place: Workspace) -> None:
    session = mixed(place)
    assert sift.counts(session) == {
        Sort.PROMPTS: 1,
        Sort.ANSWERS: 2,
        Sort.TOOLS: 4,
        Sort.ERRORS: 1,
        Sort.THINKING: 1,
        Sort.SYSTEM: 4,
    }
    assert [(tool.name, tool.calls) for tool in sift.tools(session, sift.tool_calls(session))] == [
        ("Bash", 1),
        ("Read", 1),
    ]


def test_a_section_knows_its_neighbours_and_the_index_agrees_with_it(place: Workspace) -> None:
    session = build.session(place, build.log(240))
    index = sift.index(session, of("prompts"))
    assert index == [(0, 24), (48, 24), (96, 24), (144, 24), (192, 24)]
    found = sift.section(session, of("prompts"), 101)
    assert (found.seqs[0], found.seqs[-1]) == (96, 142)
    assert (found.before, found.after) == (94, 144)
    assert sift.section(session, of("prompts"), 9_999).seqs[0] == 192
    assert sift.section(session, of("errors"), 0) == sift.Stretch()
    assert sift.between(session, of("prompts"), 10, 20) == [10, 12, 14, 16, 18]
    assert len(sift.between(session, of("prompts"), 0)) == 24


def test_the_next_and_the_previous_of_a_kind(place: Workspace) -> None:
    session = mixed(place)
    assert sift.step(session, of("errors"), 0) == 7
    assert sift.step(session, of("errors"), 7) is None
    assert sift.step(session, of("prompts"), 7, is_back=True) == 1
    assert sift.step(session, of("prompts"), 1, is_back=True) is None


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    numbers: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, place: chunks.Place, sealed: bytes) -> bytes:
        numbers.append(place.no)
        return real(owner, place, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    return numbers


def test_events_far_apart_are_shown_from_few_chunks(
    place: Workspace, opened: list[int], django_assert_max_num_queries: Queries
) -> None:
    session = build.session(place, build.log(100_000))
    rare = range(0, 100_000, 500)
    Event.objects.filter(session_id=session.id).update(flags=0)
    Event.objects.filter(session_id=session.id, seq__in=rare).update(flags=Flag.ERROR.value)
    with django_assert_max_num_queries(8):
        found = sift.section(session, of("errors"), 0)
    assert opened == []
    assert len(read.some(session, found.seqs)) == len(found.seqs)
    assert len(opened) <= sift.CHUNKS
    starts = [lo for lo, _ in sift.index(session, of("errors"))]
    assert sum(number for _, number in sift.index(session, of("errors"))) == len(rare)
    for start in starts:
        shown = sift.section(session, of("errors"), start).seqs
        assert shown[0] == start


def test_lines_that_span_chunks_are_found_in_their_own(place: Workspace) -> None:
    long = build.line("user", "x" * 3_000_000)
    session = build.session(place, build.log(2_000) + long + build.log(2_000))
    total = [n for start, n in sift.index(session, of("prompts"))]
    assert sum(total) == 2_001
    assert 2_000 in sift.section(session, of("prompts"), 2_000).seqs


# Turns -------------------------------------------------------------------------------------------


def test_prompts_are_numbered_and_a_window_knows_what_is_around_it(place: Workspace) -> None:
    session = build.session(place, claude.work(5).data)
    assert [(p.seq, p.number) for p in sift.prompts(session, at=9, size=2)] == [(16, 3), (24, 4)]
    assert sift.prompts_before(session, at=24, size=2) == 8
    around = sift.surroundings(session, 10, 20)
    assert (around.prompts_before, around.next_prompt) == (2, 24)
    assert around.latest is not None
    last = sift.surroundings(session, 33, 40)
    assert (last.prompts_before, last.next_prompt) == (5, None)


def test_turns_are_summed_and_an_answer_counts_once(
    place: Workspace, django_assert_max_num_queries: Queries
) -> None:
    log = Log().prompt("one").bash("ls", "a").answer("done", output=30)
    log.lines.append(log.lines[-1].replace(b'"uuid":"u3"', b'"uuid":"u3b"'))
    log.prompt("two").bash("ls", "no", is_error=True)
    session = build.session(place, log.data)
    with django_assert_max_num_queries(1):
        found = turns.sums(session, {0: 5, 5: 8})
    assert (found[0].events, found[0].calls, found[0].failed) == (5, 1, 0)
    assert (found[0].output, found[0].tokens) == (37, 257)
    assert found[0].took is not None
    assert found[0].took.total_seconds() == 3
    assert found[0].cost
    assert (found[5].calls, found[5].failed, found[5].output) == (1, 1, 7)
    assert turns.sums(session, {}) == {}


def test_a_line_leads_to_the_session_it_started(place: Workspace) -> None:
    main = Log().prompt("go").call("Task", {"prompt": "look"})
    main.result("found", toolUseResult={"agentId": "a1"})
    session = build.session(place, main.data, path="/p/main.jsonl")
    side = Log().prompt("look", isSidechain=True, agentId="a1")
    child = build.session(place, side.data, path="/p/main/subagents/agent-a1.jsonl")
    found = threads.started(session, {"agent:a1", "agent:a2"})
    assert {name: each.uid for name, each in found.items()} == {"agent:a1": child.uid}
    assert threads.started(session, set()) == {}
