"""The timeline: zoomed, moved and selected with the mouse, with keys and with buttons."""

import re

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.claude import Log
from tests.e2e.conftest import Site, Window

pytestmark = pytest.mark.browser

TURNS = 20
ALL = TURNS * 4


@pytest.fixture(scope="module")
def uid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    log = Log("33333333-3333-4333-8333-333333333333")
    for turn in range(TURNS):
        log.prompt(f"Timeline step {turn}")
        log.bash(f"make {turn}", "made", turn % 5 == 4).answer(f"Step {turn} is done.")
        # One long pause in the middle.
        log.wait(hours=5 if turn == TURNS // 2 - 1 else 0.002)
    path = tmp_path_factory.mktemp("timeline") / "timeline.jsonl"
    path.write_bytes(log.data)
    (uid,) = site.ingest(path)
    return uid


def opened(window: Window, uid: str) -> Page:
    page = window.open(f"/sessions/{uid}/timeline")
    says(page, ALL)
    return page


def says(page: Page, events: int) -> None:
    told = f"{events}\N{NO-BREAK SPACE}events shown"
    expect(page.locator("timeline-view")).to_have_attribute("data-said", told)


def fewer(page: Page, than: int) -> int:
    """How many events the drawing shows, once it shows fewer."""
    page.wait_for_function(
        "(than) => parseInt(document.querySelector('timeline-view').dataset.said) < than", arg=than
    )
    told = page.locator("timeline-view").get_attribute("data-said")
    return int((told or "").split()[0])


def lanes(page: Page) -> FloatRect:
    box = page.locator(".lane.is-ruler .track").bounding_box()
    assert box is not None
    return box


def drag(page: Page, start: float, end: float, *, with_key: str = "") -> None:
    box = lanes(page)
    height = box["y"] + box["height"] + 40
    page.mouse.move(box["x"] + box["width"] * start, height)
    if with_key:
        page.keyboard.down(with_key)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, height)
    page.mouse.move(box["x"] + box["width"] * end, height)
    page.mouse.up()
    if with_key:
        page.keyboard.up(with_key)


def since(page: Page) -> str:
    return page.locator("#tl-from").input_value()


def test_buttons_and_keys_zoom_and_move_and_every_view_is_an_address(
    window: Window, uid: str
) -> None:
    page = opened(window, uid)
    page.get_by_role("link", name="Zoom in").click()
    zoomed = fewer(page, ALL)
    expect(page).to_have_url(re.compile("from=.*to="))
    page.keyboard.press("w")
    closer = fewer(page, zoomed)
    at = since(page)
    page.keyboard.press("a")
    page.wait_for_function("(at) => document.querySelector('#tl-from').value < at", arg=at)
    page.keyboard.press("d")
    page.wait_for_function("(at) => document.querySelector('#tl-from').value === at", arg=at)
    says(page, closer)
    page.reload()
    says(page, closer)
    assert since(page) == at
    page.locator("#tl-plot").focus()
    page.keyboard.press("-")
    says(page, zoomed)
    expect(page.locator("#status")).to_contain_text(f"{zoomed}\N{NO-BREAK SPACE}events shown")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("s")
    says(page, ALL)
    window.is_clean()


def test_the_mouse_zooms_moves_and_takes_the_window_on_the_map(window: Window, uid: str) -> None:
    page = opened(window, uid)
    box = lanes(page)
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 60)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -500)
    page.keyboard.up("Control")
    zoomed = fewer(page, ALL)
    at = since(page)
    drag(page, 0.2, 0.6, with_key="Shift")
    page.wait_for_function("(at) => document.querySelector('#tl-from').value < at", arg=at)
    page.get_by_role("link", name="Fit", exact=True).click()
    says(page, ALL)
    shown = page.locator("svg.map").bounding_box()
    assert shown is not None
    middle = shown["y"] + shown["height"] / 2
    page.mouse.move(shown["x"] + shown["width"] * 0.7, middle)
    page.mouse.down()
    page.mouse.move(shown["x"] + shown["width"] * 0.8, middle)
    page.mouse.move(shown["x"] + shown["width"] * 0.95, middle)
    page.mouse.up()
    assert fewer(page, ALL) != zoomed
    expect(page.locator("#tl-from")).to_have_value(re.compile("T14:"))
    window.is_clean()


def test_a_range_tells_what_happened_in_it_and_opens_the_transcript(
    window: Window, uid: str
) -> None:
    page = opened(window, uid)
    drag(page, 0.52, 0.8)
    card = page.get_by_role("region", name="Selected range")
    expect(card.get_by_role("link", name="Open the transcript here")).to_be_visible()
    expect(page).to_have_url(re.compile("since=.*until="))
    told = card.locator("dl.figures")
    expect(told).to_contain_text("Tool calls")
    said = page.locator("#timeline").get_attribute("data-range") or ""
    selected = re.match(r"\d+", said)
    assert selected is not None
    expect(told.locator("div", has_text="Events").locator("dd")).to_have_text(selected[0])
    page.keyboard.press("f")
    says(page, int(selected[0]))
    page.keyboard.press("Escape")
    expect(card.get_by_role("link", name="Clear")).to_have_count(0)
    page = opened(window, uid)
    drag(page, 0.6, 0.9)
    target = card.get_by_role("link", name="Open the transcript here").get_attribute("href")
    seq = re.search(r"#e(\d+)$", target or "")
    assert seq is not None
    card.get_by_role("link", name="Open the transcript here").click()
    expect(page.locator(f"#e{seq[1]}")).to_be_in_viewport()
    window.is_clean()


def test_pauses_fold_and_an_event_is_picked_and_stepped_along_its_lane(
    window: Window, uid: str
) -> None:
    page = opened(window, uid)
    modes = page.get_by_role("group", name="How pauses are drawn")
    modes.get_by_role("link", name="Wall time").click()
    expect(modes.get_by_role("link", name="Wall time")).to_have_attribute("aria-current", "true")
    expect(page.locator("rect.band")).to_have_count(0)
    modes.get_by_role("link", name="Compressed").click()
    expect(page.locator("rect.band")).to_have_count(1)
    page.locator(".lane", has_text="Prompts").locator("a[data-s]").nth(2).click()
    picked = page.locator("[data-picked]")
    expect(picked).to_have_text("Event 8")
    expect(picked).to_be_focused()
    expect(page.locator(".picked-card")).to_contain_text("Timeline step 2")
    page.keyboard.press(".")
    expect(picked).to_have_text("Event 12")
    page.keyboard.press(",")
    expect(picked).to_have_text("Event 8")
    page.keyboard.press("Escape")
    expect(picked).to_have_count(0)
    page.locator("summary", has_text="The same in words").click()
    rows = page.get_by_role("table", name="Lanes and how many events they hold")
    expect(rows.get_by_role("row", name="Prompts")).to_contain_text(str(TURNS))
    window.is_clean()
