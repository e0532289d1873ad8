"""The Thread tab: a picture, the same as a tree, where copies part, branches inside the log."""

import re

import pytest
from django.test import Client

from sessions_app.models import Session
from sessions_app.web import threads
from tests import build
from tests.people import Cast, browser, cast
from tests.store.test_kin import forked, messages, record, taken

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
ATTACK = "\u202e<img src=x onerror=alert(1)>\"' hx-get=/sign-out/"


@pytest.fixture
def people() -> Cast:
    return cast()


@pytest.fixture
def client(people: Cast) -> Client:
    return browser(people.alice)


def thread(client: Client, session: Session, query: str = "") -> str:
    response = client.get(f"/sessions/{session.uid}/thread{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_a_session_that_stands_alone_says_so(people: Cast, client: Client) -> None:
    page = thread(client, people.session)

    assert "This session stands alone" in page
    assert "thread-picture" not in page


def test_the_picture_and_the_tree_hold_the_same_sessions(people: Cast, client: Client) -> None:
    place = people.workspace
    found = [forked(place, 1, None), forked(place, 2, 1), forked(place, 3, 2), forked(place, 4, 1)]
    page = thread(client, found[2])
    picture, _, tree = page.partition('role="tree"')

    for session in found:
        assert picture.count(f'href="/sessions/{session.uid}/" tabindex="-1"') == 1
        assert tree.count(f'class="name" href="/sessions/{session.uid}/"') == 1
    assert picture.count("<path") == 3
    assert picture.count("is-current") == 1
    assert tree.count('aria-current="page"') == 1
    assert "Fork by explicit id" in tree
    assert "fork by explicit id" in picture


def test_the_tree_is_nested_and_closed(people: Cast, client: Client) -> None:
    place = people.workspace
    root = forked(place, 1, None)
    for number, parent in ((2, 1), (3, 2), (4, 3), (5, 1), (6, 5)):
        forked(place, number, parent)
    page = thread(client, root)
    tree = page[page.index('<ul role="tree"') : page.index("</thread-tree>")]
    levels = [int(level) for level in re.findall(r'aria-level="(\d+)"', tree)]

    assert sorted(levels) == [1, 2, 2, 3, 3, 4]
    assert tree.count("<li") == tree.count("</li>") == 6
    assert tree.count("<ul") == tree.count("</ul>") == 5
    depth = 0
    for tag, level in re.findall(r'<(ul|/ul)|aria-level="(\d+)"', tree):
        depth += {"ul": 1, "/ul": -1}.get(tag, 0)
        assert not level or int(level) == depth


def test_hostile_titles_stay_text(people: Cast, client: Client) -> None:
    title = {"type": "custom-title", "sessionId": "a", "customTitle": ATTACK}
    lines = messages("a", 3)
    taken(people.workspace, "one", lines)
    more = record("b", "own", None, message={"content": ATTACK}, cwd=ATTACK)
    two = taken(people.workspace, "two", [*lines, more, record("b", "x", "own", **title)])
    page = thread(client, two)

    assert "hx-get=/sign-out/" in page
    assert "<img src=x" not in page
    assert "\u202e" not in page


def test_where_two_copies_part_is_told_as_a_page_and_as_a_fragment(
    people: Cast, client: Client
) -> None:
    origin = taken(people.workspace, "origin", messages("a", 6))
    fork = taken(people.workspace, "fork", [*messages("a", 4), record("b", "own", None)])
    query = f"?with={origin.uid}"

    page = thread(client, fork, query)
    url = f"/sessions/{fork.uid}/thread{query}"
    fragment = client.get(url, headers=HTMX).content.decode()

    for shown in (page, fragment):
        assert "The first 4\u00a0messages are the same" in shown
        assert f'href="/sessions/{fork.uid}/?seq=4#e4"' in shown
        assert f'href="/sessions/{origin.uid}/?seq=4#e4"' in shown
    assert "<html" not in fragment
    assert f'hx-get="{url}"' in thread(client, fork)


def test_a_stranger_cannot_be_compared_with(people: Cast, client: Client) -> None:
    other = build.session(build.workspace("Elsewhere"))
    response = client.get(f"/sessions/{people.session.uid}/thread?with={other.uid}")

    assert response.status_code == 404
    for odd in ("x", "%00", "../..", "1" * 500):
        assert client.get(f"/sessions/{people.session.uid}/thread?with={odd}").status_code == 404


def test_branches_inside_the_log_are_listed(people: Cast, client: Client) -> None:
    answer = record("s", "b", "a", type="assistant", message={"content": "answer"})
    lines = [record("s", "a", None), answer, record("s", "c", "b"), record("s", "d", "b")]
    session = taken(people.workspace, "rewound", lines)
    page = thread(client, session)

    assert "Branches inside this log" in page
    assert f'href="/sessions/{session.uid}/?seq=3#e3"' in page
    assert "words of d" in page
    assert page.count("The log ends here") == 1


def test_a_large_log_is_searched_for_branches_only_when_asked(
    people: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "SEARCHED_AT_ONCE", 10)
    session = taken(people.workspace, "large", messages("s", 3))

    assert "?branches=1" in thread(client, session)
    assert "has no branches" in thread(client, session, "?branches=1")
    url = f"/sessions/{session.uid}/thread?branches=1"
    assert b"has no branches" in client.get(url, headers=HTMX).content


def test_a_thread_of_many_sessions_is_a_light_page(
    people: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = forked(people.workspace, 1, None)
    for number in range(2, 62):
        forked(people.workspace, number, number // 2)
    monkeypatch.setattr("sessions_app.store.kin.MOST_SESSIONS", 40)
    page = thread(client, root)

    assert page.count('role="treeitem"') == 40
    assert "more sessions than are drawn" in page
    assert len(page) < 200_000
