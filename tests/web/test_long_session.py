"""A session of 100,000 events: every view of it is light, and reads only what it shows."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from sessions_app.models import Call, Canary, Event, Strip, Usage, User
from sessions_app.store import chunks, moments, strips
from sessions_app.store import timeline as store
from sessions_app.web.drawing import counted
from tests import build
from tests.people import browser
from tests.web.test_timeline import Reader, reader, working

# A view, how many chunks it may open, and the same view of a short session.
VIEWS = {
    "first screen": ("", 2, ""),
    "jump": ("?seq=77777", 2, "?seq=77"),
    "filter by kind": ("?show=tools&seq=77777", 4, "?show=tools"),
    "filter by errors": ("?show=errors&seq=77777", 4, "?show=errors"),
    "filter by tool": ("?show=tools&tool=Bash&seq=77777", 4, "?show=tools&tool=Bash"),
    "timeline": ("timeline", 5, "timeline"),
    "a stretch of the timeline": (
        "timeline?from=2026-11-05T00:00:00&to=2026-11-09T00:00:00",
        5,
        "timeline?from=2026-11-01T09:01:00&to=2026-11-01T09:02:00",
    ),
    "a range of the timeline": (
        "timeline?since=2026-11-05T00:00:00&until=2026-11-09T00:00:00",
        5,
        "timeline?since=2026-11-01T09:01:00&until=2026-11-01T09:02:00",
    ),
    "an event of the timeline": ("timeline?pick=77777", 6, "timeline?pick=77"),
    "usage": ("usage?turn=2500", 3, "usage"),
    "thread": ("thread", 0, "thread"),
    "raw": ("raw?seq=77777", 1, "raw?seq=77"),
    "record": ("record", 0, "record"),
    "outline": ("outline?at=50000", 4, "outline"),
}
# Memory of the process that a first look does not have.
KEPT = (
    *(moments._outline, strips.of, store._tallies),
    *(counted._kept_overview, counted._kept_part),
)


@pytest.fixture(scope="module")
def long_reader(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Reader]:
    """Made once for the module and taken away by hand, because it takes seconds to make."""
    with django_db_blocker.unblock():
        place = build.workspace("Long")
        user = build.member("lea", place)
        session = build.session(place, working(100_000))
        yield Reader(browser(user), session)
        for table in (Event, Usage, Call):
            table.objects.filter(session_id=session.id).delete()
        place.delete()
        User.objects.filter(id=user.id).delete()
        Canary.objects.all().delete()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    numbers: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, at: chunks.Place, sealed: bytes) -> bytes:
        numbers.append(at.no)
        return real(owner, at, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    return numbers


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each question of the timeline brought from the database."""
    sizes: list[int] = []
    for module in (moments, store):
        real = module._fetched

        def counting(sql: str, values: dict[str, object], real=real) -> list[tuple[object, ...]]:  # type: ignore[no-untyped-def]
            rows: list[tuple[object, ...]] = real(sql, values)
            sizes.append(len(rows))
            return rows

        monkeypatch.setattr(module, "_fetched", counting)
    return sizes


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> tuple[str, int, str]:
    found: tuple[str, int, str] = VIEWS[request.param]
    return found


def got(person: Reader, query: str) -> str:
    response = person.client.get(f"/sessions/{person.session.uid}/{query}")
    assert response.status_code == 200, response.content[:500]
    return response.content.decode()


def forget() -> None:
    for cache in KEPT:
        cache.cache_clear()


@pytest.mark.django_db
def test_a_first_look_is_light_and_opens_only_the_chunks_it_shows(
    long_reader: Reader, opened: list[int], fetched: list[int], view: tuple[str, int, str]
) -> None:
    query, most, _ = view
    forget()
    page = got(long_reader, query)

    assert len(page.encode()) < 200_000
    assert len(set(opened)) <= most
    assert sum(fetched) < 2_000


@pytest.mark.django_db
def test_a_first_look_asks_hardly_more_questions_than_at_a_short_session(
    long_reader: Reader, view: tuple[str, int, str]
) -> None:
    short = reader(working(100))
    counts = []
    for person, query in ((short, view[2]), (long_reader, view[0])):
        got(person, query)
        forget()
        with CaptureQueriesContext(connection) as asked:
            got(person, query)
        counts.append(len(asked))

    assert counts[1] <= counts[0] + 6


@pytest.mark.django_db
def test_ingest_kept_the_strips_that_the_timeline_is_drawn_from(long_reader: Reader) -> None:
    kept = Strip.objects.filter(session_id=long_reader.session.id)

    assert sum(kept.values_list("events", flat=True)) > 100_000 - strips.STEP - strips.SIZE


@pytest.mark.django_db
def test_the_files_come_at_once_and_are_found_while_one_waits(long_reader: Reader) -> None:
    page = got(long_reader, "files")

    assert "Go on reading" in page
    assert "wait=1" in page
    assert len(page.encode()) < 200_000


@pytest.mark.django_db
def test_a_page_of_hits_is_light_and_leads_to_all_of_them(long_reader: Reader) -> None:
    """One chunk holds more hits than a page lists."""
    page = got(long_reader, "find?q=do")
    seen = re.findall(r"seq=(\d+)", page)
    following = re.search(r'href="([^"]*find[^"]*after=[^"]*)"', page)

    assert len(page.encode()) < 200_000
    assert seen
    if following:
        address = following[1].replace("&amp;", "&").partition("/find")[2]
        further = re.findall(r"seq=(\d+)", got(long_reader, f"find{address}"))
        assert set(seen).isdisjoint(further)


@pytest.mark.django_db
def test_a_hundred_thousand_events_are_a_light_page_of_few_rows_and_chunks(
    long_reader: Reader, opened: list[int], fetched: list[int]
) -> None:
    forget()
    page = long_reader.get()

    assert "100,000\xa0events shown" in page
    assert len(page.encode()) < 200_000
    assert sum(fetched) < 2_000
    # One for the names of the tools; nothing that is drawn needs a chunk.
    assert len(opened) <= 5
    marks = page.count("h.84V") + page.count('class="stop ') + page.count("<rect")
    assert marks <= 2_000 + page.split('class="map-errors"')[0].count("h.84V")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        "?from=2026-11-05T00:00:00&to=2026-11-09T00:00:00",
        "?from=2026-11-07T03:00:00&to=2026-11-07T03:20:00",
    ],
    ids=["days", "minutes"],
)
def test_a_stretch_of_a_long_session_reads_only_that_stretch(
    long_reader: Reader, opened: list[int], fetched: list[int], query: str
) -> None:
    long_reader.get()
    opened.clear()
    fetched.clear()
    page = long_reader.get(query)

    assert len(page.encode()) < 200_000
    assert sum(fetched) < 8_000
    assert len(opened) <= 5


@pytest.mark.django_db
def test_a_long_session_asks_no_more_questions_than_a_short_one(long_reader: Reader) -> None:
    short = reader(working(100))
    counts = []
    for person in (short, long_reader):
        person.get()
        with CaptureQueriesContext(connection) as asked:
            person.get()
        counts.append(len(asked))

    assert counts[1] <= counts[0]
