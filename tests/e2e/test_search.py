"""Searching everything: highlighted hits that lead to their event, results of tools, older pages,
and a regular expression that reports how far it is and can be stopped."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.claude import Log
from tests.e2e.conftest import Site, Window

pytestmark = pytest.mark.browser

# More than one page of sessions.
COUNT = 26


@pytest.fixture(scope="module")
def folder(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("search")
    for number in range(COUNT):
        log = Log(f"44444444-4444-4444-8444-{number:012}").wait(days=-number)
        log.prompt(f"Wombat case {number}").bash("ls burrow", f"numbat {number} was printed")
        (made / f"{number}.jsonl").write_bytes(log.answer("The wombat <b>sleeps</b>.").data)
    site.ingest(made)
    return made


def asked(window: Window, words: str) -> Page:
    page = window.open("/search")
    page.get_by_label("Words, phrases and filters").fill(words)
    return page


@pytest.mark.usefixtures("folder")
def test_hits_are_marked_and_lead_to_their_event(window: Window) -> None:
    page = asked(window, "wombat sleeps")
    first = page.locator(".found-session").first
    expect(first.locator("mark")).to_have_text(["wombat", "sleeps"])
    expect(first.locator(".snippet")).to_contain_text("<b>")
    expect(page).to_have_url(re.compile("q=wombat\\+sleeps|q=wombat%20sleeps"))
    hit = first.locator("a.hit")
    expect(hit).to_have_attribute("href", re.compile("seq=3#e3$"))
    hit.click()
    expect(page.locator("#e3")).to_be_in_viewport()
    expect(page.locator("#e3")).to_have_class(re.compile("is-target"))
    page.go_back()
    expect(page.locator(".found-session").first).to_be_visible()
    window.is_clean()


@pytest.mark.usefixtures("folder")
def test_what_tools_printed_is_one_click_away_and_older_sessions_are_on_the_next_page(
    window: Window,
) -> None:
    page = asked(window, "numbat")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.locator("#with-results").click()
    expect(page.locator(".hit").first).to_contain_text("numbat 0 was printed")
    expect(page.locator("#with-results")).to_have_text("Tool results included")
    seen = set(page.locator(".found-session h3").all_inner_texts())
    while page.locator("a[rel=next]").count():
        before = page.url
        page.locator("a[rel=next]").click()
        page.wait_for_function("(url) => location.href !== url", arg=before)
        page.locator(".found-session, .results .card").first.wait_for()
        seen |= set(page.locator(".found-session h3").all_inner_texts())
    assert seen == {f"Wombat case {number}" for number in range(COUNT)}
    page = asked(window, "wombat colour:red")
    expect(page.locator(".bad-tokens")).to_contain_text("colour:red")
    expect(page.locator(".found-session").first).to_be_visible()
    page.get_by_role("link", name="Best first").click()
    expect(page.get_by_role("link", name="Best first")).to_have_attribute("aria-current", "true")
    window.is_clean()


@pytest.mark.usefixtures("folder")
def test_the_field_of_the_search_suggests_and_a_choice_is_searched_at_once(window: Window) -> None:
    page = asked(window, "tool:Ba")
    page.get_by_role("option", name="tool:Bash").click()
    expect(page.locator("#q")).to_have_value("tool:Bash ")
    expect(page.locator(".hit").first).to_contain_text("Bash · command")
    expect(page.locator("#q-options")).to_be_hidden()
    expect(page).to_have_title(re.compile("^tool:Bash"))
    window.is_clean()


@pytest.fixture
def large(site: Site, tmp_path: Path) -> str:
    """Enough text that a scan for what is not there is still under way when it is stopped."""
    words = "echidna " * 4000
    log = Log("55555555-5555-4555-8555-555555555555").wait(days=-400)
    for number in range(600):
        log.prompt(f"{words}{number}")
    path = tmp_path / "large.jsonl"
    path.write_bytes(log.data)
    (uid,) = site.ingest(path)
    return uid


@pytest.mark.usefixtures("folder")
def test_a_regular_expression_is_looked_for_with_progress_and_can_be_stopped(
    window: Window, large: str
) -> None:
    page = asked(window, r"/wombat case 1\d/")
    page.keyboard.press("Enter")
    said = page.locator("[data-said]")
    expect(said).to_contain_text("looked at", timeout=20_000)
    expect(page.locator(".found > article").first.locator("mark").first).to_have_text(
        re.compile(r"Wombat case 1\d")
    )
    bar = page.get_by_role("progressbar", name="Looked at")
    expect(bar).to_be_visible()
    stop = page.get_by_role("button", name="Stop")
    page = asked(window, r"/echidna\s+never(e+)/")
    page.keyboard.press("Enter")
    stop.click()
    expect(said).to_have_text("Stopped.")
    expect(stop).to_be_hidden()
    window.is_clean()
