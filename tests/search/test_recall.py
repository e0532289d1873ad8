"""Chunks held in memory answer as the record does, are bounded, and never outlive their session."""

import random
import time
from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, Workspace
from sessions_app.store import chunks, coverage, leaves, recall, search
from sessions_app.store.search import Results
from tests import build
from tests.search.oracle import ENDLESS, by_reading, by_searching
from tests.search.test_oracle import QUERIES, fill

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_memory() -> None:
    recall.forget()


def asked(place: Workspace, text: str) -> Results:
    return search.page(place.id, parse(text), now=build.NOW, size=100, limits=ENDLESS)


def test_every_query_is_answered_from_memory_as_it_was_from_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)
    monkeypatch.setattr(chunks, "PIECE_BYTES", 500)
    place = build.workspace()
    fill(place, random.Random(3), sessions=8)
    first = {text: asked(place, text) for text in QUERIES}
    for _ in range(2):
        for text in QUERIES:
            again = asked(place, text)
            assert again.found == first[text].found, text
            assert again.older == first[text].older, text
    opened = sum(each.chunks for each in first.values())
    # Lines in pieces keep many of these chunks out of memory.
    assert 0 < sum(asked(place, text).chunks for text in QUERIES) < opened


def test_the_third_time_no_chunk_is_opened() -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "a rare word: quokka") + build.line("user", "another"))
    assert [asked(place, "quokka").chunks for _ in range(3)] == [1, 1, 0]
    assert asked(place, "quokka").found[0].hits[0].seq == 0


def test_what_a_session_gains_is_found_at_once() -> None:
    place = build.workspace()
    before = build.line("user", "the first quokka")
    build.ingest(place, before)
    for _ in range(3):
        assert len(asked(place, "quokka").found[0].hits) == 1
    build.ingest(place, before + build.line("user", "the second quokka, with a wombat"))
    assert len(asked(place, "quokka").found[0].hits) == 2
    assert len(asked(place, "wombat").found) == 1


def test_a_session_that_is_gone_is_not_found_though_its_texts_are_still_held() -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "a quokka"))
    for _ in range(3):
        assert len(asked(place, "quokka").found) == 1
    Session.objects.filter(workspace=place).delete()
    assert asked(place, "quokka").found == ()


def test_memory_is_bounded_and_the_last_used_stays(settings: Settings) -> None:
    place = build.workspace()
    for number in range(6):
        text = f"quokka{number} " + "words " * 300
        build.ingest(place, build.line("user", text), f"p/{number}.jsonl")
    settings.SEARCH_MEMORY_BYTES = int(9_000 / recall.SHARE)
    for number in range(6):
        for _ in range(2):
            asked(place, f"quokka{number}")
    assert [asked(place, f"quokka{number}").chunks for number in (5, 4, 0)] == [0, 0, 1]


def test_texts_nobody_asks_for_are_dropped_after_some_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = build.workspace()
    for word in ("quokka", "wombat"):
        build.ingest(place, build.line("user", word), f"p/{word}.jsonl")
        asked(place, word)
    asked(place, "quokka")
    assert asked(place, "quokka").chunks == 0
    later = time.monotonic() + recall.KEPT_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    recall.tidy()
    assert asked(place, "quokka").chunks == 1


# Events as they were read -----------------------------------------------------------------------


@pytest.fixture
def words_held() -> Iterator[None]:
    """Only who knows from memory which events fit can do without their chunks."""
    coverage.forget()
    yield
    coverage.forget()


@pytest.mark.usefixtures("words_held")
def test_an_event_that_fitted_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "a quokka") + build.line("user", "a wombat"))
    coverage.cover(place.id)
    first = asked(place, "quokka")
    assert first.chunks == 1

    def never(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(leaves, "reading_of", never)
    again = asked(place, "quokka")
    assert (again.chunks, again.found) == (0, first.found)


@pytest.mark.usefixtures("words_held")
def test_held_events_answer_as_the_record_does_while_their_session_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)
    place = build.workspace()
    log = b""
    for number in range(5):
        log += build.line("user", f"a quokka, number {number}")
        log += build.line("assistant", "seen", model=f"model-{number}")
        build.ingest(place, log)
        coverage.cover(place.id)
        for text in (
            "quokka",
            f"quokka model:model-{number}",
            "quokka model:model-0",
            '"a quokka"',
        ):
            for _ in range(2):
                assert by_searching(place, text) == by_reading(place, text), text


@pytest.mark.usefixtures("words_held")
@pytest.mark.django_db(transaction=True)
def test_events_leave_memory_with_their_session() -> None:
    place = build.workspace()
    gone = build.session(place, build.line("user", "a quokka"), "p/gone.jsonl").id
    kept = build.session(place, build.line("user", "another quokka"), "p/kept.jsonl").id
    coverage.cover(place.id)
    asked(place, "quokka")
    assert {key[0] for key in recall._events._kept} == {gone, kept}
    Session.objects.filter(id=gone).delete()
    assert len(asked(place, "quokka").found) == 1
    assert {key[0] for key in recall._events._kept} == {kept}


@pytest.mark.usefixtures("words_held")
def test_events_are_bounded_and_the_last_used_stay(settings: Settings) -> None:
    place = build.workspace()
    for number in range(6):
        build.ingest(place, build.line("user", f"quokka{number}"), f"p/{number}.jsonl")
    coverage.cover(place.id)
    settings.SEARCH_MEMORY_BYTES = int(2.5 * leaves.HEARD_BYTES / recall.SHARE_OF_EVENTS)
    for number in range(6):
        asked(place, f"quokka{number}")
    recall._leaves.clear()
    assert [asked(place, f"quokka{number}").chunks for number in (5, 0)] == [0, 1]
