"""A window opens only the chunks it shows, in a number of queries that does not grow."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from pytest_django import DjangoDbBlocker

from sessions_app.domain.events import Kind
from sessions_app.models import Canary, Event, Session
from sessions_app.store import chunks, read
from tests import build

EVENTS = 100_000
WINDOW = 100
Queries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture(scope="module")
def long_session(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Session]:
    """Made once for the module and taken away by hand, because it takes seconds to make."""
    with django_db_blocker.unblock():
        place = build.workspace("Long")
        session = build.session(place, build.log(EVENTS))
        yield session
        Event.objects.filter(session_id=session.id).delete()
        place.delete()
        Canary.objects.all().delete()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the chunks that are opened, in order."""
    numbers: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, place: chunks.Place, sealed: bytes) -> bytes:
        numbers.append(place.no)
        return real(owner, place, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    return numbers


@pytest.mark.django_db
@pytest.mark.parametrize("lo", [0, 49_950, EVENTS - WINDOW], ids=["start", "middle", "end"])
def test_a_window_of_a_long_session_opens_only_what_it_shows(
    long_session: Session,
    opened: list[int],
    lo: int,
    django_assert_max_num_queries: Queries,
) -> None:
    assert (long_session.events, long_session.raw_bytes) == (EVENTS, len(build.log(EVENTS)))
    # One for the rows, at most two chunks, one for the workspace key if it is not yet known.
    with django_assert_max_num_queries(4):
        lines = read.window(long_session, lo, lo + WINDOW)

    assert [line.seq for line in lines] == list(range(lo, lo + WINDOW))
    assert f"message number {lo} about".encode() in lines[0].raw
    assert f"message number {lo + WINDOW - 1} about".encode() in lines[-1].raw
    assert 1 <= len(opened) <= 2
    assert len(set(opened)) == len(opened)


@pytest.mark.django_db
def test_one_event_of_a_long_session_opens_one_chunk(
    long_session: Session, opened: list[int]
) -> None:
    line = read.event(long_session, 77_777)

    assert b"message number 77777 about" in line.raw
    assert line.kind is Kind.ASSISTANT
    assert len(opened) == 1


@pytest.mark.django_db
def test_a_window_past_the_end_is_empty_and_opens_nothing(
    long_session: Session, opened: list[int]
) -> None:
    assert read.window(long_session, EVENTS, EVENTS + 5) == []
    assert opened == []


@pytest.mark.django_db
def test_the_head_of_a_very_long_line_opens_only_its_first_chunks(opened: list[int]) -> None:
    data = build.line("user", "word " * 2_000_000) + build.log(3)
    session = build.session(build.workspace(), data)

    lines = read.window(session, 0, 4)

    assert lines[0].is_cut
    assert data.startswith(lines[0].raw)
    assert len(lines[0].raw) == read.SHOWN_BYTES
    assert [line.raw for line in lines[1:]] == build.log(3).splitlines(keepends=True)
    assert len(set(opened)) < session.chunks / 2
