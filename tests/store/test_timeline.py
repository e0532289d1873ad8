"""What a timeline asks: every event in one bin and one lane, names from few chunks, ranges."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.domain import axis, timeline
from sessions_app.domain.axis import Mode
from sessions_app.domain.events import Flag, Kind
from sessions_app.domain.timeline import Lane
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import chunks, moments, read
from sessions_app.store import timeline as store
from tests import build

pytestmark = pytest.mark.django_db

NINE = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
TERMS = (11, 22, 33)
Slim = tuple[int, int, int, int]
slim_rows = st.lists(
    st.tuples(
        st.integers(-50, 5_000),
        st.sampled_from([kind.value for kind in Kind]),
        st.integers(0, 1023),
        st.sampled_from([0, *TERMS]),
    ),
    min_size=1,
    max_size=60,
)


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def paths() -> Iterator[str]:
    return (f"{number}.jsonl" for number in count())


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the chunks that are opened, in order."""
    numbers: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, at: chunks.Place, sealed: bytes) -> bytes:
        numbers.append(at.no)
        return real(owner, at, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    return numbers


def with_rows(place: Workspace, rows: list[Slim], path: str) -> Session:
    """A session whose event rows say this, whatever its lines say."""
    session = build.session(place, build.log(1), path)
    Event.objects.filter(session_id=session.id).delete()
    times = [NINE + timedelta(seconds=seconds) for seconds, *_ in rows]
    Event.objects.bulk_create(
        Event(
            session_id=session.id,
            seq=seq,
            chunk=0,
            start=0,
            length=1,
            at=at,
            kind=kind,
            flags=flags,
            tool=tool,
        )
        for seq, (at, (_, kind, flags, tool)) in enumerate(zip(times, rows, strict=True))
    )
    session.events = len(rows)
    session.started_at, session.last_at = min(times), max(times)
    return session


def claude(kind: str, content: object, second: int, **more: object) -> bytes:
    record = {
        "type": kind,
        "sessionId": "s1",
        "uuid": f"u{second}",
        "timestamp": (NINE + timedelta(seconds=second)).isoformat(),
        "message": {"role": kind, "content": content, **more},
    }
    return orjson.dumps(record) + b"\n"


def call(number: int, name: str, second: int, **more: object) -> bytes:
    part = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {"command": "ls"}}
    return claude("assistant", [part], second, **more)


def result(number: int, second: int, *, is_error: bool = False) -> bytes:
    part = {
        "type": "tool_result",
        "tool_use_id": f"c{number}",
        "content": "done",
        "is_error": is_error,
    }
    return claude("user", [part], second)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    rows=slim_rows, bins=st.integers(1, 40), is_subagent=st.booleans(), mode=st.sampled_from(Mode)
)
def test_every_event_is_counted_in_the_bin_and_the_lane_it_belongs_to(
    place: Workspace,
    paths: Iterator[str],
    rows: list[Slim],
    bins: int,
    is_subagent: bool,
    mode: Mode,
) -> None:
    session = with_rows(place, rows, next(paths))
    session.part = int(is_subagent)
    known = moments.outline(session)
    made = known.axis(mode)
    edges = axis.edges(made, axis.whole(made), bins)
    top = TERMS[:2]
    found = store.tallies(known, 0, known.events, tuple(edges), top)

    expected: Counter[tuple[int, int]] = Counter()
    for row in moments.rows(known, 0, known.events):
        lane = timeline.lane_of(row.kind, row.flags, row.tool, top, is_subagent=is_subagent)
        expected[axis.bin_of(edges, row.moment), lane] += 1
    assert {(tally.bin, tally.lane): tally.events for tally in found} == expected
    assert sum(tally.errors for tally in found) == sum(
        bool(flags & Flag.ERROR) for _, _, flags, _ in rows
    )
    assert min(tally.first for tally in found) == 0


def test_a_part_of_a_session_is_counted_as_it_is_in_the_whole(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "ANCHORS", 4)
    rows = [(n * 10, Kind.ASSISTANT.value, 0, 0) for n in range(40)]
    known = moments.outline(with_rows(place, rows, "a"))
    made = known.axis(Mode.WALL)
    shown = axis.window(made, made.first + 105 * axis.SECOND, made.first + 205 * axis.SECOND)
    lo, hi = moments.stretch(known, shown.lo, shown.hi)
    found = store.tallies(known, lo, hi, tuple(axis.edges(made, shown, 10)), ())

    assert (lo, hi) == (11, 21)
    assert [(tally.bin, tally.events, tally.first) for tally in sorted(found)] == [
        (n + 1, 1, 11 + n) for n in range(10)
    ]


def test_the_commonest_tools_come_first_with_their_names(
    place: Workspace, opened: list[int]
) -> None:
    names = ["Bash"] * 5 + ["Read"] * 3 + ["mcp__x<b>\u202e"] * 2 + ["A", "B", "C", "D"]
    lines = [call(n, name, n) for n, name in enumerate(names)]
    session = build.session(place, b"".join(lines))
    opened.clear()
    tools = store.top_tools(moments.outline(session))
    named = store.names_of(session, tools)

    assert [tool.calls for tool in tools] == [5, 3, 2, 1, 1]
    assert [named[tool.term] for tool in tools] == ["Bash", "Read", "mcp__x<b>\u202e", "A", "B"]
    assert len(opened) == 1


