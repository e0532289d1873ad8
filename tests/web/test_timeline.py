"""The timeline as page and fragment: light at any size, safe, and whole without scripts."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import unquote, urlencode

import orjson
import pytest
from django.test import Client

from sessions_app.models import Session
from tests import build
from tests.people import browser

HTMX = {"HX-Request": "true"}
NINE = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
ATTACK = "<img src=x onerror=alert(1)>\"'\u202e"


def line(kind: str, content: object, second: float, number: int, **more: object) -> bytes:
    record = {
        "type": kind,
        "sessionId": "s1",
        "uuid": f"u{number}",
        "requestId": f"r{number}",
        "timestamp": (NINE + timedelta(seconds=second)).isoformat(),
        "message": {"role": kind, "content": content, "id": f"m{number}", **more},
    }
    return orjson.dumps(record) + b"\n"


def working(
    count: int, tools: tuple[str, ...] = ("Bash", "Read", "Edit", "Grep", "Write", "Glob")
) -> bytes:
    """Prompts, calls and results, a few seconds apart; every hundredth event after a long pause."""
    lines, second = [], 0.0
    part: dict[str, object]
    used = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": 9_000}
    for number in range(count):
        second += 4_000 if number and number % 100 == 0 else 3
        if number % 20 == 0:
            lines.append(line("user", f"do {number}", second, number))
        elif number % 2:
            name = tools[number // 2 % len(tools)]
            part = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {"n": number}}
            model = "claude-opus-4-5-20251101"
            lines.append(line("assistant", [part], second, number, model=model, usage=used))
        else:
            part = {
                "type": "tool_result",
                "tool_use_id": f"c{number - 1}",
                "content": "ok",
                "is_error": number % 50 == 2,
            }
            lines.append(line("user", [part], second, number))
    return b"".join(lines)


class Reader:
    """A person with a browser, looking at one session."""

    def __init__(self, client: Client, session: Session) -> None:
        self.client = client
        self.session = session

    def get(self, query: str = "", **headers: str) -> str:
        address = f"/sessions/{self.session.uid}/timeline{query}"
        response = self.client.get(address, headers=headers or None)
        assert response.status_code == 200, response.content[:500]
        return response.content.decode()

    def refused(self, query: str) -> str:
        response = self.client.get(f"/sessions/{self.session.uid}/timeline{query}")
        assert response.status_code == 400
        return response.content.decode()


def reader(data: bytes) -> Reader:
    place = build.workspace()
    return Reader(browser(build.member("ann", place)), build.session(place, data))


def link(page: str, name: str) -> str:
    """The address behind a control, as the query after the page's own."""
    found = re.search(rf'<a[^>]*id="tl-{name}" href="timeline([^"]*)"', page)
    assert found, name
    return unescape(found[1])


def link_to(page: str, name: str) -> str:
    found = re.search(rf'<a[^>]*id="{name}" href="([^"]*)"', page)
    assert found, name
    return unescape(found[1])


def pins(page: str) -> list[tuple[str, str]]:
    """Lanes from top to bottom, and what pinning or releasing each would ask for."""
    found = re.findall(
        r'href="timeline\?([^"]*)"[^>]* aria-label="(?:Keep|Release) the lane (.*?)(?: on top)?"',
        page,
    )
    return [(unescape(name), unescape(query)) for query, name in found]


def figures(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]*)<", page.split('class="chosen"')[1])
    return {name: unescape(value).strip() for name, value in found}


def lanes(page: str) -> dict[str, tuple[str, str]]:
    """Shown and in the session, by lane, as the table says."""
    rows = r'<th scope="row">(.*?)</th><td class="num">([\d,]+)</td><td class="num">([\d,]+)</td>'
    return {name: (shown, total) for name, shown, total in re.findall(rows, page)}


@pytest.mark.django_db
def test_the_timeline_is_a_page_and_a_fragment() -> None:
    person = reader(working(60))
    page, part = person.get(), person.get(**HTMX)

    assert page.count("<h1") == 1
    assert "<html" not in part
    assert part.lstrip().startswith("<timeline-view")
    assert 'aria-current="page">Timeline</a>' in page
    assert "style=" not in page


@pytest.mark.django_db
def test_every_event_is_in_one_lane_of_the_table() -> None:
    found = lanes(reader(working(60)).get())
    counted = sum(int(shown) for name, (shown, _) in found.items() if name != "Errors")

    assert counted == 60
    assert found["Prompts"] == ("3", "3")
    assert found["Bash"] == ("5", "5")
    assert found["Other tools"] == ("5", "5")
    assert found["Errors"] == ("2", "2")


