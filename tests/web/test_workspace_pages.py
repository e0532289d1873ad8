"""Usage, projects, agents and tools: as pages and as fragments, for members and for nobody else."""

import csv
import html
import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.domain import cells
from sessions_app.store import tally
from sessions_app.web import columns
from tests import build
from tests.people import Cast, browser, cast
from tests.store.test_spending import ingest
from tests.store.test_tally import call, result
from tests.store.test_usage import MODEL, answer

pytestmark = pytest.mark.django_db

HOSTILE = '=cmd|"x"<script>alert(1)</script>\u202e'
PAGES = ("/usage/?range=all", "/projects/", "/agents/", "/tools/?range=all")
HTMX = {"HX-Request": "true"}


@pytest.fixture
def people() -> Cast:
    found = cast()
    at = "2026-03-01T10:00:0{}Z".format
    calls = [call("Bash", "c1", at(0)), result("c1", at(2), failed=True), call("Read", "c2", at(3))]
    ingest(found.workspace, [answer("m1", 5), answer("m2", 6), *calls], "p/a.jsonl", project="api")
    unknown = answer("m3", 7, model="house-model", timestamp="2026-03-02T10:00:00Z")
    ingest(found.workspace, [unknown], "p/b.jsonl", project=HOSTILE)
    return found


def page(user: Any, url: str, **headers: str) -> str:
    response = browser(user).get(url, headers=headers)
    assert response.status_code == 200, (url, response.status_code)
    return response.content.decode()


@pytest.mark.parametrize("url", PAGES)
def test_a_page_and_its_fragment_show_the_same(people: Cast, url: str) -> None:
    whole, part = page(people.alice, url), page(people.alice, url, **HTMX)
    assert "<html" in whole
    assert "<html" not in part
    inner = part[part.index("<tbody") : part.index("</tbody>")]
    assert inner in whole


@pytest.mark.parametrize("url", PAGES)
def test_who_goes_back_in_the_history_gets_the_whole_page(people: Cast, url: str) -> None:
    headers = {**HTMX, "HX-History-Restore-Request": "true"}
    assert "<html" in page(people.alice, url, **headers)


@pytest.mark.parametrize("url", [*PAGES, "/usage/csv?range=all", "/api/v1/usage?range=all"])
def test_members_see_it_and_charlie_sees_nothing_of_it(people: Cast, url: str) -> None:
    marks = ("api", "claude-code", "Bash", MODEL)
    mine, theirs = page(people.bob, url), page(people.charlie, url)
    assert any(f">{mark}<" in mine or f'"{mark}"' in mine for mark in marks)
    assert not any(f">{mark}<" in theirs or f'"{mark}"' in theirs for mark in marks), url


@pytest.mark.parametrize("url", PAGES)
def test_hostile_names_stay_text_on_every_page(people: Cast, url: str) -> None:
    shown = page(people.alice, url + ("&by=project" if "usage" in url else ""))
    assert "<script>alert" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("url", ["/usage/", "/projects/", "/agents/", "/tools/"])
def test_an_empty_workspace_says_what_to_do(url: str) -> None:
    nobody = build.member("dora", build.workspace("Empty"), "viewer")
    shown = page(nobody, url)
    assert 'class="empty"' in shown
    assert 'class="button"' in shown


