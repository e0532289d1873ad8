"""What memory answers is what the record says: nothing more, nothing less, nothing late."""

import random
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings as DjangoSettings

from sessions_app.domain import concordance as arrays
from sessions_app.domain import gathering
from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, SessionKey, Workspace
from sessions_app.store import chunks, coverage, recall, search
from sessions_app.store.search import Results
from sessions_app.store.walk import Limits
from tests import build
from tests.search.oracle import ENDLESS, Opened, by_reading, by_searching, pages
from tests.search.test_oracle import QUERIES, REAL, fill

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_memory() -> Iterator[None]:
    coverage.forget()
    recall.forget()
    yield
    coverage.forget()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 700)
    monkeypatch.setattr(chunks, "PIECE_BYTES", 500)


def asked(place: Workspace, text: str) -> Results:
    return search.page(place.id, parse(text), now=build.NOW, size=100, limits=ENDLESS)


def reached(place: Workspace, text: str) -> list[tuple[str, str]]:
    return [(str(each.session.id), each.month) for each in asked(place, text).found]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("section", [200, coverage.SECTION])
def test_every_query_finds_what_a_reader_finds(
    section: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "SECTION", section)
    place = build.workspace()
    fill(place, random.Random(1), sessions=9)
    coverage.cover(place.id)
    for text in QUERIES:
        assert by_searching(place, text) == by_reading(place, text), text


@pytest.mark.usefixtures("small_chunks")
def test_results_and_their_order_are_those_of_the_blind_index() -> None:
    place = build.workspace()
    fill(place, random.Random(2), sessions=12)
    narrowed = (
        *QUERIES,
        "project:project1 the",
        "after:2026-02-01 timeout",
        "-project:project0 the",
    )
    before = {text: reached(place, text) for text in narrowed}
    coverage.cover(place.id)
    for text in narrowed:
        assert reached(place, text) == before[text], text
        assert pages(place, text, size=2) == [uid for uid, _ in before[text]], text


@pytest.mark.usefixtures("small_chunks")
def test_pages_cut_short_by_their_limits_add_up_to_the_same_sessions_in_the_same_order() -> None:
    place = build.workspace()
    fill(place, random.Random(2), sessions=9)
    at_once = {text: pages(place, text, size=100) for text in ("timeout", '"the timeout"', "the")}
    coverage.cover(place.id)
    for text, expected in at_once.items():
        for limits in (ENDLESS, Limits(chunks=1, bytes=1), Limits(chunks=3, bytes=1500)):
            assert pages(place, text, size=2, limits=limits) == expected, text


# Each act commits: what one transaction does twice, it does at once for everybody else.
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_erased_and_covered_in_any_order_is_found_as_it_is_read(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "PIECES", 1)
    monkeypatch.setattr(coverage, "SECTION", 400)
    rng = random.Random(seed)
    place = build.workspace()
    logs: dict[str, bytes] = {}
    for _ in range(14):
        act = rng.randrange(5)
        name = f"p/{rng.randrange(5)}.jsonl"
        if act == 0:
            coverage.cover(place.id)
        elif act == 1 and logs:
            Session.objects.filter(workspace=place).order_by("?")[:1].get().delete()
            logs = {}
        else:
            more = b"".join(
                build.line("user", rng.choice(("the timeout", "retry of a wombat", "größe the")))
                for _ in range(rng.randrange(1, 12))
            )
            logs[name] = logs.get(name, b"") + more
            build.ingest(place, logs[name], name)
        for text in ("timeout", '"the timeout"', "wombat OR größe", "tim* -retry"):
            assert by_searching(place, text) == by_reading(place, text), text


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_words_of_any_letters_are_found_wherever_they_stand(data: st.DataObject) -> None:
    """Texts of all letters, of escapes and marks, and pieces of them looked for."""
    place = build.workspace()
    letters = st.text(min_size=1, max_size=60) | st.text(
        "ab\\nrt \t-_./\x01\x02\x03\xa0é0F", min_size=1
    )
    texts = data.draw(st.lists(letters, min_size=1, max_size=6))
    log = b"".join(build.line("user", text.encode("utf-8", "ignore").decode()) for text in texts)
    build.ingest(place, log)
    coverage.cover(place.id)
    for _ in range(5):
        text = data.draw(st.sampled_from(texts))
        lo = data.draw(st.integers(0, len(text) - 1))
        piece = text[lo : data.draw(st.integers(lo + 1, len(text)))].strip()
        form = data.draw(st.sampled_from(("{}", '"{}"', '"{}"', "{}*", "-{} user", "{} OR user")))
        query = form.format(piece.replace('"', " "))
        assert by_searching(place, query) == by_reading(place, query), query