@pytest.mark.django_db
def test_the_name_of_a_lane_leads_to_the_transcript_with_nothing_else() -> None:
    page = reader(working(60)).get()

    for name, filter in [
        ("Prompts", "show=prompts"),
        ("Assistant", "show=answers"),
        ("Bash", "show=tools&amp;tool=Bash"),
        ("Errors", "show=errors"),
    ]:
        assert f'<a class="clip" href="./?{filter}">{name}</a>' in page
    assert '<span class="clip">Other tools</span>' in page


@pytest.mark.django_db
def test_zooming_by_links_shows_less_and_fit_shows_all_again() -> None:
    person = reader(working(600))
    page = person.get()
    assert "600\xa0events shown, counted in bars" in page

    closer = person.get(link(page, "closer"))
    assert "counted in bars" not in closer
    assert int(re.findall(r"(\d+)\xa0events shown", closer)[0]) < 400
    later = person.get(link(closer, "later"))
    assert link(later, "later") != link(closer, "later")
    assert "600\xa0events shown" in person.get(link(later, "fit"))
    assert "600\xa0events shown" in person.get(link(closer, "farther"))


@pytest.mark.django_db
def test_wall_and_compressed_time_show_the_same_stretch() -> None:
    person = reader(working(600))
    page = person.get()
    assert 'id="tl-compressed"' in page
    wall = person.get(link(page, "wall"))

    assert "Hatched are pauses" in page
    assert "Hatched are pauses" not in wall
    assert lanes(page) == lanes(wall)


@pytest.mark.django_db
def test_a_selected_range_says_what_lies_in_it_and_where_to_read_it() -> None:
    person = reader(working(60))
    page = person.get("?since=2026-11-01T09:00:03&until=2026-11-01T09:00:19")
    found = figures(page)

    assert found["Events"] == "6"
    assert found["Prompts"] == "1"
    assert found["Tool calls"] == "3"
    assert found["Results"] == "2"
    assert found["Errors"] == "1"
    assert found["Length"] == "16\xa0s"
    assert found["Tokens"] == "27k"
    assert found["Cost"].startswith("$")
    assert 'id="tl-open" href="./?seq=0#e0"' in page
    assert "Select" in page


@pytest.mark.django_db
def test_a_selected_range_can_be_taken_along() -> None:
    page = reader(working(60)).get("?since=2026-11-01T09:00:03&until=2026-11-01T09:00:19")

    assert 'href="markdown?lo=0&amp;hi=5" data-copies' in page
    assert 'export?as=html&amp;from=0&amp;to=5" download' in page


@pytest.mark.django_db
def test_a_range_without_events_says_so() -> None:
    page = reader(working(200)).get("?since=2026-11-01T09:30:00&until=2026-11-01T09:31:00")

    assert "No event lies in this range" in page


@pytest.mark.django_db
def test_a_range_is_a_window_on_all_sessions_that_were_active_in_it() -> None:
    person = reader(working(60))
    page = person.get("?since=2026-11-01T09:00:06.200&until=2026-11-01T09:00:20.700")
    url = link_to(page, "tl-incident")

    assert unquote(url) == "/?q=during:2026-11-01T09:00:06..2026-11-01T09:00:21"
    assert f"/sessions/{person.session.uid}/" in person.client.get(url).content.decode()
    assert 'id="tl-incident"' not in person.get()


@pytest.mark.django_db
def test_a_pinned_lane_stands_on_top_in_every_view_until_it_is_released() -> None:
    person = reader(working(60))
    names = [name for name, _ in pins(person.get())]
    assert names[:3] == ["Prompts", "Assistant", "Bash"]
    bash = person.get(f"?{dict(pins(person.get()))['Bash']}")
    both = person.get(f"?{dict(pins(bash))['Errors']}")

    assert [name for name, _ in pins(bash)][:2] == ["Bash", "Prompts"]
    assert [name for name, _ in pins(both)][:3] == ["Bash", "Errors", "Prompts"]
    assert sorted(name for name, _ in pins(both)) == sorted(names)
    assert both.count(" is-pinned") == 2
    for control in ("closer", "later", "compressed"):
        assert "pin=tool%3ABash&pin=errors" in link(both, control)
    # The fields keep them, too.
    assert both.count('name="pin" value="tool:Bash"') == 2
    released = person.get(f"?{dict(pins(both))['Bash']}")
    assert [name for name, _ in pins(released)][:2] == ["Errors", "Prompts"]


@pytest.mark.django_db
def test_pins_that_name_nothing_change_nothing_and_are_shown_as_nothing() -> None:
    person = reader(working(60))
    odd = urlencode({"pin": ATTACK})
    page = person.get(f"?{odd}&pin=&{'&'.join(f'pin=no{n}' for n in range(50))}")

    assert [name for name, _ in pins(page)] == [name for name, _ in pins(person.get())]
    assert "<img" not in page
    assert "pin=no18" in link(page, "closer")
    assert "pin=no19" not in link(page, "closer")


