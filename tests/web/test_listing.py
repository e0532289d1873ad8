"""The list of sessions as a person gets it: one text, and everything that rewrites it."""

import io
import re
import tarfile
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app import tasks
from sessions_app.domain.lifecycle import Ending
from sessions_app.models import Job, SavedSearch, Session, Workspace
from sessions_app.models.record import Part
from sessions_app.store import jobs, searches
from sessions_app.store.checked import Matches
from sessions_app.store.facts import Facts
from sessions_app.store.patterns import TooSlow
from tests import build
from tests.people import browser, cast

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def told(**more: object) -> Facts:
    usual = {"title": "Fix it", "project": "api", "machine": "box", "tools": ("Bash",)}
    return Facts(**{**usual, **more})  # type: ignore[arg-type]


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def client(place: Workspace) -> Client:
    return browser(build.member("ann", place))


def page(client: Client, q: str = "", **more: str) -> str:
    answer = client.get("/", {"q": q, **more} if q or more else {})
    assert answer.status_code == 200, answer
    return answer.content.decode()


def asked(url: str) -> str:
    """The text an address of the list stands for."""
    return parse_qs(urlsplit(unescape(url)).query).get("q", [""])[0]


def link(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, pattern
    return asked(found[1])


# The rows -----------------------------------------------------------------------------------------


def test_a_row_says_what_is_known_and_dashes_what_is_not(place: Workspace, client: Client) -> None:
    now = timezone.now()
    build.row(
        place,
        told(models=("model-a", "model-b"), model="model-b", ending=Ending.ANSWERED.value),
        at=now,
        started_at=now - timedelta(minutes=12),
        prompts=7,
        errors=3,
        tokens=1_234_567,
        cost=2_500_000_000_000,
        unpriced=2,
        held=True,
    )
    shown = page(client)
    for words in (
        *("Waiting", "Fix it", "api", "claude-code", "model-b +1", "model-a, model-b", "box"),
        *("12\xa0min", "1.2M", "1,234,567 tokens", "≥ $2.50", "2\xa0answers have no known price"),
        *("On hold", "1 session"),
    ):
        assert words in shown, words
    Session.objects.update(tokens=None, cost=None, unpriced=0, held=False)
    bare = page(client)
    assert "$" not in bare.split("<tbody")[1].split("</tbody>")[0]
    assert "0 tokens" not in bare
    assert 'title="not known"' in bare
    Session.objects.update(last_at=None, seconds=None)
    assert "arrived <time" in page(client)


def test_a_badge_says_until_when_a_session_is_kept(place: Workspace, client: Client) -> None:
    now = timezone.now()
    for days, words in ((12.5, "Purge in 12 d"), (0.5, "Purge today"), (-3, "Purge due")):
        Session.objects.all().delete()
        build.row(place, told(), expires_at=now + timedelta(days=days))
        assert words in page(client)


def test_every_status_has_a_word_and_a_shape(place: Workspace, client: Client) -> None:
    from sessions_app.domain.lifecycle import Status
    from sessions_app.templatetags.ui import STATES

    looks = [STATES[status] for status in Status]
    assert len({tone for tone, _ in looks}) == len(looks)
    assert len({word for _, word in looks}) == len(looks)


def test_the_fragment_is_the_rows_and_nothing_when_nothing_changed(
    place: Workspace, client: Client
) -> None:
    build.row(place, told())
    again = re.search(r'data-again="([^"]+)"', page(client))
    assert again is not None
    url = unescape(again[1])
    assert client.get(url, headers=HTMX).status_code == 204
    build.row(place, told(title="Another"))
    answer = client.get(url, headers=HTMX).content.decode()
    assert answer.count('<tr role="row" id=') == 2
    assert "<html" not in answer
    assert 'data-total="2 sessions"' in answer
    # Without a script the same address is the page.
    assert "<html" in client.get(url).content.decode()


def test_a_search_for_text_does_not_repeat_itself(place: Workspace, client: Client) -> None:
    build.session(place, build.line("user", "an unusual word: xylophone"))
    shown = page(client, "xylophone")
    assert "xylophone" in shown
    assert "data-again" not in shown


def test_queries_are_as_many_for_one_session_as_for_fifty(place: Workspace, client: Client) -> None:
    def number(q: str) -> int:
        with CaptureQueriesContext(connection) as caught:
            page(client, q)
        return len(caught)

    build.row(place, told())
    # Whose visit it is, is asked for apart the first time.
    page(client, "")
    texts = ("is:closed", "tool:Bash sort:cost", "project:a* tokens:<5 -agent:pi")
    before = {text: number(text) for text in texts}
    for n in range(60):
        build.row(place, told(title=f"No {n}", project=f"a{n}", tools=(f"t{n}", "Bash")))
    assert {text: number(text) for text in texts} == before
    assert max(before.values()) < 20


# The text -----------------------------------------------------------------------------------------


def test_the_list_pages_with_its_query(place: Workspace, client: Client) -> None:
    for n in range(60):
        build.row(place, told(title=f"No {n}"), errors=n % 2)
    first = page(client, "is:error sort:events")
    assert "30 sessions" in first
    every = page(client, "sort:events")
    older = re.search(r'href="(\?[^"]*after=[^"]+)"', every)
    assert older is not None
    second = client.get("/" + unescape(older[1])).content.decode()
    assert second.count('<tr role="row" id=') == 10
    assert "before=" in second


def test_tokens_are_echoed_as_chips_that_take_them_out(place: Workspace, client: Client) -> None:
    build.row(place, told())
    shown = page(client, 'tool:Bash -agent:pi "a phrase"')
    assert link(shown, r'<a class="icon-button" href="([^"]+)"[^>]*Remove tool:Bash"') == (
        '-agent:pi "a phrase"'
    )
    assert link(shown, r'<a class="icon-button" href="([^"]+)"[^>]*Remove -agent:pi"') == (
        'tool:Bash "a phrase"'
    )


def test_a_bad_part_is_marked_and_the_rest_runs(place: Workspace, client: Client) -> None:
    build.row(place, told())
    shown = page(client, "colour:red project:api tokens:lots title:Fi*")
    assert "Fix it" in shown
    assert shown.count('class="chip is-err"') == 3
    assert "There is no filter “colour:”" in shown
    assert "“tokens:” needs a whole number" in shown
    assert "looks for whole words" in shown


def test_nothing_found_says_what_to_do(place: Workspace, client: Client) -> None:
    build.row(place, told())
    shown = page(client, "project:nowhere")
    assert "No session matches" in shown
    assert "0 sessions" in shown
    assert 'id="bulk"' not in shown


@pytest.mark.parametrize("is_found", [True, False])
def test_a_text_that_was_not_looked_for_everywhere_is_told_as_such(
    place: Workspace, client: Client, monkeypatch: pytest.MonkeyPatch, is_found: bool
) -> None:
    row = build.row(place, told())
    found = Matches(ids=(row.id,) if is_found else (), is_cut=True)
    monkeypatch.setattr("sessions_app.store.search.session_ids", lambda *_, **__: found)

    shown = page(client, "timeout")
    answer = client.get(f"/api/v1/workspaces/{place.id}/sessions", {"q": "timeout"}).json()

    assert ("1+ sessions" if is_found else "No sessions so far") in shown
    assert ("Nothing found so far" in shown) is not is_found
    assert '<a href="/search?q=timeout">go on in the search</a>' in shown
    assert answer["is_cut"] is True


def test_an_expression_that_takes_too_long_is_marked_and_the_rest_runs(
    place: Workspace, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.row(place, told())
    build.row(place, told(title="Elsewhere", project="web"))

    def too_slow(*_: object, **__: object) -> None:
        raise TooSlow

    monkeypatch.setattr("sessions_app.store.search.session_ids", too_slow)
    shown = page(client, "/(a+)+$/ project:api")

    assert "takes too long on the text it meets" in shown
    assert "Fix it" in shown
    assert "Elsewhere" not in shown


def test_an_empty_workspace_still_explains_a_query(place: Workspace, client: Client) -> None:
    assert "Welcome to Recount" in page(client)
    assert "No session matches" in page(client, "project:x")


def test_subagents_are_told_of_and_listed_by_one_click(place: Workspace, client: Client) -> None:
    build.row(place, told())
    build.row(place, told(title="A helper"), part=Part.SUBAGENT)
    shown = page(client)
    assert "A helper" not in shown
    assert "1 subagent not listed" in shown
    wide = page(client, link(shown, r'not listed. <a href="([^"]+)"'))
    assert "A helper" in wide
    assert "not listed" not in wide


# What rewrites it ---------------------------------------------------------------------------------


def test_facets_include_narrow_to_and_exclude(place: Workspace, client: Client) -> None:
    build.row(place, told())
    build.row(place, told(project="my web", title="Other"))
    shown = page(client, "format:*")
    row = re.search(r'<li class="facet">(?:(?!</li>).)*?my web.*?</li>', shown)
    assert row is not None
    urls = [asked(url) for url in re.findall(r'href="([^"]+)"', row[0])]
    assert urls == [
        'format:* project:"my web"',
        'format:* project:"my web"',
        'format:* -project:"my web"',
    ]
    one = page(client, urls[0])
    assert "Other" in one
    assert "Fix it" not in one
    both = re.search(r'<li class="facet">(?:(?!</li>).)*?api<.*?</li>', one)
    assert both is not None
    toggled = [asked(url) for url in re.findall(r'href="([^"]+)"', both[0])]
    assert toggled[0] == 'format:* project:["my web",api]'
    assert toggled[1] == "format:* project:api"
    chosen = re.search(r'<a class="pick" href="([^"]+)" aria-current="true">.*?my web', one)
    assert chosen is not None
    assert asked(chosen[1]) == "format:*"


def test_forms_beside_the_field_become_part_of_the_text(place: Workspace, client: Client) -> None:
    build.row(place, told())
    for given, text in (
        ({"q": "a sort:cost", "sort": "tokens"}, "a sort:tokens"),
        ({"q": "a sort:cost", "sort": "newest"}, "a"),
        ({"q": "a", "sort": "nonsense"}, "a"),
        ({"q": "after:-7d x", "from": "2026-01-02", "to": ""}, "x after:2026-01-02"),
        # The day in the second field is meant to be in it; a stretch of bars goes as it is.
        (
            {"q": "x", "from": "2026-01-02", "to": "2026-01-31"},
            "x after:2026-01-02 before:2026-02-01",
        ),
        (
            {"q": "x", "from": "2026-01-02T10:00", "until": "2026-02-01"},
            "x after:2026-01-02T10:00 before:2026-02-01",
        ),
        ({"q": "x before:-1d", "from": "", "to": ""}, "x"),
        ({"q": "tokens:>5 x", "min-tokens": "50k", "max-tokens": ""}, "x tokens:>=50k"),
        ({"q": "x", "min-cost": "", "max-cost": "2"}, "x cost:<=2"),
    ):
        answer = client.get("/", given)
        assert answer.status_code == 302, given
        assert asked(answer["Location"]) == text
    assert client.get("/", {"q": "x", "from": "soonish"}).status_code == 400


def test_bars_over_the_numbers_show_where_most_sessions_lie(
    place: Workspace, client: Client
) -> None:
    for tokens in (600, 70_000, 80_000):
        build.row(place, told(), tokens=tokens)
    shown = page(client)
    assert 'aria-label="Tokens: most sessions from 66k, 2"' in shown
    # One number, or none, has nothing to be compared with.
    assert shown.count('class="bars is-tiny"') == 1


def test_headers_sort_and_say_how(place: Workspace, client: Client) -> None:
    build.row(place, told())
    shown = page(client, "agent:c*")
    assert 'aria-sort="descending"><a class="sort" href="/?q=agent%3Ac%2A+sort%3Aoldest"' in shown
    costly = page(client, "agent:c* sort:cost")
    assert re.search(r'aria-sort="descending"><a class="sort"[^>]*>Cost', costly)
    assert '<option value="cost" selected>' in costly
    old = page(client, "sort:oldest")
    assert re.search(r'aria-sort="ascending"><a class="sort"[^>]*>Last event', old)


def test_more_of_a_facet_is_one_click_away(place: Workspace, client: Client) -> None:
    for n in range(12):
        build.row(place, told(project=f"p{n:02}"))
    shown = page(client)
    more = re.search(r'<a class="note" href="([^"]+)">4 more</a>', shown)
    assert more is not None
    wide = client.get(unescape(more[1])).content.decode()
    assert wide.count(">p") - shown.count(">p") >= 4


def test_times_are_drawn_with_their_stretches(place: Workspace, client: Client) -> None:
    for n in range(5):
        build.row(place, told(), at=build.NOW - timedelta(days=10 * n))
    shown = page(client)
    assert '<time-brush><svg class="bars"' in shown
    assert re.search(r'data-from="2026-\d\d-\d\d" data-to="2026-\d\d-\d\d"', shown)
    assert 'name="from" type="date"' in shown
    week = re.search(r'href="([^"]+)">7 days', shown)
    assert week is not None
    assert asked(week[1]) == "after:-7d"
    narrow = page(client, "after:2026-11-01 before:2026-11-09")
    assert 'value="2026-11-01"' in narrow
    assert 'value="2026-11-08"' in narrow


@pytest.mark.parametrize(
    "asked",
    [
        {"q": "before:0001-01-01"},
        {"q": "after:0001-01-01T00:00+14:00 before:9999-12-31T23:59:59-14:00"},
        {"from": "0001-01-01", "to": "9999-12-31"},
    ],
)
def test_the_ends_of_the_calendar_are_days_like_any_other(
    place: Workspace, client: Client, asked: dict[str, str]
) -> None:
    build.row(place, told())
    assert client.get("/", asked, follow=True).status_code == 200


def test_hostile_names_stay_text_everywhere(place: Workspace, client: Client) -> None:
    attack = '"><img src=x onerror=alert(1)>\u202e\udcff\n<script>alert(1)</script>'
    build.row(
        place,
        told(
            title=attack, project=attack, machine=attack, tools=(attack,), models=(attack,),
            model=attack, branches=(attack,),
        ),
    )  # fmt: skip
    searches.add(place, build.member("eve", place), name=attack.replace("\udcff", ""), query="x")
    shown = page(client) + client.get("/searches/").content.decode()
    for url in re.findall(r'class="pick" href="([^"]+)"', page(client)):
        shown += client.get(unescape(url)).content.decode()
    for text in ("tool:", "project:", "img"):
        asks = {"q": text, "at": str(len(text))}
        shown += client.get("/sessions/suggest", asks, headers=HTMX).content.decode()
    assert "<img" not in shown
    assert "<script>alert" not in shown
    assert "U+202E" in shown
    narrowed = link(page(client), r'<a class="pick" href="(/\?q=project[^"]+)"')
    assert "1 session" in page(client, narrowed)


def test_suggestions_are_options_for_htmx_and_the_list_for_people(
    place: Workspace, client: Client
) -> None:
    build.row(place, told())
    answer = client.get("/sessions/suggest", {"q": "tool:", "at": "5"}, headers=HTMX)
    shown = answer.content.decode()
    assert 'role="option"' in shown
    assert 'data-text="tool:Bash "' in shown
    assert "1\xa0session" in shown
    assert asked(client.get("/sessions/suggest", {"q": "tool:x"})["Location"]) == "tool:x"
    odd = client.get("/sessions/suggest", {"q": "x", "at": "99999999999999"}, headers=HTMX)
    assert odd.status_code == 200


# Several at once ----------------------------------------------------------------------------------


def test_a_suggestion_says_where_its_count_is_a_floor(
    place: Workspace, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.row(place, told())
    build.row(place, told())
    monkeypatch.setattr("sessions_app.store.overview.LOOKED_AT", 1)
    shown = client.get("/sessions/suggest", {"q": "project:"}, headers=HTMX).content.decode()
    assert "2+ sessions" in shown


def test_selected_sessions_are_exported_as_one_tar() -> None:
    people = cast()
    other = build.session(people.workspace, build.log(2), "b/other.jsonl")
    ids = [str(people.session.uid), str(other.uid)]
    answer = browser(people.bob).post("/sessions/export", {"id": ids})
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        assert sorted(tar.getnames()) == ["box/a/session.jsonl", "box/b/other.jsonl"]
    assert answer["Content-Disposition"] == 'attachment; filename="sessions.tar"'


def test_selected_sessions_are_verified_as_one_job() -> None:
    people = cast()
    other = build.session(people.workspace, build.log(2), "b/other.jsonl")
    ids = [str(people.session.uid), str(other.uid)]
    answer = browser(people.bob).post("/sessions/verify", {"id": ids})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/")
    job = Job.objects.get()
    assert (job.kind, job.arguments) == ("verify.sessions", {"sessions": ids})
    Session.objects.filter(id=other.id).update(head_hash=bytes(32))
    claim = jobs.claim(job.id)
    assert claim is not None
    assert tasks.KINDS["verify.sessions"](tasks.Run(claim)).startswith("1 broken")
    assert Session.objects.get(id=people.session.id).problem == ""
    assert Session.objects.get(id=other.id).problem


def test_a_strangers_session_is_in_no_selection() -> None:
    people = cast()
    client = browser(people.charlie)
    for url in ("/sessions/export", "/sessions/verify"):
        assert client.post(url, {"id": [str(people.session.uid)]}).status_code == 404
        assert client.post(url).status_code == 400
        assert client.post(url, {"id": ["x"]}).status_code == 400
    assert not Job.objects.exists()


# Saved searches -----------------------------------------------------------------------------------


def test_a_search_is_saved_for_the_workspace_and_sealed() -> None:
    people = cast()
    build.member("cara", people.workspace, "auditor")
    client = browser(people.alice)
    answer = client.post("/searches/", {"name": "  Secret  hunt ", "q": "project:secret"})
    assert asked(answer["Location"]) == "project:secret"
    row = SavedSearch.objects.get()
    assert b"ecret" not in bytes(row.sealed)
    shown = browser(people.bob).get("/").content.decode()
    assert "Secret hunt" in shown
    assert 'href="/?q=project%3Asecret"' in shown
    assert "Secret hunt" not in browser(people.charlie).get("/searches/").content.decode()


def test_saved_searches_are_changed_by_whoever_made_them_and_by_curators() -> None:
    people = cast()
    cara = build.member("cara", people.workspace, "auditor")
    dan = build.member("dan", people.workspace, "auditor")
    eli = build.member("eli", people.workspace, "curator")
    mine = searches.add(people.workspace, cara, name="Mine", query="x")
    assert browser(dan).post(f"/searches/{mine}/rename", {"name": "His"}).status_code == 403
    assert browser(dan).post(f"/searches/{mine}/remove").status_code == 403
    assert browser(cara).post(f"/searches/{mine}/rename", {"name": "Hers"}).status_code == 302
    assert [each.name for each in searches.of_workspace(people.workspace)] == ["Hers"]
    assert [each.query for each in searches.of_workspace(people.workspace)] == ["x"]
    assert browser(eli).post(f"/searches/{mine}/remove").status_code == 302
    assert not SavedSearch.objects.exists()


def test_a_saved_search_needs_a_name_and_a_query() -> None:
    people = cast()
    client = browser(people.alice)
    for form in ({"name": "", "q": "x"}, {"name": "x", "q": " "}, {"name": "y" * 81, "q": "x"}):
        assert client.post("/searches/", form).status_code == 400
    assert client.post("/searches/", {"name": "n", "q": "z" * 2001}).status_code == 400


def test_a_moved_seal_hides_one_saved_search_and_no_other() -> None:
    people = cast()
    searches.add(people.workspace, people.alice, name="One", query="x")
    searches.add(people.workspace, people.alice, name="Two", query="y")
    one, two = SavedSearch.objects.order_by("created_at")
    SavedSearch.objects.filter(id=one.id).update(sealed=two.sealed)
    assert [each.name for each in searches.of_workspace(people.workspace)] == ["Two"]


# The API ------------------------------------------------------------------------------------------


def test_the_api_gives_the_same_sessions(place: Workspace, client: Client) -> None:
    for n in range(7):
        build.row(place, told(title=f"No {n}"), errors=n % 2, tokens=n * 100, cost=n * 10**12)
    url = f"/api/v1/workspaces/{place.id}/sessions"
    told_ = client.get(url, {"q": "is:error sort:tokens colour:red", "size": "2"}).json()
    assert [each["title"] for each in told_["sessions"]] == ["No 5", "No 3"]
    assert told_["sessions"][0]["cost"] == 5.0
    assert told_["bad"][0]["text"] == "colour:red"
    after = str(told_["older"])
    rest = client.get(url, {"q": "is:error sort:tokens", "after": after}).json()
    assert [each["title"] for each in rest["sessions"]] == ["No 1"]
    assert client.get(url, {"q": "x" * 2001}).status_code == 422