def test_a_word_that_begins_like_an_escape_is_found_with_its_marks() -> None:
    place = build.workspace()
    texts = ("1234\\r/0", "1234\\n- 99", "1234\\t-99", "ab\\n.cd")
    build.ingest(place, b"".join(build.line("user", text) for text in texts))
    coverage.cover(place.id)
    for query in ("1234\\r/0*", "1234\\r/0", '"1234 - 99"', '"1234 -99"', '"ab .cd"', "n.cd", "cd"):
        found = by_reading(place, query)
        assert found, query
        assert by_searching(place, query) == found, query


@pytest.mark.skipif(not REAL, reason="the real logs are not here")
def test_real_logs_are_searched_as_they_are_read() -> None:
    place = build.workspace()
    for path in [path for path in REAL if path.stat().st_size < 400_000][:12]:
        build.ingest_file(place, path)
    coverage.cover(place.id)
    for text in (
        *("test", "the error", '"let me"', '"in the"', "claude* -test", "tool:Bash", "cmd:git"),
        *("file:*.go", "path:src", "url:github", "role:user fix", "config.json", '"git commit"'),
    ):
        assert by_searching(place, text) == by_reading(place, text), text


# What it saves ----------------------------------------------------------------------------------


def test_only_chunks_that_hold_the_phrase_are_opened(small_chunks: None) -> None:
    place = build.workspace()
    apart = b"".join(build.line("user", f"red and {no} blue and green") for no in range(60))
    build.ingest(place, apart, "apart.jsonl")
    build.ingest(place, apart + build.line("user", "blue red green"), "together.jsonl")
    coverage.cover(place.id)
    found = asked(place, '"blue red green"')
    assert [len(each.hits) for each in found.found] == [1]
    assert found.chunks == 1
    assert asked(place, '"green red"').chunks == 0


def test_words_of_one_event_are_told_from_words_of_one_chunk() -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "a wombat") + build.line("user", "a quokka"))
    assert asked(place, "wombat quokka").chunks == 1
    coverage.cover(place.id)
    assert asked(place, "wombat quokka").chunks == 0


# What it forgets --------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_session_whose_key_is_gone_is_told_as_one_that_does_not_open() -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "a quokka"))
    coverage.cover(place.id)
    for _ in range(3):
        assert len(asked(place, "quokka").found) == 1
    SessionKey.objects.filter(session__workspace=place).delete()
    gone = asked(place, "quokka")
    assert (gone.found, len(gone.broken)) == ((), 1)


@pytest.mark.django_db(transaction=True)
def test_what_is_erased_leaves_the_arrays_when_they_are_made_anew() -> None:
    place = build.workspace()
    for number in range(6):
        build.ingest(place, build.line("user", f"quokka{number}"), f"p/{number}.jsonl")
    coverage.cover(place.id)
    Session.objects.filter(workspace=place).order_by("id")[:1].get().delete()
    coverage.cover(place.id)
    held = coverage.held(place.id)
    assert held is not None
    assert sum(len(each.seqs) for each in held.sections) == 5
    assert len(asked(place, "quokka3").found) == 1


def test_it_holds_numbers_and_no_text() -> None:
    place = build.workspace()
    build.ingest(place, build.line("user", "zanzibarine secrets"))
    coverage.cover(place.id)
    held = coverage.held(place.id)
    assert held is not None
    (section,) = held.sections
    for name, value in vars(section).items():
        is_of_numbers = isinstance(value, np.ndarray | arrays._Remembered)
        assert is_of_numbers or name == "places", name
    assert "zanzibarine" not in repr(vars(section))


def test_another_workspace_never_meets_it() -> None:
    mine, yours = build.workspace("mine"), build.workspace("yours")
    build.ingest(mine, build.line("user", "a quokka"))
    build.ingest(yours, build.line("user", "a wombat"))
    coverage.cover(mine.id)
    coverage.cover(yours.id)
    assert [len(asked(each, "quokka").found) for each in (mine, yours)] == [1, 0]