@pytest.mark.parametrize(
    "query",
    [
        "by=colour",
        "of=money",
        "from=2026-02-30",
        "to=tomorrow",
        "from=2026-03-02&to=2026-03-01",
        "project=abc",
        "project=99999999999",
        "machine=٣",
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_a_sentence(
    people: Cast, query: str
) -> None:
    response = browser(people.alice).get(f"/usage/?{query}")
    assert response.status_code == 400
    assert re.search("must (not )?be|is one of", response.content.decode())


# Usage ----------------------------------------------------------------------------------------


def test_unknown_cost_is_shown_as_unknown_with_its_number(people: Cast) -> None:
    shown = page(people.alice, "/usage/?range=all")
    assert "1\u00a0answer has no known price" in shown
    assert '<span class="muted">unknown</span>' in shown
    assert "price list of 9 November 2026" in shown


def test_the_chart_and_its_table_have_the_same_numbers(people: Cast) -> None:
    shown = page(people.alice, "/usage/?from=2026-03-01&to=2026-03-03&of=answers")
    told = json.loads(html.unescape(re.findall(r'data-chart="([^"]*)"', shown)[0]))
    assert told["unit"] == "answers"
    assert told["labels"] == ["Sun 1 Mar 2026", "Mon 2 Mar 2026", "Tue 3 Mar 2026"]
    assert [(line["name"], line["values"]) for line in told["lines"]] == [
        (MODEL, [2, 0, 0]),
        ("house-model", [0, 1, 0]),
    ]
    numbers = shown[shown.index('class="numbers"') :]
    cells_of = re.findall(r"<tr><th scope=\"row\">([^<]+)</th>(.*?)</tr>", numbers)
    read = [(label, [int(n) for n in re.findall(r">(\d+)<", row)]) for label, row in cells_of[:3]]
    assert read == [
        ("Sun 1 Mar 2026", [2, 0, 2]),
        ("Mon 2 Mar 2026", [0, 1, 1]),
        ("Tue 3 Mar 2026", [0, 0, 0]),
    ]


def test_time_alone_is_drawn_by_kind_of_token(people: Cast) -> None:
    shown = page(people.alice, "/usage/?range=all&by=day")
    told = json.loads(html.unescape(re.findall(r'data-chart="([^"]*)"', shown)[0]))
    assert [line["name"] for line in told["lines"]] == [
        "Cache read",
        "Cache written",
        "Input",
        "Output",
    ]


def test_a_name_narrows_the_page_down_and_a_chip_takes_it_back(people: Cast) -> None:
    client = browser(people.alice)
    shown = client.get("/usage/?range=all&by=project").content.decode()
    link = html.unescape(
        re.findall(r'<a class="name" href="([^"]+)" title="[^"]*">api</a>', shown)[0]
    )
    assert "api" not in link, "names are sealed and do not stand in addresses"
    narrowed = client.get(link).content.decode()
    assert f">{MODEL}<" in narrowed
    assert "house-model" not in narrowed
    assert '<li class="chip"><b>project</b> api<a class="icon-button"' in narrowed
    back = re.findall(r'<li class="chip">.*?href="([^"]+)"', narrowed)[0]
    assert "house-model" in client.get(html.unescape(back)).content.decode()


def test_the_days_of_a_usual_stretch_are_left_out_of_the_address(people: Cast) -> None:
    today = timezone.now().date().isoformat()
    first = (timezone.now().date() - timedelta(days=29)).isoformat()
    query = f"range=30d&from={first}&to={today}&by=agent&of="
    response = browser(people.alice).get(f"/usage/?{query}", headers=HTMX)
    assert response["HX-Push-Url"] == "/usage/?by=agent"
    changed = browser(people.alice).get(f"/usage/?{query}&from=2026-03-01", headers=HTMX)
    kept = parse_qs(urlsplit(changed["HX-Push-Url"]).query)
    assert kept == {"from": ["2026-03-01"], "to": [today], "by": ["agent"]}


def test_a_page_that_must_wait_says_so_and_asks_again(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "refresh", lambda *_, **__: 3)
    shown = page(people.alice, "/usage/?range=all")
    assert "3\u00a0sessions are still being counted" in shown
    assert 'hx-trigger="every 3s"' in shown


def test_times_too_far_apart_are_told_and_not_drawn(people: Cast) -> None:
    lines = [
        answer("old", 1, timestamp="1970-01-01T00:00:01Z"),
        answer("new", 1, timestamp="9999-12-30T00:00:00Z"),
    ]
    ingest(people.workspace, lines, "p/far.jsonl")
    for by in ("model", "day"):
        shown = page(people.alice, f"/usage/?range=all&by={by}")
        assert "too far apart to be drawn" in shown
        assert "<usage-chart" not in shown
    assert page(people.alice, "/usage/?from=9999-12-01&to=9999-12-31").count("<usage-chart") == 1


# CSV ------------------------------------------------------------------------------------------


def table(client: Client, url: str) -> list[list[str]]:
    response = client.get(url)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="[\w.-]+"', response["Content-Disposition"])
    return list(csv.reader(io.StringIO(response.content.decode(), newline="")))


def test_the_file_has_the_numbers_of_the_page_day_by_day(people: Cast) -> None:
    head, *lines = table(browser(people.alice), "/usage/csv?range=all")
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    assert [(row["day"], row["model"], row["answers"], row["output"]) for row in rows] == [
        ("2026-03-01", MODEL, "2", "11"),
        ("2026-03-02", "house-model", "1", "7"),
    ]
    assert float(rows[0]["cost_usd"]) > 0
    assert rows[0]["prices_of"] == "2026-11-09"
    # Unknown is empty, never zero, and counted beside.
    assert (rows[1]["cost_usd"], rows[1]["answers_without_price"]) == ("", "1")


def test_no_cell_of_the_file_is_a_formula_and_names_come_back(people: Cast) -> None:
    _, *lines = table(browser(people.alice), "/usage/csv?range=all&by=project")
    names = [line[1] for line in lines]
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "-", "@"))]
    assert HOSTILE in [cells.original(name) for name in names]


