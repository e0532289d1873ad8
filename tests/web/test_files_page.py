"""The Files tab: the list, one file over time, the text as a download; hostile names harmless."""

import re
from html import unescape

import pytest
from django.test import Client

from sessions_app.models import Session
from sessions_app.store import fileindex
from sessions_app.web import filepage
from tests import build
from tests.people import browser, cast
from tests.store.test_files import WORKED_IN, Log, many

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
ATTACK = "../../\u202e<img src=x onerror=alert(1)>\"'\x00%2f..%2fetc/passwd"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the list says how far it has come, and comes whole some time later."""
    for name in ("SECONDS", "AT_ONCE"):
        monkeypatch.setattr(f"sessions_app.web.files.{name}", 60)


def opened(log: Log) -> tuple[Client, Session, str]:
    people = cast()
    session = log.session(people.workspace)
    return browser(people.alice), session, f"/sessions/{session.uid}/files"


def links(page: str) -> dict[str, str]:
    found = re.findall(r'class="path" href="([^"]+)"[^>]*title="([^"]*)"', page)
    return {unescape(title): unescape(href) for href, title in found}


def story() -> Log:
    log = Log()
    log.say("please")
    log.call("Write", file_path="src/a.py", content="def one():\n    return 1\n")
    log.call("Edit", file_path="src/a.py", old_string="return 1", new_string="return 2")
    log.call("Read", "     1→# notes", file_path="notes.md")
    log.call("Edit", file_path="big.txt", old_string="here", new_string="there\nand there")
    return log


def test_the_list_names_every_file_with_what_was_done_to_it() -> None:
    client, _, url = opened(story())
    page = client.get(url).content.decode()

    assert set(links(page)) == {
        f"{WORKED_IN}/{name}" for name in ("src/a.py", "notes.md", "big.txt")
    }
    assert "3\u00a0files, 2 changed" in page
    assert "5 lines added, at least 2 removed" in page
    assert '<span class="folder">src/</span><span class="base">a.py</span>' in page
    assert page.count("<h1") == 1


def test_the_list_is_a_page_and_a_fragment() -> None:
    client, _, url = opened(story())

    assert b"<html" in client.get(url).content
    fragment = client.get(url, headers=HTMX).content
    assert b"<html" not in fragment
    assert fragment.count(b"<tr ") == 4


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=SRC", ["src/a.py"]),
        ("show=changed", ["src/a.py", "big.txt"]),
        ("show=read", ["notes.md"]),
        ("sort=path", ["big.txt", "notes.md", "src/a.py"]),
        ("sort=last", ["big.txt", "notes.md", "src/a.py"]),
        ("sort=most", ["src/a.py", "big.txt", "notes.md"]),
        ("q=nothing", []),
        ("show=odd&sort=odd", ["src/a.py", "notes.md", "big.txt"]),
    ],
)
def test_files_are_filtered_and_ordered(query: str, names: list[str]) -> None:
    client, _, url = opened(story())
    page = client.get(f"{url}?{query}").content.decode()

    assert list(links(page)) == [f"{WORKED_IN}/{name}" for name in names]
    assert names or "No file is like that" in page


def test_a_session_without_files_says_so() -> None:
    log = Log()
    log.say("hello")
    client, _, url = opened(log)

    assert b"No file was touched" in client.get(url).content


def listed(client: Client, url: str) -> str:
    """The list, as often asked for as it takes: one answer reads no longer than its time."""
    for _ in range(30):
        answer = client.get(f"{url}?wait=1")
        if answer.context["is_whole"]:
            return answer.content.decode()
    raise AssertionError("the list of files never came to its end")


def one(client: Client, url: str, name: str) -> str:
    return url + links(listed(client, url))[f"{WORKED_IN}/{name}"]


def test_one_file_shows_its_net_change_its_state_and_each_act() -> None:
    client, session, url = opened(story())
    page = client.get(one(client, url, "src/a.py")).content.decode()

    assert "Known exactly" in page
    assert page.count('<li id="act') == 2
    assert f'href="/sessions/{session.uid}/?seq=3#e3"' in page
    # Signs and words, not colours alone.
    assert '<span class="sr-only">removed: </span>' in page
    assert '<span class="sr-only">added: </span>' in page
    assert "What the file held before event 2 is not known" in page


def test_a_file_created_here_has_a_net_change_from_nothing() -> None:
    log = Log()
    log.call("Write", file_path="a", content="1\n2\n", beside={"type": "create"})
    log.call("Edit", file_path="a", old_string="2\n", new_string="two\n")
    client, _, url = opened(log)
    page = client.get(one(client, url, "a")).content.decode()

    assert "The file was not there before." in page
    assert "2 lines added, 0 removed" in page


def test_the_state_can_be_asked_for_at_any_event() -> None:
    client, _, url = opened(story())
    place = one(client, url, "src/a.py")

    before = client.get(f"{place}&seq=0", headers=HTMX).content.decode()
    first = client.get(f"{place}&seq=2", headers=HTMX).content.decode()
    later = client.get(f"{place}&seq=9999", headers=HTMX).content.decode()

    assert "had not touched the file yet" in before
    assert "<html" not in first
    assert (">1<" in first, ">2<" in later) == (True, True)
    assert "0 of 2\u00a0acts done" in before
    assert "2 of 2\u00a0acts done" in later
    assert client.get(f"{place}&seq=x").status_code == 400


def test_what_is_known_in_part_is_said_to_be_so() -> None:
    client, _, url = opened(story())
    page = client.get(one(client, url, "big.txt")).content.decode()

    assert "Known in part" in page
    assert "Somewhere in the file" in page
    assert "there\nand there" in page
    assert "Download" not in page


def test_the_text_of_a_file_is_downloaded_and_never_shown_by_the_browser() -> None:
    client, session, url = opened(story())
    query = one(client, url, "src/a.py").partition("?")[2]
    response = client.get(f"/sessions/{session.uid}/files/text?{query}&seq=2")

    assert response.content == b"def one():\n    return 1\n"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch(
        r'attachment; filename="file-[0-9a-f]{16}-at-2\.txt"', response["Content-Disposition"]
    )
    assert "sandbox" in response["Content-Security-Policy"]


def test_a_text_that_is_not_known_is_not_made_up() -> None:
    client, session, url = opened(story())
    query = one(client, url, "big.txt").partition("?")[2]

    response = client.get(f"/sessions/{session.uid}/files/text?{query}")

    assert response.status_code == 404
    assert b"not known exactly" in response.content


def test_hostile_paths_and_texts_stay_text() -> None:
    log = Log()
    log.call("Write", file_path=ATTACK, content=ATTACK)
    log.call("Edit", file_path=ATTACK, old_string="x", new_string=ATTACK * 40)
    log.call("Write", file_path="a/" * 5_000, content="deep")
    log.call(ATTACK, file_path="a")
    client, _, url = opened(log)

    first = listed(client, url)
    pages = [first, *(client.get(url + href).content.decode() for href in links(first).values())]

    assert len(pages) == 3
    for page in pages:
        # What a button copies is copied as it is.
        shown = re.sub(r'data-text="[^"]*"', "", page)
        assert "<img src=x" not in page
        assert "\u202e" not in shown
        assert "\x00" not in shown


@pytest.mark.parametrize("wanted", ["..%2f..%2fetc%2fpasswd", "%00", "x" * 3000, "0" * 16])
def test_a_file_nobody_touched_is_not_found(wanted: str) -> None:
    client, session, url = opened(story())

    assert client.get(f"{url}?file={wanted}").status_code == 404
    assert client.get(f"/sessions/{session.uid}/files/text?file={wanted}").status_code == 404


def test_a_long_session_is_read_in_steps_that_say_how_far_they_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for patience in ("SECONDS", "AT_ONCE"):
        monkeypatch.setattr(f"sessions_app.web.files.{patience}", 0)
    client, session, url = opened(many(20))
    page = client.get(url).content.decode()

    assert "Still reading" in page
    assert 'hx-trigger="load delay:150ms"' in page
    assert f"of {session.events}\u00a0events" in page
    for _ in range(80):
        page = client.get(url, headers=HTMX).content.decode()
        if "Still reading" not in page:
            break
    assert "7\u00a0files, 7 changed" in page


def test_a_file_with_many_acts_comes_in_pages_and_no_page_is_heavy() -> None:
    log = Log()
    log.call("Write", file_path="f", content="".join(f"line {n}\n" for n in range(3_000)))
    for number in range(45):
        log.call("Edit", file_path="f", old_string=f"line {number}\n", new_string=f"L{number}\n")
    client, _, url = opened(log)
    place = one(client, url, "f")

    first = client.get(place)
    last = client.get(f"{place}&act=45").content.decode()

    assert first.content.count(b'<li id="act') == filepage.ACTS
    assert len(first.content) < 200_000
    assert last.count('<li id="act') == 6
    whole = client.get(f"{place}&act=0&all=0").content
    assert whole.count(b'class="new"') > 2_900


@pytest.mark.parametrize(
    "line",
    [
        "def f(a: int, b: str = 'x') -> dict[str, int]: return {a: b for a in range(3)}  # note\n",
        "<&>\"'\u202e\u200b\n",
        "<&>\"'" * 100 + "\n",
    ],
    ids=["colours", "hidden characters", "long lines"],
)
def test_no_page_of_a_large_file_is_heavy(line: str) -> None:
    log = Log()
    # A format is known by what fits into the head of its log.
    log.say("hello")
    log.call("Write", file_path="f.py", content=line * 2_000)
    for number in range(12):
        log.call(
            "Edit", file_path="f.py", old_string=line * 50, new_string=f"{number}\n{line}" * 80
        )
    log.call("Write", file_path="f.py", content=f"# {line}" * 3_000)
    client, _, url = opened(log)
    place = one(client, url, "f.py")

    for query in ("", "&act=10", "&seq=1"):
        page = client.get(f"{place}{query}").content
        assert len(page) < 200_000
        assert b"not shown here" in page


def test_lines_too_long_to_look_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fileindex, "LONGEST_LINE", 2_000)
    log = Log()
    log.call("Write", file_path="f", content="x" * 5_000)
    client, _, url = opened(log)

    assert b"too long to be looked at" in client.get(url).content


@pytest.mark.skipif(not build.SHARED.is_dir(), reason="real logs are not here")
def test_every_file_of_a_real_log_has_a_page() -> None:
    people = cast()
    log = build.SHARED / "copilot-cli" / "EntityProcess__agentv__d8-8be769afd1-0-full.jsonl"
    result = build.ingest_file(people.workspace, log)
    client, url = browser(people.alice), f"/sessions/{result.uid}/files"
    found = links(client.get(url).content.decode())

    assert len(found) > 5
    for href in found.values():
        assert client.get(url + href).status_code == 200
