"""Events as columns: whatever was kept, and whenever, they say what the rows do."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.domain import axis
from sessions_app.domain.sorts import Sort
from sessions_app.domain.strips import packed, unpacked
from sessions_app.models import Digest, Event, Session, Strip, Workspace
from sessions_app.store import digest, reproject, strips
from tests import build

pytestmark = pytest.mark.django_db

NINE = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
# Seconds from nine, far off in both directions, or no time at all.
clocks = st.lists(
    st.none() | st.integers(0, 600) | st.integers(-(10**6), 10**9), min_size=1, max_size=60
)


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def paths() -> Iterator[str]:
    return (f"{number}.jsonl" for number in count())


@pytest.fixture
def short_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("SIZE", 8), ("LONG", 8), ("STEP", 2)):
        monkeypatch.setattr(strips, name, number)
    monkeypatch.setattr(digest, "LONG", 8)


def log(seconds: list[int | None]) -> bytes:
    return b"".join(
        build.line("user", "x")
        if each is None
        else build.line("user", "x", timestamp=(NINE + timedelta(seconds=each)).isoformat())
        for each in seconds
    )


def read(session: Session) -> list[int]:
    """What a process that knows nothing reads."""
    strips.of.cache_clear()
    return list(strips.of(strips.subject(session, strips.version_of(session))).moments)


def meant(session: Session) -> list[int]:
    if session.started_at is None or session.last_at is None:
        return []
    if session.started_at == session.last_at:
        return []
    rows = Event.objects.filter(session_id=session.id).order_by("seq").values_list("at", flat=True)
    told = [None if at is None else axis.moment_of(at) for at in rows]
    ends = axis.moment_of(session.started_at), axis.moment_of(session.last_at)
    return list(axis.in_order(told, first=ends[0], latest=ends[1]))


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=clocks, more=clocks, is_looked_at=st.booleans())
def test_a_session_that_grows_is_placed_as_if_it_had_come_at_once(
    place: Workspace,
    paths: Iterator[str],
    short_strips: None,
    first: list[int | None],
    more: list[int | None],
    is_looked_at: bool,
) -> None:
    path = next(paths)
    session = build.session(place, log(first), path)
    if is_looked_at:
        assert read(session) == meant(session)
    grown = build.session(place, log(first + more), path)

    assert grown.id == session.id
    assert read(grown) == meant(grown)
    assert read(grown) == meant(grown)


def test_strips_are_kept_with_the_batch_and_nothing_is_placed_again(
    place: Workspace, short_strips: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = build.session(place, log(list(range(0, 300, 3))))
    kept = list(Strip.objects.filter(session_id=session.id).order_by("no"))
    made: list[int] = []
    real = strips._made

    def counting(about: strips.Subject, lo: int, hi: int, reached: int | None) -> object:
        made.append(hi - lo)
        return real(about, lo, hi, reached)

    monkeypatch.setattr(strips, "_made", counting)

    assert [row.events for row in kept] == [8] * 12
    assert read(session) == meant(session)
    assert made == [4]


def test_a_log_of_several_batches_is_kept_whole_at_its_end(
    place: Workspace, short_strips: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.ingest.pipeline.BATCH_BYTES", 1)
    session = build.session(place, log(list(range(0, 300, 3))))

    assert session.totals_events == session.events == 100
    assert Strip.objects.filter(session_id=session.id).count() == 12


def test_what_was_kept_goes_when_events_are_derived_anew(
    place: Workspace, short_strips: None
) -> None:
    session = build.session(place, log(list(range(0, 300, 3))))
    Strip.objects.filter(session_id=session.id).update(reached=0, data=b"stale")
    reproject.session(session.id, now=build.NOW)

    assert read(session) == meant(session)


def test_a_strip_is_the_same_after_it_was_kept(place: Workspace) -> None:
    session = build.session(place, log([0, 5, None, 900, 2]))
    strip = strips.of(strips.subject(session, strips.version_of(session)))
    again = unpacked(packed(strip), strip.beyond)

    assert packed(again) == packed(strip)
    assert (again.moments, again.lanes) == (strip.moments, strip.lanes)


def test_a_digest_says_the_same_whether_kept_or_counted(
    place: Workspace, short_strips: None
) -> None:
    session = build.session(place, log(list(range(20))))
    counted = digest.of(session)

    assert Digest.objects.filter(session_id=session.id).exists()
    assert digest.of(session) == counted
    assert counted.sorts[Sort.PROMPTS] == 20


def test_a_digest_of_other_rows_is_not_used(place: Workspace, short_strips: None) -> None:
    session = build.session(place, log(list(range(20))))
    digest.of(session)
    grown = build.session(place, log(list(range(30))))

    assert grown.id == session.id
    assert digest.of(grown).sorts[Sort.PROMPTS] == 30