def test_without_anything_to_tell_apart_there_is_one_line_a_day(people: Cast) -> None:
    head, *lines = table(browser(people.alice), "/usage/csv?range=all&by=day")
    assert head[:2] == ["day", "answers"]
    assert [line[:2] for line in lines] == [["2026-03-01", "2"], ["2026-03-02", "1"]]


# Tables ---------------------------------------------------------------------------------------


def names(shown: str) -> list[str]:
    table = shown[shown.index("is-sorted") :]
    rows = re.findall(r'role="rowheader" class="is-lead">(.*?)</th>', table, re.S)
    return [re.sub(r"<.*?>", "", row) for row in rows if row != "Together"]


def test_headers_sort_both_ways_and_say_so(people: Cast) -> None:
    client = browser(people.alice)
    first = client.get("/tools/?range=all").content.decode()
    assert 'aria-sort="descending"' in first
    assert first.count('aria-sort="none"') == 7
    by_name = client.get("/tools/?range=all&sort=name").content.decode()
    assert names(by_name) == ["Bash", "Read"]
    assert names(client.get("/tools/?range=all&sort=-name").content.decode()) == ["Read", "Bash"]
    assert "sort=-name" in by_name


def test_an_unknown_number_comes_last_whichever_way(people: Cast) -> None:
    for sort in ("cost", "-cost"):
        shown = page(people.alice, f"/usage/?range=all&sort={sort}")
        assert names(shown)[-1] == "house-model"


def test_a_sort_that_is_none_is_the_usual_one(people: Cast) -> None:
    usual, odd = (page(people.alice, f"/usage/?range=all&sort={sort}") for sort in ("", "colour"))
    assert names(odd) == names(usual) == [MODEL, "house-model"]


def test_long_tables_go_on_behind_the_last_row(
    people: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "PAGE", 2)
    for number in range(3):
        ingest(people.workspace, [answer(f"x{number}", 1)], f"{number}.jsonl", project=f"p{number}")
    client, url, seen = browser(people.alice), "/projects/?sort=name", []
    while url:
        shown = client.get(url).content.decode()
        seen += names(shown)
        following = re.findall(r'href="([^"]+)" rel="next"', shown)
        url = html.unescape(following[0]) if following else ""
    assert seen == sorted(seen, key=str.casefold)
    assert len(seen) == len(set(seen)) == 6
    assert "First" in shown


