"""A line written to a watched file is on the screen of an open browser a moment later."""

import statistics
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests import build
from tests.claude import Log
from tests.e2e.conftest import Site, Window, signed_in, watched

pytestmark = pytest.mark.browser

LINES = 25
ROUNDS = 3
LIMIT_MS = 500

# Kept by the page itself: polling it from here would take part in the measurement.
SEEN = """
window.seen = {};
new MutationObserver(() => {
  for (const event of document.querySelectorAll("article.event")) {
    window.seen[event.id] ??= Date.now();
  }
}).observe(document, { childList: true, subtree: true });
"""


def append(path: Path, data: bytes) -> float:
    with path.open("ab") as file:
        file.write(data)
    return time.time() * 1000


def watch(site: Site, folder: Path) -> None:
    site.manage(
        "shell",
        "-c",
        "from sessions_app.models import *; WatchedRoot.objects.create("
        f"workspace=Workspace.objects.filter(is_demo=False).first(), path={str(folder)!r})",
    )


def uid_of(page: Page, title: str) -> str:
    link = page.get_by_role("link", name=title)
    link.wait_for(timeout=20_000)
    return str(link.get_attribute("href"))


@pytest.fixture(scope="module")
def folder(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("watched")
    # An empty workspace greets, and has no list that could change by itself.
    (made / "first.jsonl").write_bytes(build.log(2))
    site.ingest(made / "first.jsonl")
    watch(site, made)
    return made


def at_session(window: Window, folder: Path, name: str, lines: int) -> Page:
    """A session that the watcher took in, open in the browser; its row came by itself."""
    page = window.open("/")
    log = folder / f"{name}.jsonl"
    log.write_bytes(build.line("user", f"Live {name}") + build.log(lines - 1))
    page.goto(window.site.url + uid_of(page, f"Live {name}"))
    page.locator("article.event").first.wait_for()
    return page


def test_lines_are_on_screen_within_half_a_second(
    chromium: Browser, site: Site, folder: Path
) -> None:
    context = signed_in(chromium, site)
    context.add_init_script(SEEN)
    window = watched(context, site)
    page = at_session(window, folder, "measured", 3)
    page.wait_for_timeout(1500)
    # What else runs on the machine makes some rounds slow; a slow house makes all of them slow.
    p95 = measured(page, folder / "measured.jsonl", 3)
    for done in range(1, ROUNDS):
        if p95 >= LIMIT_MS:
            p95 = measured(page, folder / "measured.jsonl", 3 + done * LINES)
    window.is_clean()
    context.close()
    assert p95 < LIMIT_MS


def measured(page: Page, log: Path, first: int) -> float:
    """Write lines that follow those on the screen, and say what 95 of a hundred took at most."""
    lags = []
    for seq in range(first, first + LINES):
        written = append(log, build.line("assistant", f"live line {seq}"))
        page.locator(f"#e{seq}").wait_for(state="attached")
        lags.append(page.evaluate("(id) => window.seen[id]", f"e{seq}") - written)
        time.sleep(0.13)
    assert page.locator("article.event").count() == first + LINES
    p95: float = statistics.quantiles(lags, n=20)[18]
    print(f"written to visible, ms: p50 {statistics.median(lags):.0f}, p95 {p95:.0f}, {lags}")
    return p95


def test_a_reader_at_the_end_is_taken_along_and_another_is_told(
    window: Window, folder: Path
) -> None:
    page = at_session(window, folder, "reader", 60)
    log = folder / "reader.jsonl"
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_timeout(1000)
    append(log, build.line("assistant", "the last word"))
    page.get_by_text("the last word").wait_for()
    page.wait_for_function(
        "() => document.documentElement.scrollHeight - innerHeight - scrollY < 80", timeout=3000
    )
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_timeout(300)
    append(log, build.log(2))
    pill = page.get_by_role("button", name="2 new events")
    pill.wait_for()
    assert page.evaluate("scrollY") == 0
    pill.click()
    page.wait_for_function("() => document.activeElement.id === 'e62'")
    assert pill.is_hidden()
    window.is_clean()


def test_events_beyond_a_section_begin_another(window: Window, folder: Path) -> None:
    page = at_session(window, folder, "sections", 95)
    page.wait_for_timeout(1000)
    append(folder / "sections.jsonl", build.log(10))
    page.locator("#e104").wait_for(state="attached")
    sections = page.locator("log-window > .chunk")
    assert sections.count() == 2
    assert sections.nth(1).locator("article").count() == 5
    assert page.locator("[data-live-events]").inner_text() == "105"
    window.is_clean()


def test_a_line_that_becomes_whole_is_shown_whole(window: Window, folder: Path) -> None:
    page = at_session(window, folder, "tail", 3)
    page.wait_for_timeout(1000)
    line = build.line("assistant", "in two halves")
    append(folder / "tail.jsonl", line[:20])
    page.get_by_text("Incomplete").wait_for()
    append(folder / "tail.jsonl", line[20:])
    page.get_by_text("in two halves").wait_for()
    assert page.locator("article.event").count() == 4
    window.is_clean()


def test_without_a_stream_the_page_asks_from_time_to_time(window: Window, folder: Path) -> None:
    window.page.route(
        "**/live",
        lambda route: (
            route.fulfill(status=204)
            if "event-stream" in (route.request.headers.get("accept") or "")
            else route.continue_()
        ),
    )
    page = at_session(window, folder, "asking", 3)
    append(folder / "asking.jsonl", build.line("assistant", "found by asking"))
    page.get_by_text("found by asking").wait_for(timeout=15_000)


def test_work_that_goes_on_joins_the_stretch_it_belongs_to(window: Window, folder: Path) -> None:
    log = Log().prompt("Live work").bash("ls", "a")
    path = folder / "work.jsonl"
    window.open("/")
    path.write_bytes(log.data)
    page = window.page
    page.goto(window.site.url + uid_of(page, "Live work"))
    page.locator("#r1.is-bare").wait_for()
    page.wait_for_timeout(1000)
    log.lines.clear()
    log.bash("pwd", "b", is_error=True).bash("make", "c").answer("All done")
    append(path, log.data)
    page.get_by_text("All done").wait_for()
    run = page.locator("#r1")
    assert run.locator("article").count() == 6
    assert run.locator("summary").first.inner_text().startswith("3\u00a0tool calls")
    assert page.locator("log-window article").count() == 8
    # Summed again with what came.
    page.locator(".turn-head", has_text="3\u00a0calls").wait_for()
    window.is_clean()


def test_a_filtered_page_hears_only_of_what_it_shows(window: Window, folder: Path) -> None:
    log = Log().prompt("Live filtered").bash("ls", "no such file", is_error=True)
    path = folder / "filtered.jsonl"
    window.open("/")
    path.write_bytes(log.data)
    page = window.page
    page.goto(window.site.url + uid_of(page, "Live filtered") + "?show=errors")
    page.locator("#e2").wait_for()
    page.wait_for_timeout(1000)
    log.lines.clear()
    log.answer("Not an error").bash("make", "still broken", is_error=True)
    append(path, log.data)
    page.locator("#e5").wait_for(state="attached")
    assert page.locator("log-window article").count() == 4
    assert page.get_by_text("Not an error").count() == 0
    window.is_clean()
