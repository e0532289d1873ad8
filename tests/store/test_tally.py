"""Sums by day: never behind the rows they are made of, each answer of a provider once."""

import re
import threading
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app import tasks
from sessions_app.models import Session, ToolDay, Untallied, Usage, UsageDay, Workspace
from sessions_app.store import calls, census, erase, reproject, tally, totals, turns, usage
from tests import build
from tests.formats import folding
from tests.store.test_usage import answer, taken

pytestmark = pytest.mark.django_db

Sum = tuple[int, date, str]
COUNTERS = ("input", "output", "cache_read", "cache_write", "reasoning", "cost", "reported")


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def expected(place: Workspace) -> dict[Sum, tuple[Any, ...]]:
    """The same sums made one row at a time, without any of the statements under test."""
    answers: dict[int, list[Usage]] = defaultdict(list)
    sessions = Session.objects.filter(workspace=place).in_bulk()
    for row in Usage.objects.filter(session_id__in=list(sessions)):
        answers[row.key].append(row)
    sums: dict[Sum, list[dict[str, Any]]] = defaultdict(list)
    for rows in answers.values():
        owner, model = min(row.session_id for row in rows), max(row.model for row in rows)
        at = min((row.at for row in rows if row.at), default=sessions[owner].sort_at)
        sums[owner, at.astimezone(UTC).date(), model].append(
            {name: _largest(rows, name) for name in COUNTERS}
        )
    return {
        key: (len(told), *(_added(told, name) for name in COUNTERS)) for key, told in sums.items()
    }


def _largest(rows: list[Usage], name: str) -> int | None:
    return max((value for row in rows if (value := getattr(row, name)) is not None), default=None)


def _added(told: list[dict[str, Any]], name: str) -> int | None:
    known = [each[name] for each in told if each[name] is not None]
    return sum(known) if known else None


def counted(place: Workspace) -> dict[Sum, tuple[Any, ...]]:
    assert tally.refresh(place.id, seconds=60) == 0
    assert not Untallied.objects.filter(workspace=place).exists()
    rows = list(UsageDay.objects.filter(workspace=place))
    found = {
        (row.session_id, row.day, row.model): (
            row.answers,
            *(None if (value := getattr(row, name)) is None else int(value) for name in COUNTERS),
        )
        for row in rows
    }
    assert len(found) == len(rows)
    return found


# One row at a time, in every order ------------------------------------------------------------