def test_rows_lead_to_the_sessions_they_count(people: Cast) -> None:
    shown = page(people.alice, "/projects/")
    link = re.findall(r'<a class="name" href="([^"]+)"[^>]*>api<', shown)[0]
    assert parse_qs(urlsplit(html.unescape(link)).query) == {"q": ["project:api"]}
    listed = browser(people.alice).get(html.unescape(link)).content.decode()
    assert listed.count("data-row") == 1
    tool = re.findall(
        r'<a class="name" href="([^"]+)"[^>]*>Bash<', page(people.alice, "/tools/?range=all")
    )
    assert parse_qs(urlsplit(html.unescape(tool[0])).query) == {"q": ["tool:Bash"]}


def test_tools_tell_calls_errors_and_time(people: Cast) -> None:
    shown = page(people.alice, "/tools/?range=all")
    bash = re.findall(r"<tr.*?</tr>", shown, re.S)
    row = next(each for each in bash if ">Bash<" in each)
    assert "100\u00a0%" in row
    assert "2.0\u00a0s" in row
    read = next(each for each in bash if ">Read<" in each)
    assert '<span class="odd">1</span>' in read


def test_tools_of_each_agent_stand_apart_if_asked(people: Cast) -> None:
    shown = page(people.alice, "/tools/?range=all&split=agent&agent=claude-code")
    assert '<option value="claude-code" selected>' in shown
    assert "checked" in shown
    assert sorted(names(shown)) == ["Bash", "Read"]
    assert "No tool was called" in page(people.alice, "/tools/?range=all&agent=nobody")


# Over HTTP ------------------------------------------------------------------------------------


def test_the_api_gives_the_numbers_of_the_page(people: Cast) -> None:
    told = json.loads(page(people.alice, "/api/v1/usage?from=2026-03-01&to=2026-03-31&by=model"))
    assert (told["first"], told["last"], told["step"]) == ("2026-03-01", "2026-03-31", "day")
    assert told["total"]["answers"] == 3
    assert told["total"]["unpriced"] == 1
    groups = {group["name"]: group for group in told["groups"]}
    assert groups["house-model"]["cost"] is None
    assert groups[MODEL]["cost"] > 0
    assert [(step["start"], step["name"]) for step in told["steps"]] == [
        ("2026-03-01", MODEL),
        ("2026-03-02", "house-model"),
    ]
    assert told["waiting"] == 0


def test_the_api_leaves_in_what_has_a_name(people: Cast) -> None:
    told = json.loads(page(people.alice, "/api/v1/usage?range=all&project=API&by=project"))
    assert [group["name"] for group in told["groups"]] == ["api"]
    assert told["total"]["answers"] == 2


def test_the_api_tells_a_stranger_nothing(people: Cast) -> None:
    url = f"/api/v1/usage?workspace={people.workspace.id}"
    assert browser(people.charlie).get(url).status_code == 404
    assert browser(None).get(url).status_code == 401
    assert browser(people.bob).get(url).status_code == 200


@pytest.mark.parametrize(
    "query", ["by=colour", "range=2d", "from=x", "from=2026-03-02&to=2026-03-01"]
)
def test_the_api_refuses_what_makes_no_sense(people: Cast, query: str) -> None:
    assert browser(people.alice).get(f"/api/v1/usage?{query}").status_code in (400, 422)


def test_a_sum_is_as_new_as_what_was_written_before_it_was_asked_for(people: Cast) -> None:
    client = browser(people.alice)
    url = "/api/v1/usage?range=all"
    before = client.get(url).json()["total"]["answers"]
    now = datetime.now(UTC).isoformat()
    ingest(people.workspace, [answer("fresh", 1, timestamp=now)], "fresh.jsonl")
    assert client.get(url).json()["total"]["answers"] == before + 1
