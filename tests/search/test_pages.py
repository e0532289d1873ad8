"""The search as it is asked for: the same answer at every door, and only for members."""

import json
import random
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from sessions_app.models import Membership, Session
from sessions_app.store import walk
from tests import build
from tests.people import Cast, browser, cast
from tests.search.test_oracle import fill

pytestmark = pytest.mark.django_db

SECRET = "zanzibarine"
# Never asked for: where it stands, the event was shown.
BESIDE = "quokkaberry"
QUERIES = (
    *(
        "timeout",
        '"the timeout"',
        "tim*",
        "größe -retry",
        "tool:Bash",
        "role:user the",
        "error:yes",
    ),
    *(
        "time OR timer",
        "settings.py in:results",
        "timeout sort:best",
        "nothingofthekind",
        "project:project1 the",
    ),
)


@pytest.fixture
def people() -> Cast:
    made = cast()
    build.session(made.workspace, build.line("user", f"the word {SECRET} and {BESIDE}"), "s.jsonl")
    return made


FRAGMENT = {"HX-Request": "true"}


# Pages and fragments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "q", ["", SECRET, "nothingofthekind", "/zanz/", '"', "sort:best the", "\0"]
)
@pytest.mark.parametrize("path", ["/search", "/search/scan"])
def test_every_page_of_the_search_answers_whatever_is_asked(
    people: Cast, path: str, q: str
) -> None:
    answer = browser(people.bob).get(path, {"q": q})
    assert answer.status_code == 200
    shown = b"".join(answer) if answer.streaming else answer.content
    assert b"<h1" in shown
    assert "no-store" in answer["Cache-Control"]


def test_the_fragment_is_the_part_of_the_page_with_the_results(people: Cast) -> None:
    client = browser(people.bob)
    page = client.get("/search", {"q": SECRET}).content.decode()
    part = client.get("/search", {"q": SECRET}, headers=FRAGMENT)

    assert part.content.decode().lstrip().startswith('<div id="results"')
    assert "<html" not in part.content.decode()
    # The address changed with what is asked, so the name of the page does, too.
    assert f"<title>{SECRET} · Search · Recount</title>" in part.content.decode()
    assert "HX-Request" in part["Vary"]
    assert json.loads(part["HX-Trigger"])["toast"]["message"] == "1 session."
    assert f"<mark>{SECRET}</mark>" in page
    assert f"<mark>{SECRET}</mark>" in part.content.decode()


def test_filters_that_choose_sessions_alone_lead_to_the_list(people: Cast) -> None:
    page = browser(people.bob).get("/search", {"q": "agent:chat"}).content.decode()
    assert 'href="/?q=agent%3Achat">see the sessions in the list</a>' in page


def test_a_scan_streams_what_it_finds_and_how_far_it_is(people: Cast) -> None:
    answer = browser(people.bob).get(
        "/search/scan", {"q": "/zanz[a-z]+/"}, headers={"Accept": "application/x-ndjson"}
    )
    steps = [json.loads(line) for line in b"".join(answer).splitlines()]
    assert steps[-1]["is_last"]
    assert steps[-1]["skipped"] == 0
    assert f"<mark>{SECRET}</mark>" in "".join(step["html"] for step in steps)


def test_inside_a_session_the_page_and_its_json_tell_the_same_events(people: Cast) -> None:
    session = Session.objects.latest("id")
    path = f"/sessions/{session.uid}/find"
    client = browser(people.bob)
    told = client.get(path, {"q": SECRET}, headers={"Accept": "application/json"}).json()
    assert (told["seqs"], told["next"], told["bad"]) == ([0], None, [])
    assert "?seq=0#e0" in client.get(path, {"q": SECRET}).content.decode()
    assert client.get(path).status_code == 200


# Who may -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/search", "/search/scan", "/api/v1/search"])
@pytest.mark.parametrize("q", [SECRET, "zanz*", f'"word {SECRET}"', "/zanz.*/", "word OR message"])
def test_another_workspaces_sessions_are_never_found(people: Cast, path: str, q: str) -> None:
    # The page only offers to begin a scan.
    is_there = not (path == "/search" and q.startswith("/"))
    for user, is_found in ((people.bob, is_there), (people.charlie, False)):
        answer = browser(user).get(path, {"q": q})
        said = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code == 200
        assert (BESIDE.encode() in said) is is_found, user.username


def test_a_stranger_is_told_that_there_is_no_such_thing(people: Cast) -> None:
    session = Session.objects.latest("id")
    stranger = browser(people.charlie)
    asked = {"q": SECRET}
    for path in (f"/sessions/{session.uid}/find", f"/api/v1/sessions/{session.uid}/find"):
        assert stranger.get(path, asked).status_code == 404, path
        assert browser(people.bob).get(path, asked).status_code == 200, path
    there = {**asked, "workspace": str(people.workspace.id)}
    assert stranger.get("/api/v1/search", there).status_code == 404
    assert browser(people.bob).get("/api/v1/search", there).status_code == 200


