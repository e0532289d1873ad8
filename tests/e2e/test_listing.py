"""What a person does with the list of sessions, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import build
from tests.e2e.conftest import Site, Window, signed_in, watched

pytestmark = pytest.mark.browser

TOOLS = ("Bash", "Read")
COUNT = 6


def log(number: int, *, hour: int = 9) -> bytes:
    at = {"timestamp": f"2026-03-{number + 1:02}T{hour:02}:00:00Z"}
    name = TOOLS[number % 2]
    call = {"id": "c1", "function": {"name": name, "arguments": "{}"}}
    return b"".join(
        (
            build.line("user", f"List case {number}", **at),
            build.line("assistant", "", tool_calls=[call], **at),
            build.line("tool", "done", tool_call_id="c1", name=name, **at),
            build.line("assistant", "answered", **at),
        )
    )


def taken(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of its own, with a number in its name."""
    made = tmp_path_factory.mktemp("list-cases")
    for number in range(COUNT):
        (made / f"{number}.jsonl").write_bytes(log(number))
    site.ingest(made)
    return made


@pytest.fixture(scope="module")
def folder(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return taken(site, tmp_path_factory)


@pytest.fixture
def growing(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return taken(site, tmp_path_factory)


def opened(window: Window, folder: Path, more: str = "") -> Page:
    return window.open(f"/?q=project:{folder.name}{more}")


def boxes(page: Page) -> int:
    return page.locator("input[name=id]:checked").count()


def test_the_field_suggests_and_takes_what_is_chosen(window: Window, folder: Path) -> None:
    page = opened(window, folder)
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search and filter sessions")
    expect(field).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" to")
    page.get_by_role("option", name="tool:").wait_for()
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "q-0")
    page.keyboard.press("Enter")
    expect(field).to_have_value(f"project:{folder.name} tool:")
    expect(page.get_by_role("option", name="tool:Read")).to_contain_text("3 sessions")
    page.get_by_role("option", name="tool:Read").click()
    expect(field).to_have_value(f"project:{folder.name} tool:Read ")
    page.keyboard.press("Escape")
    expect(page.locator("#q-options")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#total")).to_have_text("3 sessions")
    page.get_by_role("link", name="Remove tool:Read").focus()
    page.keyboard.press("Backspace")
    expect(page.locator("#total")).to_have_text(f"{COUNT} sessions")
    window.is_clean()


def test_rows_are_selected_by_keys_and_boxes(window: Window, folder: Path) -> None:
    page = opened(window, folder)
    bar = page.locator("#bulk")
    expect(bar).to_be_hidden()
    for key in ("j", "x", "j", "j", "Shift+X"):
        page.keyboard.press(key)
    assert boxes(page) == 3
    expect(bar).to_contain_text("3 selected")
    page.keyboard.press("x")
    assert boxes(page) == 2
    page.get_by_role("checkbox", name="Select all on this page").check()
    assert boxes(page) == COUNT
    with page.expect_download() as download:
        bar.get_by_role("button", name="Export as tar").click()
    assert download.value.suggested_filename == "sessions.tar"
    bar.get_by_role("button", name="Clear").click()
    assert boxes(page) == 0
    expect(bar).to_be_hidden()
    window.is_clean()


def test_links_of_the_selected_are_copied(chromium: Browser, site: Site, folder: Path) -> None:
    context = signed_in(chromium, site, permissions=["clipboard-read", "clipboard-write"])
    page = opened(watched(context, site), folder)
    page.locator("input[name=id]").first.check()
    page.get_by_role("button", name="Copy links").click()
    expect(page.locator("#status")).to_contain_text("Copied 1 link")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"{site.url}/sessions/")
    context.close()


def test_dragging_over_the_bars_narrows_the_time(window: Window, folder: Path) -> None:
    page = opened(window, folder)
    box = page.locator("time-brush svg").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.55, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, middle)
    page.mouse.up()
    expect(page.locator("#q")).to_have_value(
        re.compile(f"^project:{folder.name} after:2026-03-04T.* before:2026-03-06T.*")
    )
    expect(page.locator("#total")).to_have_text("3 sessions")
    expect(page.get_by_label("to", exact=True)).to_have_value("2026-03-06")
    page.get_by_label("From").fill("2026-03-06")
    page.get_by_role("button", name="Narrow", exact=True).click()
    expect(page.locator("#total")).to_have_text("1 session")
    page.get_by_role("link", name="All time").click()
    expect(page.locator("#total")).to_have_text(f"{COUNT} sessions")
    window.is_clean()