DAY = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"),
            st.integers(0, 3),
            st.lists(
                st.tuples(
                    st.integers(1, 6),
                    st.sampled_from([None, 0, 1, 2]),
                    st.integers(0, 9),
                    st.sampled_from(["", "a", "b"]),
                    st.sampled_from([None, 5, 2**62]),
                ),
                max_size=4,
            ),
        ),
        st.tuples(st.just("cut"), st.integers(0, 3), st.integers(0, 6)),
        st.tuples(st.just("erase"), st.integers(0, 3), st.none()),
        st.tuples(st.just("ask"), st.none(), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_after_any_history_the_sums_are_those_of_the_rows(steps: list[Any]) -> None:
    place = build.workspace()
    sessions: dict[int, int] = {}
    for verb, number, more in steps:
        if verb == "ask":
            assert counted(place) == expected(place)
        elif verb == "write":
            _write(place, sessions.setdefault(number, _session(place, number)), more)
        elif number in sessions and verb == "cut":
            tally.drop_usage(_change(place, sessions[number], more))
        elif number in sessions:
            erase._session(sessions.pop(number))
    assert counted(place) == expected(place)


def _session(place: Workspace, number: int) -> int:
    return build.session(place, build.log(number + 1), path=f"{number}-{place.id}.jsonl").id


def _change(place: Workspace, session_id: int, since: int) -> tally.Change:
    return tally.Change(workspace_id=place.id, session_id=session_id, since=since)


def _write(place: Workspace, session_id: int, rows: list[Any]) -> None:
    last = Usage.objects.filter(session_id=session_id).order_by("-seq").first()
    since = last.seq + 1 if last else 0
    Usage.objects.bulk_create(
        Usage(
            session_id=session_id,
            seq=since + number,
            no=0,
            # Keys belong to a workspace: they are hashed with its own key.
            key=place.id.int % 2**60 + key,
            at=None if minutes is None else DAY + timedelta(minutes=minutes),
            model=model,
            input=size,
            output=2**53 if size == 9 else 1,
            cache_read=0,
            cache_write=size,
            cache_write_1h=0,
            reasoning=0,
            cost=cost,
            reported=None,
            priced_on=None if cost is None else date(2026, 11, 9),
        )
        for number, (key, minutes, size, model, cost) in enumerate(rows)
    )
    tally.note([_change(place, session_id, since)])


# Every way rows come and go -------------------------------------------------------------------


def test_a_copied_answer_is_in_the_sum_of_the_session_that_came_first(place: Workspace) -> None:
    first = taken(place, [answer("m1", 5)])
    assert counted(place) == expected(place)
    taken(place, [answer("m1", 7), answer("m2", 1)], path="b.jsonl")

    sums = counted(place)

    assert sums == expected(place)
    assert sums[first.id, date(2026, 3, 1), "claude-opus-4-5-20251101"][:3] == (1, 10, 7)


def test_a_session_that_grows_is_counted_anew(place: Workspace) -> None:
    lines = [answer("m1", 5), answer("m2", 6)]
    taken(place, lines)
    counted(place)
    taken(place, [*lines, answer("m2", 60), answer("m3", 1)])

    assert counted(place) == expected(place)


def test_a_last_line_without_an_end_is_counted_once_when_it_is_whole(place: Workspace) -> None:
    whole = answer("m1", 5) + b"\n" + answer("m2", 6)
    build.ingest(place, whole, path="a.jsonl")
    assert counted(place) == expected(place)
    build.ingest(place, whole + b"\n" + answer("m3", 7) + b"\n", path="a.jsonl")

    sums = counted(place)

    assert sums == expected(place)
    assert sum(each[0] for each in sums.values()) == 3


def test_an_answer_of_an_erased_session_counts_in_the_copy_that_is_left(place: Workspace) -> None:
    first = taken(place, [answer("m1", 9), answer("m2", 1)])
    second = taken(place, [answer("m1", 5)], path="b.jsonl")
    counted(place)

    erase._session(first.id)

    assert not UsageDay.objects.filter(session_id=first.id).exists()
    (key,) = counted(place)
    assert key[0] == second.id
    assert counted(place) == expected(place)


def test_deriving_anew_leaves_the_same_sums(place: Workspace) -> None:
    session = taken(place, [answer("m1", 8), answer("m1", 349), answer("m2", 1)])
    taken(place, [answer("m1", 8)], path="b.jsonl")
    before = counted(place)

    reproject.session(session.id, now=build.NOW)

    assert Untallied.objects.filter(workspace=place).exists()
    assert counted(place) == before == expected(place)


def test_another_workspace_with_the_same_log_has_sums_of_its_own(place: Workspace) -> None:
    other = build.workspace("other")
    for each in (place, other):
        taken(each, [answer("m1", 5)])
    assert counted(place) == expected(place)
    assert counted(other) == expected(other)
    assert len(counted(other)) == len(counted(place)) == 1


@pytest.mark.skipif(not build.SHARED.is_dir(), reason="the shared logs are not here")
@pytest.mark.parametrize("folder", ["claude-code", "codex", "pi"])
def test_sums_of_real_logs_are_those_of_their_rows(place: Workspace, folder: str) -> None:
    for number, path in enumerate(sorted(folding.files(folder), key=_size)[:60]):
        build.ingest_file(place, path)
        if number % 7 == 0:
            tally.refresh(place.id)

    assert counted(place) == expected(place)
    told = usage.of_workspace(place.id)
    assert sum(each[0] for each in counted(place).values()) == sum(row.answers for row in told)


def _size(path: Path) -> int:
    return path.stat().st_size


# Work -----------------------------------------------------------------------------------------


def test_asking_again_does_nothing_when_nothing_changed(place: Workspace) -> None:
    taken(place, [answer("m1", 5)])
    tally.refresh(place.id)

    with CaptureQueriesContext(
        connection,
    ) as asked:
        tally.refresh(place.id)

    assert len(asked) == 1


def test_one_that_changed_leaves_the_sums_of_the_others_alone(place: Workspace) -> None:
    for name in "abc":
        taken(place, [answer(name, 1)], path=f"{name}.jsonl")
    counted(place)
    before = {row.session_id: row.id for row in UsageDay.objects.filter(workspace=place)}
    changed = taken(place, [answer("b", 1), answer("d", 1)], path="b.jsonl")
    counted(place)

    after = {row.session_id: row.id for row in UsageDay.objects.filter(workspace=place)}

    assert {key for key in after if after[key] != before.get(key)} == {changed.id}


def test_without_time_the_rest_waits_and_is_told(place: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr(tally, "BATCH", 1)
    for name in "abc":
        taken(place, [answer(name, 1)], path=f"{name}.jsonl")

    assert tally.refresh(place.id, seconds=0) == 3
    assert tally.behind() == [place.id]
    assert tally.refresh(place.id) == 0
    assert tally.behind() == []


def test_beat_counts_what_was_written_before_somebody_asks(place: Workspace) -> None:
    taken(place, [answer("m1", 5)])

    tasks.sweep_tallies()

    assert tally.behind() == []
    assert UsageDay.objects.filter(workspace=place).exists()


# Of usage rows: through the ORM or in SQL. To read them anybody may.
WRITES = re.compile(
    r"\bUsage\.objects(?:(?!\n\n).){0,300}?\.(?:delete|update|create|bulk_create)\("
    r"|(?:DELETE FROM|UPDATE|INSERT INTO|COPY) sessions_app_usage\b",
    re.DOTALL,
)


# Calls ----------------------------------------------------------------------------------------


def call(name: str, own: str, at: str) -> bytes:
    block = {"type": "tool_use", "id": own, "name": name, "input": {}}
    return _said("assistant", block, at)


def result(own: str, at: str, *, failed: bool = False) -> bytes:
    return _said("user", {"type": "tool_result", "tool_use_id": own, "is_error": failed}, at)


def _said(role: str, block: object, at: str) -> bytes:
    message = {"role": role, "content": [block]}
    more = {"type": role, "sessionId": "s1", "uuid": f"{role}{at}", "timestamp": at}
    return orjson.dumps({**more, "message": message})


def test_calls_are_counted_with_what_became_of_them(place: Workspace) -> None:
    at = "2026-03-01T10:00:0{}Z".format
    session = taken(
        place,
        [
            call("Bash", "c1", at(0)),
            result("c1", at(2)),
            call("Bash", "c2", at(3)),
            result("c2", at(8), failed=True),
            call("bash", "c3", at(9)),
            call("Read", "c4", at(9)),
            result("c4", at(0)),
            result("never-asked", at(1)),
        ],
    )
    tally.refresh(place.id)

    rows = ToolDay.objects.filter(session_id=session.id).order_by("-calls")
    told = [(row.calls, row.answered, row.failed, row.untold, row.lengths) for row in rows]

    assert told == [(3, 2, 1, 0, [2000, 5000]), (1, 1, 0, 0, [])]
    assert {row.day for row in rows} == {date(2026, 3, 1)}


def test_a_call_without_an_id_is_counted_and_its_result_is_unknown(place: Workspace) -> None:
    lines = [
        build.line("user", "go"),
        build.line("assistant", "", function_call={"name": "look", "arguments": "{}"}),
        build.line("function", "seen", name="look"),
    ]
    session = build.session(place, b"".join(lines))
    tally.refresh(place.id)

    (row,) = ToolDay.objects.filter(session_id=session.id)

    assert (row.calls, row.answered, row.untold, row.lengths) == (1, 0, 1, [])
    assert totals.of([session.id])[session.id].calls == 1
    assert calls.counts(session) == calls.CallCounts(
        calls=1, results=0, failed=0, without_result=0, without_call=0, without_id=1
    )
    assert calls.pairings(session, 0, 3) == {}
    assert turns.sums(session, {0: 3})[0].calls == 1
    assert row.day == session.sort_at.date()


def test_calls_of_a_session_that_grows_are_counted_anew(place: Workspace) -> None:
    at = "2026-03-01T10:00:0{}Z".format
    lines = [call("Bash", "c1", at(0))]
    taken(place, lines)
    tally.refresh(place.id)
    taken(place, [*lines, result("c1", at(4))])
    tally.refresh(place.id)

    (row,) = ToolDay.objects.filter(workspace=place)

    assert (row.calls, row.answered, row.lengths) == (1, 1, [4000])


# Copied lines --------------------------------------------------------------------------------

AT = "2026-03-01T10:00:0{}Z".format
DRAWN = "toolu_01A9xYfQ2bK7mVnRs8TpLw3Z"
CALLED = [answer("m1", 5), call("Bash", DRAWN, AT(0)), result(DRAWN, AT(2), failed=True)]


def test_a_call_that_several_sessions_tell_of_counts_in_the_first(place: Workspace) -> None:
    first = taken(place, CALLED)
    tally.refresh(place.id)
    more = [answer("m2", 1), call("Bash", f"{DRAWN}2", AT(5)), result(f"{DRAWN}2", AT(6))]
    fork = taken(place, [*CALLED, *more], path="b.jsonl")

    assert called(place) == {first.id: (1, 1, 1, [2000]), fork.id: (1, 1, 0, [1000])}
    assert totals.of([fork.id])[fork.id].calls == 2


def test_a_copy_that_knows_the_result_answers_the_call(place: Workspace) -> None:
    first = taken(place, CALLED[:2])
    tally.refresh(place.id)
    taken(place, CALLED, path="b.jsonl")

    assert called(place) == {first.id: (1, 1, 1, [])}


def test_the_calls_of_an_erased_session_count_in_its_copy(place: Workspace) -> None:
    first = taken(place, CALLED)
    copy = taken(place, CALLED, path="b.jsonl")
    assert set(called(place)) == {first.id}

    erase._session(first.id)

    assert called(place) == {copy.id: (1, 1, 1, [2000])}


def test_copies_without_usage_are_known_by_the_id_of_their_session(place: Workspace) -> None:
    first = taken(place, CALLED[1:])
    copy = taken(place, CALLED[1:], path="b.jsonl")
    assert set(called(place)) == {first.id}

    erase._session(first.id)

    assert set(called(place)) == {copy.id}


def test_ids_that_every_session_counts_anew_are_no_copies(place: Workspace) -> None:
    numbered = [answer("m1", 5), call("Bash", "functions.Bash:0", AT(0))]
    one, other = taken(place, numbered), taken(place, numbered, path="b.jsonl")

    assert set(called(place)) == {one.id, other.id}


def called(place: Workspace) -> dict[int, tuple[Any, ...]]:
    assert tally.refresh(place.id, seconds=60) == 0
    rows = ToolDay.objects.filter(workspace=place)
    return {row.session_id: (row.calls, row.answered, row.failed, row.lengths) for row in rows}


def test_prompts_and_errors_that_a_copy_tells_again_are_not_counted_again(
    place: Workspace,
) -> None:
    asked = _said("user", {"type": "text", "text": "go"}, AT(0))
    taken(place, [asked, *CALLED])
    (alone,) = census.agents(place.id).groups
    taken(place, [asked, *CALLED, _said("user", {"type": "text", "text": "on"}, AT(7))], "b.jsonl")

    (both,) = census.agents(place.id).groups

    assert (alone.prompts, alone.errors) == (1, 1)
    assert (both.sessions, both.prompts) == (2, 2)


def panel(*said: tuple[str, str]) -> bytes:
    """A task of Cline: a document that is written anew with every change."""
    task = {"ts": 1, "type": "say", "say": "task", "text": "go"}
    more = [
        {"ts": number, "type": "say", "say": kind, "text": text}
        for number, (kind, text) in enumerate(said, start=2)
    ]
    return orjson.dumps([task, *more])


def test_of_a_document_that_is_written_anew_the_last_generation_counts(place: Workspace) -> None:
    said = [("command", "ls"), ("error", "no"), ("command", "pwd")]
    build.ingest(place, panel(*said[:2]), path="/t/tasks/1/ui_messages.json")
    tally.refresh(place.id)
    build.ingest(place, panel(*said), path="/t/tasks/1/ui_messages.json")

    (group,) = census.agents(place.id).groups
    rows = ToolDay.objects.filter(workspace=place)

    assert [(row.calls, row.untold) for row in rows] == [(2, 2)]
    assert (group.prompts, group.errors) == (1, 1)


def test_only_the_tally_writes_and_drops_usage_rows() -> None:
    """Who changes them elsewhere would forget to say so."""
    root = Path(tally.__file__).parents[1]
    for path in root.rglob("*.py"):
        if path.name in {"tally.py", "write.py"} or "migrations" in path.parts:
            continue
        text = path.read_text()
        assert not WRITES.search(text), path


@pytest.mark.django_db(transaction=True)
def test_counting_while_sessions_are_written_misses_nothing() -> None:
    place = build.workspace()
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            tally.refresh(place.id)
        connection.close()

    counter = threading.Thread(target=count)
    counter.start()
    try:
        for number in range(12):
            lines = [answer(f"m{n}", n + number) for n in range(number, number + 4)]
            taken(place, lines, path=f"{number % 5}.jsonl")
    finally:
        ended.set()
        counter.join()
    assert counted(place) == expected(place)