# What it may take -------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
def test_what_does_not_fit_into_memory_is_found_by_the_index(
    settings: DjangoSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "SECTION", 100)
    place = build.workspace()
    fill(place, random.Random(5), sessions=40)
    settings.SEARCH_MEMORY_BYTES = 60_000
    coverage.cover(place.id)
    held = coverage.held(place.id)
    assert held is not None
    assert 0 < len(held.covered) < 40
    for text in ("timeout", '"the timeout"', "tim*", "settings.py"):
        assert by_searching(place, text) == by_reading(place, text), text
    opened = Opened()
    assert pages(place, "the", size=3, opened=opened) == pages(place, "the", size=50)


def test_the_workspace_searched_longest_ago_makes_room(settings: DjangoSettings) -> None:
    places = [build.workspace(name) for name in ("one", "two", "three")]
    for place in places:
        build.ingest(place, build.line("user", "words " * 500))
        coverage.cover(place.id)
    one = coverage.held(places[0].id)
    assert one is not None
    settings.SEARCH_MEMORY_BYTES = int(one.nbytes / coverage.SHARE * 1.5)
    fourth = build.workspace("four")
    build.ingest(fourth, build.line("user", "words " * 500))
    coverage.cover(fourth.id)
    assert coverage.held(fourth.id) is not None
    assert coverage.held(places[1].id) is None


# Others write meanwhile -------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_began_before_and_ends_after_a_search_is_noticed() -> None:
    """A number drawn early may become visible late."""
    place = build.workspace()
    build.ingest(place, build.line("user", "first"), "a.jsonl")
    build.ingest(place, build.line("user", "other"), "b.jsonl")
    first = Session.objects.filter(workspace=place).order_by("id")[:1].get()
    coverage.cover(place.id)
    written, seen = threading.Event(), threading.Event()

    def slowly() -> None:
        with transaction.atomic():
            Session.objects.filter(id=first.id).update(chunks=first.chunks + 7)
            written.set()
            seen.wait(20)
        connection.close()

    writer = threading.Thread(target=slowly)
    writer.start()
    assert written.wait(20)
    build.ingest(place, build.line("user", "other") + build.line("user", "more"), "b.jsonl")
    assert len(asked(place, "more").found) == 1
    held = coverage.held(place.id)
    assert held is not None
    assert first.id not in held.waiting
    seen.set()
    writer.join()
    held.look()
    assert first.id in held.waiting


# Joining ----------------------------------------------------------------------------------------


def test_joined_sections_answer_as_each_of_them_did() -> None:
    rng = random.Random(7)
    stock = ("red", "green", "blue_sky", "src/app/main.py", "x", "\\nalpha", "0b4c1c0e9f1d4a52")

    def prose(rng: random.Random) -> bytes:
        return " ".join(rng.choices(stock, k=6)).encode()

    def section(first: int) -> arrays.Section:
        made = gathering.Gathering()
        for no in range(3):
            events = [
                (
                    seq,
                    gathering.text_of(
                        [" ".join(rng.choices(stock, k=6)).encode()], [b"kind\0user"]
                    ),
                )
                for seq in range(5)
            ]
            made.chunk(arrays.Place(first, no, ()), events)
        return made.section()

    parts = [section(number) for number in range(4)]
    parts[1] = parts[1].without(lambda place: place.no == 2)
    whole = arrays.joined(parts)
    for needs, runs in (
        (((frozenset({b"red"}),),), ()),
        (((frozenset({b"sky"}), frozenset({b"alpha"})),), ()),
        ((), ((b"red", b"green"),)),
        (((frozenset({b"kind\0user"}),),), ((b"x", b"red"),)),
    ):
        expected = {
            (each.places[chunk], seq)
            for each in parts
            for chunk, seq in told(each, each.events(needs, runs, lambda _: []))
        }
        found = whole.events(needs, runs, lambda _: [])
        assert {(whole.places[chunk], seq) for chunk, seq in told(whole, found)} == expected


def told(section: arrays.Section, events: arrays.Events) -> list[tuple[int, int]]:
    found = section.chunks(events)
    return [
        (chunk, int(section.seqs[event]))
        for chunk, lo, hi in zip(found.numbers.tolist(), found.lo, found.hi, strict=True)
        for event in events[lo:hi]
    ]