def test_the_order_is_chosen_at_once(window: Window, folder: Path) -> None:
    page = opened(window, folder)
    page.get_by_label("Sort by").select_option("oldest")
    expect(page.locator("#q")).to_have_value(f"project:{folder.name} sort:oldest")
    first = page.locator("session-rows tbody tr").first
    expect(first).to_contain_text("List case 0")


def test_new_rows_leave_focus_selection_and_place(
    window: Window, growing: Path, site: Site
) -> None:
    page = opened(window, growing, "*")
    known = page.locator("session-rows tbody tr").nth(2)
    title = known.locator("a.title")
    name = title.inner_text()
    known.locator("input[name=id]").check()
    title.focus()
    page.evaluate("window.scrollTo(0, 40)")
    (growing / "late.jsonl").write_bytes(log(9, hour=10))
    grown = growing / "3.jsonl"
    grown.write_bytes(log(3) + build.line("user", "more", timestamp="2026-03-20T10:00:00Z"))
    site.ingest(growing)
    expect(page.locator("#total")).to_have_text(f"{COUNT + 1} sessions", timeout=10_000)
    expect(page.locator("session-rows tbody tr").first).to_contain_text("List case 3")
    expect(page.get_by_role("link", name=name)).to_be_focused()
    assert boxes(page) == 1
    expect(page.locator("#bulk")).to_contain_text("1 selected")
    assert page.evaluate("scrollY") == 40
    window.is_clean()


def test_facets_fold_on_a_small_screen_and_work_without_a_script(
    chromium: Browser, site: Site, folder: Path
) -> None:
    small = signed_in(chromium, site, viewport={"width": 390, "height": 844})
    page = opened(watched(small, site), folder, "*")
    group = page.get_by_role("group", name="Narrow the list")
    expect(group).to_be_hidden()
    page.locator("details.facets > summary").click()
    expect(group).to_be_visible()
    small.close()
    wide = {"width": 1400, "height": 900}
    plain = signed_in(chromium, site, java_script_enabled=False, viewport=wide)
    page = plain.new_page()
    page.goto(f"{site.url}/?q=project:{folder.name}")
    page.locator("#facet-tool ~ ul").get_by_role("link", name="Only Bash").click()
    expect(page.locator("#q")).to_have_value(f"project:{folder.name} tool:Bash")
    page.locator("#q").fill("project:nowhere")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="No session matches")).to_be_visible()
    page.goto(f"{site.url}/?q=project:{folder.name}")
    page.locator("input[name=id]").first.check()
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
    plain.close()


WIDER = "() => document.documentElement.scrollWidth - innerWidth"
# As the entry of a room looks that has something to tell.
NUMBER = """() => document.querySelector("a[href='/members/']").insertAdjacentHTML(
    "beforeend", '<span class="badge is-warn">2<span class="sr-only"> open</span></span>')"""


def test_a_number_in_the_navigation_does_not_widen_the_page_of_a_phone(
    chromium: Browser, site: Site, folder: Path
) -> None:
    small = signed_in(chromium, site, viewport={"width": 390, "height": 844})
    page = opened(watched(small, site), folder, "*")
    page.evaluate(NUMBER)
    assert page.evaluate(WIDER) <= 0
    small.close()


def test_a_search_is_saved_found_renamed_and_removed(window: Window, folder: Path) -> None:
    page = opened(window, folder, "+tool:Bash")
    page.locator(".saved > summary").click()
    page.get_by_label("Save this search as").fill("Bash cases")
    page.get_by_role("button", name="Save for everybody").click()
    page.get_by_text("Everybody in this workspace finds it").wait_for()
    page = window.open("/")
    page.locator(".saved > summary").click()
    page.get_by_role("link", name="Bash cases").click()
    expect(page.locator("#q")).to_have_value(f"project:{folder.name} tool:Bash")
    page = window.open("/searches/")
    page.get_by_label("New name of Bash cases").fill("Shell cases")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("link", name="Shell cases").wait_for()
    page.get_by_role("button", name="Remove Shell cases").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="No searches are saved yet").wait_for()
    window.is_clean()
