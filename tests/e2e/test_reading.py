"""Reading a transcript: folds, kinds, densities, outline, keys, copies, links, finding in it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.claude import Log
from tests.e2e.conftest import Site, Window, signed_in, watched

pytestmark = pytest.mark.browser

TURNS = 8
# Lines of a turn: prompt, thought, call, result, call, result, answer.
LINES = 7
FAILED = 5
WIDE = ViewportSize(width=1400, height=900)
SHARED = {"permissions": ["clipboard-read", "clipboard-write"]}


def log() -> bytes:
    made = Log("22222222-2222-4222-8222-222222222222")
    for turn in range(TURNS):
        made.prompt(f"Reading step {turn}").think(f"Pondering {turn}")
        made.bash(f"make part{turn}", f"\x1b[32mbuilt\x1b[0m lantern {turn}", turn == FAILED)
        edit = {"file_path": "a.py", "old_string": f"x = {turn}", "new_string": f"x = {turn + 1}"}
        made.call("Edit", edit).result("done").answer(f"Step {turn} is **done**.")
    return made.data


@pytest.fixture(scope="module")
def uid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reading") / "reading.jsonl"
    path.write_bytes(log())
    (uid,) = site.ingest(path)
    return uid


def opened(window: Window, uid: str, more: str = "") -> Page:
    return window.open(f"/sessions/{uid}/{more}")


def test_work_is_folded_to_what_tells_most_and_opens_where_it_is_clicked(
    window: Window, uid: str
) -> None:
    page = opened(window, uid, "?density=normal")
    run = page.locator("details.run").first
    expect(run.locator("> summary")).to_contain_text("2 tool calls")
    call = page.locator("#e2")
    expect(call).to_be_hidden()
    run.locator("> summary").click()
    expect(call.locator(".gist").first).to_have_text("make part0")
    call.locator("summary").first.click()
    output = page.locator("#e2, #e3").locator("pre", has_text="built lantern 0")
    expect(output.first).to_be_visible()
    assert output.first.locator("span").count() > 0, "colours of the terminal are kept"
    expect(page.locator("#e4 .diff ins").first).to_be_visible()
    thought = page.locator("#e1")
    expect(thought.locator(".thought")).to_be_hidden()
    page.keyboard.press("t")
    expect(thought.locator(".thought")).to_be_visible()
    expect(page.locator("#t0, .turn-head").first).to_contain_text("2 calls")
    expect(page.locator(".turn-head").first).to_contain_text("tokens")
    window.is_clean()


def test_kinds_narrow_what_is_shown_and_densities_change_how(window: Window, uid: str) -> None:
    page = opened(window, uid)
    filters = page.get_by_role("navigation", name="What to show")
    filters.get_by_role("link", name="Errors").click()
    expect(page).to_have_url(re.compile("show=errors"))
    # The call that failed comes with its result.
    expect(page.locator("log-window article")).to_have_count(2)
    expect(page.locator("log-window article").last).to_have_class(re.compile("is-error"))
    filters.locator("summary", has_text="One tool").click()
    filters.get_by_role("link", name="Bash").click()
    expect(page).to_have_url(re.compile("tool=Bash"))
    expect(page.locator("log-window article")).to_have_count(2)
    filters.get_by_role("link", name="Everything").click()
    expect(page.locator("log-window article")).to_have_count(TURNS * LINES)
    looks: list[str | None] = []
    for _ in range(4):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("l")
        page.wait_for_function(
            "(before) => document.querySelector('log-window')?.className !== before",
            arg=looks[-1] if looks else "",
        )
        page.locator("log-window:defined").wait_for()
        page.locator("log-tools:defined").wait_for()
        looks.append(page.locator("log-window").get_attribute("class"))
    assert len(set(looks)) == 4
    window.is_clean()


def test_keys_step_through_events_prompts_and_errors(window: Window, uid: str) -> None:
    window.page.set_viewport_size(WIDE)
    page = opened(window, uid, "?density=comfortable")
    expect(page.locator("#rail li")).to_have_count(TURNS)
    for key, seq in (
        ("J", LINES),
        ("J", 2 * LINES),
        ("K", LINES),
        ("j", LINES + 1),
        ("k", LINES),
        ("e", FAILED * LINES + 3),
        ("E", None),
    ):
        page.keyboard.press(key)
        if seq is not None:
            expect(page.locator(f"#e{seq}")).to_be_focused()
    expect(page.locator("#status")).to_contain_text("none in this direction")
    page.locator("#rail").get_by_role("link", name="Reading step 3").click()
    expect(page).to_have_url(re.compile(f"#e{3 * LINES}$"))
    expect(page.locator(f"#e{3 * LINES}")).to_be_in_viewport()
    expect(page.locator("#rail [aria-current]")).to_contain_text("Reading step 3")
    page.go_back()
    expect(page.locator(f"#e{FAILED * LINES + 3}")).to_be_in_viewport()
    window.is_clean()


def test_a_link_to_an_event_lands_on_it_and_what_is_copied_is_markdown(
    chromium: Browser, site: Site, uid: str
) -> None:
    context = signed_in(chromium, site, **SHARED)
    window = watched(context, site)
    seq = 6 * LINES
    page = opened(window, uid)
    link = page.get_by_role("link", name=f"Link to event {seq}", exact=True)
    href = link.get_attribute("href")
    assert href is not None
    page = opened(window, uid, href.removeprefix("./"))
    expect(page.locator(f"#e{seq}")).to_be_in_viewport()
    expect(page.locator(f"#e{seq}")).to_have_class(re.compile("is-target"))

    copied = "navigator.clipboard.readText()"
    page.get_by_role("link", name="Copy turn 7 as Markdown").click()
    expect(page.locator("#status")).to_contain_text("Copied as Markdown")
    turn = page.evaluate(copied)
    assert "Reading step 6" in turn
    assert "make part6" in turn
    assert "Step 6 is **done**." in turn
    assert "Reading step 5" not in turn
    page.locator(".view-menu > summary").click()
    page.locator("#range-lo").fill("0")
    page.locator("#range-hi").fill("0")
    page.locator(".view-menu").get_by_role("button", name="Copy").click()
    for _ in range(100):
        if "Reading step 0" in (text := page.evaluate(copied)):
            break
        page.wait_for_timeout(100)
    assert "Reading step 0" in text
    assert "lantern" not in text
    window.is_clean()
    context.close()


def test_finding_in_a_session_goes_from_hit_to_hit(window: Window, uid: str) -> None:
    page = opened(window, uid)
    bar = page.get_by_role("search", name="Find in this session")
    page.keyboard.press("/")
    field = bar.get_by_role("searchbox")
    expect(field).to_be_focused()
    field.fill("part4 OR part6")
    expect(bar.locator("output")).to_have_text("Hits: 2")
    page.keyboard.press("Enter")
    expect(bar.locator("output")).to_have_text("1 of 2")
    expect(page).to_have_url(re.compile(f"#e{4 * LINES + 2}$"))
    expect(page.locator(f"#e{4 * LINES + 2}")).to_be_in_viewport()
    page.wait_for_function("() => CSS.highlights.get('found')?.size > 0")
    # The field keeps the focus: Enter goes on, Shift and Enter go back.
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    expect(bar.locator("output")).to_have_text("2 of 2")
    page.keyboard.press("Shift+Enter")
    expect(bar.locator("output")).to_have_text("1 of 2")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(f"#e{6 * LINES + 2}$"))
    page.keyboard.press("N")
    expect(bar.locator("output")).to_have_text("1 of 2")
    field.fill('part4 "open')
    expect(bar.locator("output")).to_have_text(re.compile("^Hits: 1 · The quotation is not closed"))
    field.fill("lantern")
    expect(bar.locator("output")).to_have_text("Hits: 0")
    bar.get_by_label("Tool results").check()
    expect(bar.locator("output")).to_have_text(f"Hits: {TURNS}")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(page.locator(".event.is-target")).to_be_focused()
    page.wait_for_function("() => CSS.highlights.size === 0")
    window.is_clean()


def test_on_a_small_screen_the_outline_is_a_drawer(chromium: Browser, site: Site, uid: str) -> None:
    context = signed_in(chromium, site, viewport={"width": 390, "height": 844})
    window = watched(context, site)
    page = opened(window, uid)
    expect(page.locator(".rail")).to_be_hidden()
    drawer = page.get_by_role("dialog", name="Prompts")
    page.get_by_role("link", name="Outline").click()
    drawer.get_by_role("link", name="Reading step 7").click()
    expect(drawer).to_be_hidden()
    expect(page.locator(f"#e{7 * LINES}")).to_be_in_viewport()
    page.get_by_role("link", name="Outline").click()
    expect(drawer).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    window.is_clean()
    context.close()


def test_a_session_and_a_stretch_of_it_are_exported(
    window: Window, uid: str, tmp_path: Path
) -> None:
    page = opened(window, uid)
    menu = page.locator("details.menu", has=page.locator("summary", has_text="Export"))
    menu.locator("summary").click()
    with page.expect_download() as whole:
        menu.get_by_role("link", name="Raw log").click()
    whole.value.save_as(tmp_path / "raw")
    assert (tmp_path / "raw").read_bytes() == log()
    menu.get_by_label("From").fill(str(LINES))
    menu.get_by_label("to", exact=True).fill(str(2 * LINES - 1))
    menu.get_by_label("As").select_option("md")
    with page.expect_download() as some:
        menu.get_by_role("button", name="Export").click()
    some.value.save_as(tmp_path / "some.md")
    text = (tmp_path / "some.md").read_text()
    assert "Reading step 1" in text
    assert "Reading step 2" not in text
    page.keyboard.press("Escape")
    expect(menu.get_by_role("link", name="Raw log")).to_be_hidden()
    window.is_clean()
