"""When events happened: the database says the same as the definition, whatever clocks claim."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.domain import axis
from sessions_app.domain.axis import HOUR, Mode, Unit
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import moments, reproject
from tests import build

pytestmark = pytest.mark.django_db

NINE = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
on_postgres = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Seconds from nine, far off in both directions, or no time at all.
clocks = st.lists(
    st.none() | st.integers(0, 600) | st.integers(-(10**6), 10**9), min_size=1, max_size=40
)


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def paths() -> Iterator[str]:
    return (f"{number}.jsonl" for number in count())


def timed(place: Workspace, seconds: list[int | None], path: str = "a.jsonl") -> Session:
    lines = [
        build.line("user", "x")
        if each is None
        else build.line("user", "x", timestamp=(NINE + timedelta(seconds=each)).isoformat())
        for each in seconds
    ]
    return build.session(place, b"".join(lines), path)


def told(session: Session) -> list[int | None]:
    rows = Event.objects.filter(session_id=session.id).order_by("seq").values_list("at", flat=True)
    return [None if at is None else axis.moment_of(at) for at in rows]


def meant(session: Session) -> list[int]:
    assert session.started_at is not None
    assert session.last_at is not None
    return list(
        axis.in_order(
            told(session),
            first=axis.moment_of(session.started_at),
            latest=axis.moment_of(session.last_at),
        )
    )


@on_postgres
@given(seconds=clocks)
def test_the_database_agrees_with_the_definition(
    place: Workspace, paths: Iterator[str], seconds: list[int | None]
) -> None:
    session = timed(place, seconds, next(paths))
    known = moments.outline(session)
    rows = moments.rows(known, 0, known.events)

    assert [row.seq for row in rows] == list(range(len(seconds)))
    if known.unit is Unit.EVENT:
        assert [row.moment for row in rows] == [row.seq for row in rows]
    else:
        assert [row.moment for row in rows] == meant(session)


@on_postgres
@given(seconds=clocks, lo=st.integers(0, 40), size=st.integers(1, 20))
def test_a_stretch_is_the_same_whether_read_alone_or_with_all(
    place: Workspace,
    paths: Iterator[str],
    monkeypatch: pytest.MonkeyPatch,
    seconds: list[int | None],
    lo: int,
    size: int,
) -> None:
    monkeypatch.setattr(moments, "ANCHORS", 4)
    known = moments.outline(timed(place, seconds, next(paths)))
    every = moments.rows(known, 0, known.events)

    assert moments.rows(known, lo, lo + size) == every[lo : lo + size]


@on_postgres
@given(seconds=clocks, lo=st.integers(-5, 700), length=st.integers(0, 700))
def test_the_events_of_a_range_are_those_that_happened_in_it(
    place: Workspace,
    paths: Iterator[str],
    monkeypatch: pytest.MonkeyPatch,
    seconds: list[int | None],
    lo: int,
    length: int,
) -> None:
    monkeypatch.setattr(moments, "ANCHORS", 4)
    known = moments.outline(timed(place, seconds, next(paths)))
    start = lo if known.unit is Unit.EVENT else axis.moment_of(NINE + timedelta(seconds=lo))
    end = start + length * (1 if known.unit is Unit.EVENT else axis.SECOND)
    first, upto = moments.stretch(known, start, end)
    last = known.axis(Mode.WALL).last

    inside = [
        row.seq
        for row in moments.rows(known, 0, known.events)
        if start <= row.moment and (row.moment < end or end >= last)
    ]
    assert list(range(first, upto)) == inside


def test_pauses_are_those_between_one_event_and_the_next(place: Workspace) -> None:
    session = timed(place, [0, 30, 30 + 7200, 7231, 7231 + 61, None, 7300])
    known = moments.outline(session)

    assert [(pause.length // axis.SECOND, pause.seq) for pause in known.pauses] == [
        (7200, 2),
        (61, 4),
    ]
    assert known.axis(Mode.WALL).length == 7300 * axis.SECOND
    assert known.axis(Mode.COMPRESSED).length == (7300 - 7200 - 61 + 120) * axis.SECOND


def test_of_too_many_pauses_the_longest_are_kept(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "MOST_PAUSES", 3)
    monkeypatch.setattr(moments, "ANCHORS", 2)
    seconds: list[int | None] = [0]
    for length in (100, 700, 80, 900, 200, 800):
        seconds.append((seconds[-1] or 0) + length)
    known = moments.outline(timed(place, seconds))

    kept = {pause.length // axis.SECOND for pause in known.pauses}
    assert {700, 900, 800} <= kept
    assert len(known.anchors) == 2


@pytest.mark.parametrize("seconds", [[None, None, None], [5], [5, 5, None, 5]])
def test_without_two_different_times_events_are_counted(
    place: Workspace, seconds: list[int | None]
) -> None:
    known = moments.outline(timed(place, seconds))

    assert known.unit is Unit.EVENT
    assert known.axis(Mode.COMPRESSED) == axis.of_events(len(seconds))
    assert moments.stretch(known, 1, 2) == (1, min(2, len(seconds)))


def test_one_line_from_another_year_does_not_stretch_the_others(place: Workspace) -> None:
    known = moments.outline(timed(place, [0, 1, 10**9, 2, 3, 4]))
    rows = moments.rows(known, 0, 6)

    assert rows[-1].moment - rows[0].moment == 4 * axis.SECOND
    assert known.axis(Mode.WALL).length < HOUR


def test_the_outline_is_read_once_and_again_when_the_session_grows(
    place: Workspace, django_assert_num_queries: object
) -> None:
    session = timed(place, [0, 60])
    moments.outline(session)
    with django_assert_num_queries(1):  # type: ignore[operator]
        moments.outline(session)

    longer = timed(place, [0, 60, 7000])
    assert longer.id == session.id
    assert len(moments.outline(longer).anchors) == 3


@pytest.mark.django_db(transaction=True)
def test_the_outline_is_read_again_when_events_are_derived_anew() -> None:
    session = timed(build.workspace(), [0, 60, 7000])
    before = moments.outline(session)
    reproject.session(session.id, now=build.NOW)

    assert moments.outline(session).subject.version != before.subject.version