def test_a_tool_whose_line_is_too_long_to_read_has_no_name(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = build.session(place, call(1, "Bash", 1) + call(2, "Bash", 2))
    tools = store.top_tools(moments.outline(session))
    real = read.some
    monkeypatch.setattr(read, "some", lambda *given: real(*given, shown=20))

    assert store.names_of(session, tools) == {}


def test_few_events_come_with_the_results_of_their_calls(place: Workspace) -> None:
    data = claude("user", "go", 0) + call(1, "Bash", 2) + result(1, 9, is_error=True)
    session = build.session(place, data)
    known = moments.outline(session)
    near = store.close_up(session, known, 0, 3)

    assert near.results == {1: 2}
    assert [row.moment - near.rows[0].moment for row in near.rows] == [
        0,
        2 * axis.SECOND,
        9 * axis.SECOND,
    ]


def test_the_context_is_the_most_and_the_least_of_a_bin_without_subagents(
    place: Workspace,
) -> None:
    def answer(second: int, tokens: int, **more: object) -> bytes:
        used = {"input_tokens": tokens, "output_tokens": 1}
        line = orjson.loads(
            claude(
                "assistant", [{"type": "text", "text": "x"}], second, id=f"m{second}", usage=used
            )
        )
        return orjson.dumps(line | {"requestId": f"r{second}"} | more) + b"\n"

    data = answer(0, 100) + answer(1, 300) + answer(2, 900, isSidechain=True) + answer(3, 50)
    known = moments.outline(build.session(place, claude("user", "go", 0) + data))

    assert store.contexts(known, 5, (0, 3)) == ((1, 300, 100), (2, 50, 50))
    assert store.context_before(known, 4) == 300
    assert store.context_before(known, 0) == 0


def test_a_range_is_counted_by_kind(place: Workspace) -> None:
    lines = [
        claude("user", "go", 0),
        claude("assistant", [{"type": "text", "text": "I will"}], 1),
        call(1, "Bash", 2),
        result(1, 3, is_error=True),
        b"broken {\n",
        orjson.dumps({"type": "marker", "timestamp": NINE.isoformat()}) + b"\n",
    ]
    known = moments.outline(build.session(place, b"".join(lines)))
    found = store.counts(known, 0, 6)

    assert (found.events, found.prompts, found.answers, found.calls, found.results) == (
        6,
        1,
        1,
        1,
        1,
    )
    assert (found.records, found.unreadable, found.errors, found.subagents) == (1, 1, 1, 0)
    assert store.counts(known, 2, 3).events == 1
    assert store.counts(known, 3, 3).events == 0


def test_the_neighbours_of_an_event_are_of_its_lane(place: Workspace) -> None:
    rows = [(n, Kind.ASSISTANT.value, 0, 11 if n % 3 == 0 else 0) for n in range(10)]
    known = moments.outline(with_rows(place, rows, "a"))
    found = store.neighbours(known, 3, Lane.TOOLS + 1, (11,))

    assert (found.earlier, found.later) == (0, 6)
    assert store.neighbours(known, 0, Lane.TOOLS + 1, (11,)).earlier is None
    assert store.neighbours(known, 9, Lane.TOOLS + 1, (11,)).later is None


def test_sessions_of_subagents_come_with_their_times(place: Workspace) -> None:
    main = build.session(place, claude("user", "go", 0) + call(1, "Task", 5), "p/s1.jsonl")
    line = orjson.loads(claude("user", "look around", 6))
    line |= {"isSidechain": True, "agentId": "a1"}
    data = orjson.dumps(line) + b"\n" + orjson.dumps(line | {"timestamp": NINE.isoformat()}) + b"\n"
    build.ingest(place, data, "p/s1/subagents/agent-a1.jsonl")
    build.ingest(place, b"a long result\n", "p/s1/tool-results/r1.txt")
    (found,) = store.subagents(main)

    assert found.start == axis.moment_of(NINE)
    assert found.end == axis.moment_of(NINE + timedelta(seconds=6))
    assert found.events == 2
    assert store.subagents(Session.objects.select_related("key").get(uid=found.uid)) == []


def test_a_model_change_is_named_by_the_next_answer(place: Workspace) -> None:
    def answer(second: int, model: str) -> bytes:
        used = {"input_tokens": 5, "output_tokens": 1}
        said = [{"type": "text", "text": "x"}]
        return claude("assistant", said, second, id=f"m{second}", model=model, usage=used)

    data = answer(0, "claude-opus-4-5") + answer(1, "claude-sonnet-4-5")
    known = moments.outline(build.session(place, data))

    assert store.models_at(known, [0, 1]) == {0: "claude-opus-4-5", 1: "claude-sonnet-4-5"}
    assert store.models_at(known, []) == {}
