"""Pages of the list: complete in every order, from indexes, however many sessions there are."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks import listing as bench
from sessions_app.domain.errors import BadInput
from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, Workspace
from sessions_app.store import listing, overview
from sessions_app.store.conditions import Asked
from sessions_app.store.facts import Facts
from tests import build

pytestmark = pytest.mark.django_db

SORTS = [name for name in listing.ORDERS if name != "best"]


def asked(place: Workspace, text: str) -> Asked:
    return listing.asked(place, parse(text), now=build.NOW)


@pytest.fixture
def many() -> Workspace:
    """Sessions that agree in much, so that pages have to break inside ties."""
    place = build.workspace()
    for n in range(23):
        build.row(
            place,
            Facts(title=f"No {n}", project="a"),
            at=build.NOW - timedelta(hours=n // 5),
            started_at=build.NOW - timedelta(hours=n // 5, minutes=n % 4) if n % 7 else None,
            tokens=None if n % 5 == 0 else n // 3,
            cost=None if n % 4 == 0 else n // 6,
            errors=n % 3,
            events=1 + n % 2,
        )
    return place


@pytest.mark.parametrize("sort", SORTS)
def test_pages_hold_every_session_once_in_order_and_back(many: Workspace, sort: str) -> None:
    what = asked(many, f"sort:{sort}")
    order = listing.ORDERS[sort]
    pages = [listing.page(what, size=5)]
    while pages[-1].older:
        pages.append(listing.page(what, after=pages[-1].older, size=5))
    rows = [row for page in pages for row in page.found]
    assert len({row.id for row in rows}) == len(rows) == 23
    places = [(order.value(row), row.id) for row in rows]
    assert places == sorted(places, reverse=order.is_falling)
    for page, before in zip(pages[:0:-1], pages[-2::-1], strict=True):
        assert page.newer is not None
        back = listing.page(what, before=page.newer, size=5)
        assert [row.id for row in back.found] == [row.id for row in before.found]
    assert (pages[0].newer, pages[-1].older) == (None, None)


def test_a_cursor_of_another_order_or_a_damaged_one_gets_a_sentence(many: Workspace) -> None:
    cursor = listing.page(asked(many, "sort:cost"), size=5).older
    assert cursor is not None
    for text, bad in (("sort:tokens", cursor), ("", "zzz"), ("", "é"), ("", "A" * 4000)):
        with pytest.raises(BadInput):
            listing.page(asked(many, text), after=bad)


def test_the_mark_changes_with_what_is_shown(many: Workspace) -> None:
    first = listing.page(asked(many, "")).mark
    assert listing.page(asked(many, "")).mark == first
    later = listing.asked(many, parse(""), now=build.NOW + timedelta(days=3))
    assert listing.page(later).mark != first
    Session.objects.filter(workspace=many).update(held=True)
    assert listing.page(asked(many, "")).mark != first


def test_text_is_looked_up_once_and_only_where_there_is_some(many: Workspace) -> None:
    place = build.workspace()
    one = build.session(place, build.line("user", "an unusual word: xylophone"), "one.jsonl")
    build.session(place, build.line("user", "nothing of the kind"), "two.jsonl")
    assert [row.id for row in listing.page(asked(place, "xylophone")).found] == [one.id]
    assert [row.id for row in listing.page(asked(place, "xylophone project:b")).found] == []
    assert listing.page(asked(place, "zebra")).found == ()
    assert asked(place, "project:a").matches is None


def test_activity_reads_a_few_events_of_each_session() -> None:
    place = build.workspace()
    lines = b"".join(
        build.line("user", "x", timestamp=f"2026-11-18T{hour:02}:{minute:02}:00Z")
        for hour in range(10)
        for minute in range(0, 60, 1 if hour == 3 else 30)
    )
    session = build.session(place, lines)
    session.refresh_from_db()
    drawn = listing.activity_of([session])[session.id]
    assert sum(drawn) == session.events - 1
    peak = drawn.index(max(drawn)) / len(drawn)
    assert 0.25 < peak < 0.5
    timeless = build.session(build.workspace(), build.log())
    assert listing.activity_of([timeless]) == {}
    assert listing.activity_of([]) == {}


# How much work ------------------------------------------------------------------------------------


def scanned(text: str, place: Workspace) -> list[str]:
    """The scans that the page's own question would take, as the planner says."""
    with CaptureQueriesContext(connection) as caught:
        listing.page(listing.asked(place, parse(text), now=build.NOW))
    question = next(each["sql"] for each in caught if "sessions_app_session" in each["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {question}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    return re.findall(r"(\w+ Scan|\w+ \w+ Scan)[^\n]* on (\w+)", plan)


@pytest.fixture(scope="module")
def large(django_db_setup: None, django_db_blocker: object) -> object:
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        user, place = bench.house(3_000)
        yield place
        bench.take_down(user, place)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "is:error",
        "tool:Bash project:project-7",
        "tool:NoSuchTool",
        "is:running",
        *(f"sort:{name}" for name in SORTS),
    ],
)
def test_no_page_of_the_list_walks_over_all_sessions(large: Workspace, text: str) -> None:
    ways = scanned(text, large)
    assert not [way for way in ways if "Seq Scan" in way[0]], ways


def test_what_a_page_reads_does_not_grow_with_the_sessions(large: Workspace) -> None:
    """Blocks that the page of a query without matches, and of all sessions, reads."""
    for text, most in (("", 600), ("tool:NoSuchTool", 100), ("is:running", 100)):
        what = listing.asked(large, parse(text), now=build.NOW)
        with CaptureQueriesContext(connection) as caught:
            listing.page(what)
        question = next(each["sql"] for each in caught if "sessions_app_session" in each["sql"])
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {question}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
        blocks = [int(n) for n in re.findall(r"Buffers: shared hit=(\d+)", plan)]
        assert blocks[0] < most, plan


def test_counts_are_honest_and_bounded(large: Workspace) -> None:
    found = overview.of(listing.asked(large, parse(""), now=build.NOW))
    assert (found.count, found.is_cut) == (overview.LOOKED_AT, True)
    assert overview.count_label(found.count, is_cut=True) == "1,000+ sessions"
    assert overview.number(listing.asked(large, parse(""), now=build.NOW)) == (1000, True)
    few = listing.asked(large, parse("project:project-7"), now=build.NOW)
    exact = Session.objects.filter(few.condition()).count()
    assert (overview.of(few).count, overview.of(few).is_cut) == (exact, False)
