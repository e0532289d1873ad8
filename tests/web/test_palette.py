"""The palette: what is offered to whom, as options and as a page."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from sessions_app.models import Session, Visit
from sessions_app.store import visits
from sessions_app.web import palette
from tests import build
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def people() -> Cast:
    return cast()


def options(client: Client, text: str = "") -> list[str]:
    shown = client.get("/palette", {"q": text}, headers=HTMX).content.decode()
    return re.findall(r'role="option".*?<span class="clip">(.*?)</span>', shown, re.DOTALL)


def test_options_for_htmx_and_a_page_for_people(people: Cast) -> None:
    client = browser(people.bob)
    part = client.get("/palette?q=ses", headers=HTMX).content.decode()
    page = client.get("/palette?q=ses").content.decode()
    assert "<html" not in part
    assert 'role="option"' in part
    assert "<html" in page
    # A page is walked with Tab: its links are links.
    assert 'class="ways"' in page
    assert page.count('role="option"') == 0


def test_every_option_has_a_number_of_its_own(people: Cast) -> None:
    shown = browser(people.bob).get("/palette", headers=HTMX).content.decode()
    numbers = [int(n) for n in re.findall(r'id="po(\d+)"', shown)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 8


def test_what_was_open_last_comes_first_and_only_in_its_workspace(people: Cast) -> None:
    client = browser(people.bob)
    other = build.session(people.workspace, build.line("user", "about pears"), "pears.jsonl")
    assert "message number 0 about subject0" not in options(client)
    client.get(f"/sessions/{people.session.uid}/")
    client.get(f"/sessions/{other.uid}/")
    client.get(f"/sessions/{people.session.uid}/")
    assert options(client)[:2] == ["message number 0 about subject0", "about pears"]
    assert options(client, "pe")[0] == "about pears"
    assert not {"about pears"} & set(options(browser(people.alice)))
    assert not {"about pears"} & set(options(browser(people.charlie)))


def test_sessions_are_found_by_three_letters_of_their_names(people: Cast) -> None:
    client = browser(people.bob)
    assert "message number 0 about subject0" in options(client, "MESS")
    assert "message number 0 about subject0" not in options(client, "me")
    assert "message number 0 about subject0" not in options(browser(people.charlie), "mess")


def test_a_page_that_begins_as_the_text_does_comes_before_sessions(people: Cast) -> None:
    build.session(people.workspace, build.line("user", "my members"), "m.jsonl")
    assert options(browser(people.bob), "mem")[:2] == ["Members", "my members"]
    assert options(browser(people.bob), "my mem")[:1] == ["my members"]


def test_pages_are_found_by_what_else_people_call_them(people: Cast) -> None:
    assert options(browser(people.bob), "password") == ["Profile", "Search for “password”"]
    assert options(browser(people.bob), "shortcuts")[:2] == ["Keyboard shortcuts", "Profile"]


def test_actions_follow_rights_theme_and_workspaces(people: Cast) -> None:
    second = build.workspace("Second <b>")
    people.alice.memberships.create(workspace=second, role="viewer")
    assert "Add sessions" not in options(browser(people.bob))
    offered = options(browser(people.alice))
    assert "Add sessions" in offered
    assert "Switch to Second &lt;b&gt;" in offered
    assert "Switch to the dark theme" in offered
    assert "Switch to the system theme" not in offered


def test_an_action_names_a_button_of_the_page(people: Cast) -> None:
    client = browser(people.alice)
    page = client.get("/").content.decode()
    pressed = re.findall(
        r'data-press="([^"]+)"', client.get("/palette", headers=HTMX).content.decode()
    )
    assert len(pressed) >= 3
    for name in pressed:
        assert f'id="{name}"' in page


def test_what_has_no_such_name_can_be_searched_for(people: Cast) -> None:
    shown = browser(people.bob).get("/palette?q=<b>zebra", headers=HTMX).content.decode()
    assert "Search for “&lt;b&gt;zebra”" in shown
    assert shown.count('role="option"') == 1


def test_the_search_is_offered_only_where_there_is_one(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(people.bob)
    monkeypatch.setattr(palette, "SEARCH", "/nowhere")
    assert options(client, "zebra & co") == []
    monkeypatch.setattr(palette, "SEARCH", "/jobs/")
    shown = client.get("/palette", {"q": "zebra & co"}, headers=HTMX).content.decode()
    assert 'href="/jobs/?q=zebra+%26+co"' in shown


def test_hostile_titles_and_texts_stay_text(people: Cast) -> None:
    attack = "<img src=x onerror=alert(1)>\u202e\" onclick='x'"
    session = build.session(people.workspace, build.line("user", attack), "x.jsonl")
    client = browser(people.bob)
    client.get(f"/sessions/{session.uid}/")
    for url in ("/palette", f"/palette?q={attack}", "/palette?q=%3Cimg"):
        for headers in (HTMX, {}):
            shown = client.get(url, headers=headers).content.decode()
            assert "<img src=x" not in shown
            assert "\u202e" not in shown


def test_only_the_newest_visits_are_kept_and_each_once(people: Cast) -> None:
    def make(number: int) -> Session:
        return build.session(people.workspace, build.line("user", f"n{number}"), f"{number}.jsonl")

    made = [make(n) for n in range(4)]
    kept = visits.KEPT
    visits.KEPT = 3
    try:
        for step, session in enumerate([*made, made[0], made[0]]):
            visits.note(people.bob, session, at=build.NOW + timedelta(minutes=step))
    finally:
        visits.KEPT = kept
    rows = visits.recent(people.bob, people.workspace, most=10)
    assert [row.uid for row in rows] == [made[0].uid, made[3].uid, made[2].uid]
    assert Visit.objects.filter(user=people.bob).count() == 3


def test_who_left_a_workspace_sees_nothing_recent_of_it(people: Cast) -> None:
    visits.note(people.bob, people.session, at=build.NOW)
    people.bob.memberships.all().delete()
    assert visits.recent(people.bob, people.workspace, most=10) == []


def test_a_visit_goes_with_its_session_and_its_person(people: Cast) -> None:
    visits.note(people.bob, people.session, at=build.NOW)
    visits.note(people.alice, people.session, at=build.NOW)
    people.bob.delete()
    assert Visit.objects.count() == 1
    Session.objects.filter(id=people.session.id).delete()
    assert Visit.objects.count() == 0