@pytest.mark.django_db
def test_a_picked_event_says_what_it_is_and_who_stands_beside_it() -> None:
    person = reader(working(60))
    page = person.get("?pick=13")

    assert "Event 13" in page
    assert "Tool call" in page
    assert figures(page)["Took"] == "3\xa0s"
    assert 'href="./?seq=13#e13"' in page
    assert "pick=25" in link(page, "after")
    assert "pick=1" in link(page, "before")
    assert "Event 59" in person.get("?pick=99999")


@pytest.mark.django_db
def test_a_session_without_times_stands_in_the_order_of_its_events() -> None:
    person = reader(build.log(40))
    page = person.get("?from=10&to=20")

    assert "10\xa0events shown" in page
    assert "names no two different times" in page
    assert 'type="number"' in page
    assert "Wall time" not in page
    assert figures(person.get("?since=0&until=7"))["Events"] == "7"
    # There is no window in which other sessions could have been active.
    assert 'id="tl-incident"' not in person.get("?since=0&until=7")


@pytest.mark.django_db
def test_what_cannot_be_read_is_refused_with_a_sentence() -> None:
    person = reader(working(30))

    assert "must be a time like" in person.refused("?from=yesterday")
    assert "must be a time like" in person.refused(f"?until={'9' * 50}")
    assert "wall" in person.refused("?mode=sideways")
    assert "whole number" in person.refused("?pick=-1")
    assert "whole number" in person.refused("?w=1e9")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        "?from=1970-01-01&to=9999-12-31",
        "?from=9999-12-31&to=1970-01-01",
        "?from=2026-11-01T09:00:01&to=2026-11-01T09:00:01",
        "?w=1",
        "?w=999999999",
        "?since=2026-11-01T09:00:01",
        "?until=1970-01-01",
    ],
)
def test_odd_windows_are_put_right(query: str) -> None:
    assert "<timeline-view" in reader(working(30)).get(query)


@pytest.mark.django_db
def test_a_session_without_events_says_what_to_wait_for() -> None:
    person = reader(build.line("user", "x"))
    Session.objects.filter(id=person.session.id).update(events=0)

    assert "nothing to draw yet" in person.get()


@pytest.mark.django_db
def test_hostile_names_are_shown_and_never_markup() -> None:
    other = {"type": ATTACK, "timestamp": NINE.isoformat(), "message": ATTACK}
    said = [{"type": "text", "text": ATTACK}]
    change = line("assistant", said, 200, 200, model=ATTACK, usage={"input_tokens": 9})
    data = working(40, (ATTACK, "Read")) + orjson.dumps(other) + b"\n" + change
    person = reader(data)
    for page in (person.get(), *(person.get(f"?pick={seq}") for seq in (1, 40, 41))):
        assert "<img" not in page
        assert "\u202e" not in page
        assert "&lt;img" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    "times",
    [
        ["1970-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "2026-01-01T00:00:00Z"] * 20,
        ["0001-01-01T00:00:00Z", "x", "-1", "1e400", "2026-11-01T09:00:00+99:99"] * 10,
        [0, 10**9, 2**62, -5, 1e308, None, [], {}] * 10,
        [f"2026-11-01T09:00:{59 - n % 60:02}Z" for n in range(300)],
    ],
    ids=["centuries", "no times", "numbers", "backwards"],
)
def test_hostile_times_are_drawn_like_any_other(times: list[object]) -> None:
    data = b"".join(build.line("user", "x", timestamp=at) for at in times)
    person = reader(data)
    for query in ("", "?mode=wall", "?mode=compressed", "?w=400"):
        page = person.get(query)
        assert lanes(page)["Prompts"] == (str(len(times)), str(len(times)))
        assert len(page) < 200_000


@pytest.mark.django_db
def test_thousands_of_marks_of_life_stay_few_on_the_page() -> None:
    lines = [
        line("assistant", [{"type": "text", "text": "x"}], n * 4_000, n, model=f"model-{n % 7}")
        for n in range(1_500)
    ]
    page = reader(b"".join(lines)).get()

    assert len(page) < 200_000
    assert page.count('class="stop ') <= 90
    assert "zoom in to see them" in page


@pytest.mark.django_db
def test_a_subagents_session_has_a_bar_and_a_link() -> None:
    place = build.workspace()
    client = browser(build.member("ann", place))
    main = build.session(place, working(40), "p/s1.jsonl")
    told = orjson.loads(line("user", ATTACK, 30, 1)) | {"isSidechain": True, "agentId": "a1"}
    inner = orjson.dumps(told) + b"\n"
    other = build.ingest(place, inner, "p/s1/subagents/agent-a1.jsonl")
    page = Reader(client, main).get()

    assert page.count(f'href="/sessions/{other.uid}/timeline"') == 2
    assert "<img" not in page