def test_nobody_searches_without_signing_in(people: Cast) -> None:
    nobody = browser(None)
    session = Session.objects.latest("id")
    for path in ("/search", "/search/scan", f"/sessions/{session.uid}/find"):
        assert nobody.get(path, {"q": SECRET}).status_code == 302, path
    assert nobody.get("/api/v1/search", {"q": SECRET}).status_code == 401


def test_the_page_searches_the_workspace_one_works_in(people: Cast) -> None:
    Membership.objects.create(user=people.charlie, workspace=people.workspace, role="viewer")
    client = browser(people.charlie)
    asked = {"q": SECRET}
    client.post(f"/workspaces/{people.workspace.id}/switch")
    assert f"<mark>{SECRET}</mark>" in client.get("/search", asked).content.decode()
    mine = Membership.objects.exclude(workspace=people.workspace).get(user=people.charlie)
    client.post(f"/workspaces/{mine.workspace_id}/switch")
    assert "<mark>" not in client.get("/search", asked).content.decode()
    assert client.get("/api/v1/search", asked).status_code == 400


# The same everywhere ------------------------------------------------------------------------

Answer = list[tuple[str, list[int]]]


def test_page_api_and_command_give_the_same_sessions_and_hits_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine one of them would come less far in its time than the others.
    monkeypatch.setattr(walk.Walk, "is_spent", False)
    people = cast()
    fill(people.workspace, random.Random(3), sessions=8)
    for q in QUERIES:
        by_api = browser(people.bob).get("/api/v1/search", {"q": q}).json()
        by_command = _command(people, q)
        assert _plain(by_command) == _plain(by_api), q
        assert _told(by_command) == _told(by_api), q
        assert _on_page(people, q) == _plain(by_api), q


def test_pages_go_on_where_api_and_command_do() -> None:
    people = cast()
    fill(people.workspace, random.Random(4), sessions=14)
    first = browser(people.bob).get("/api/v1/search", {"q": "the", "size": "5"}).json()
    after = first["older"]
    second = browser(people.bob).get("/api/v1/search", {"q": "the", "after": after}).json()

    assert _on_page(people, "the", after) == _plain(second)
    assert _plain(_command(people, "the", "--after", after)) == _plain(second)
    assert not {uid for uid, _ in _plain(first)} & {uid for uid, _ in _plain(second)}


def test_filters_about_sessions_alone_find_the_sessions_of_the_list_at_every_door() -> None:
    people = cast()
    fill(people.workspace, random.Random(5), sessions=9)
    client = browser(people.bob)
    for q in ("project:project1", "project:project*", "-project:project1", "project:nowhere"):
        first = client.get("/api/v1/search", {"q": q, "size": "2"}).json()
        rest = client.get("/api/v1/search", {"q": q, "after": first["older"] or ""}).json()
        both = [*_plain(first), *(_plain(rest) if first["older"] else [])]
        listed = re.findall(
            r'<a[^>]* href="/sessions/([0-9a-f-]{36})/"[^>]*data-row',
            client.get("/", {"q": q}).content.decode(),
        )

        assert both == [(uid, []) for uid in listed], q
        assert _plain(_command(people, q)) == both, q
        page = client.get("/search", {"q": q}).content.decode()
        assert re.findall(r'<a href="/sessions/([0-9a-f-]{36})/" data-row', page) == listed, q


def _command(people: Cast, q: str, *more: str) -> dict[str, Any]:
    out = StringIO()
    name = str(people.workspace.id)
    call_command("search", "--json", "--workspace", name, *more, "--", q, stdout=out)
    told: dict[str, Any] = json.loads(out.getvalue())
    return told


def _plain(told: dict[str, Any]) -> Answer:
    return [(each["session"]["id"], [hit["seq"] for hit in each["hits"]]) for each in told["found"]]


def _told(answer: dict[str, Any]) -> list[object]:
    """All that is said of hits; times are written in two ways."""
    hits = [
        [{**hit, "at": (hit["at"] or "")[:19].replace("T", " ")} for hit in each["hits"]]
        + [each["more"]]
        for each in answer["found"]
    ]
    return [hits, answer["older"], answer["is_cut"], answer["bad"], answer["skipped"]]


def _on_page(people: Cast, q: str, cursor: str = "") -> Answer:
    page = browser(people.bob).get("/search", {"q": q, "from": cursor}).content.decode()
    out: Answer = []
    for uid, seq in re.findall(r'href="/sessions/([0-9a-f-]{36})/\?seq=(\d+)#e\2"', page):
        if not out or out[-1][0] != uid:
            out.append((uid, []))
        out[-1][1].append(int(seq))
    return out
