"""The palette and the keys: everything within reach of the keyboard, and all of it can be off."""

import re

import pytest
from playwright.sync_api import Page, expect

from sessions_app.domain.rooms import ROOMS, sheet
from tests import build
from tests.e2e.conftest import SETTLED, Site, Window

pytestmark = pytest.mark.browser

TITLE = "Quokka ledger"


@pytest.fixture(scope="module")
def uid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("palette") / "palette.jsonl"
    path.write_bytes(build.line("user", TITLE) + build.log(6))
    (uid,) = site.ingest(path)
    return uid


def came(page: Page, path: str) -> None:
    """The page is there, and its scripts listen."""
    page.wait_for_url(re.compile(re.escape(path) + "$"))
    page.evaluate(SETTLED)


def test_the_palette_finds_sessions_pages_actions_and_the_search(window: Window, uid: str) -> None:
    page = window.open("/jobs/")
    dialog = page.get_by_role("dialog", name="Search or go to")
    field = dialog.get_by_role("combobox")
    options = dialog.get_by_role("option")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("quokka")
    expect(options.first).to_contain_text(TITLE)
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(dialog.get_by_role("status")).to_contain_text("results")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "po1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    came(page, f"/sessions/{uid}/")

    # What was open last is offered before anything is typed.
    page.keyboard.press("Control+k")
    recent = dialog.get_by_role("group", name="Recent sessions").get_by_role("option")
    expect(recent.first).to_contain_text(TITLE)
    page.keyboard.type("mach")
    expect(options.first).to_contain_text("Machines")
    page.keyboard.press("Enter")
    came(page, "/machines/")

    page.keyboard.press("Control+k")
    page.keyboard.type("shortcuts")
    dialog.get_by_role("option", name="Keyboard shortcuts").click()
    expect(page.locator("dialog#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(field).to_have_value("")
    page.keyboard.type("subject3")
    dialog.get_by_role("group", name="Search").get_by_role("option").first.click()
    page.wait_for_url(re.compile("/search.*subject3"))
    expect(page.locator(".hit mark").first).to_have_text("subject3")
    page.keyboard.press("Control+k")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    window.is_clean()


def test_every_room_is_two_keys_away(window: Window, uid: str) -> None:
    page = window.open(f"/sessions/{uid}/")
    for room in ROOMS:
        if room.key:
            # The search begins in its field, where keys are letters.
            page.evaluate("document.activeElement.blur()")
            for key in room.key.split():
                page.keyboard.press(key)
            expect(page.locator("nav.nav [aria-current=page]")).to_contain_text(room.label)
            page.evaluate(SETTLED)
    window.is_clean()


def test_the_sheet_lists_all_keys_and_they_can_be_switched_off(window: Window, uid: str) -> None:
    page = window.open("/")
    sheet_of_keys = page.locator("dialog#keys")
    page.keyboard.press("?")
    for place, keys in sheet():
        part = sheet_of_keys.get_by_role("region", name=place.value)
        expect(part.locator("dd")).to_have_text([key.words for key in keys])
    sheet_of_keys.get_by_role("link", name="your profile").click()
    try:
        page.get_by_role("checkbox", name="Keyboard shortcuts").uncheck()
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#status")).to_contain_text("aved")
        window.open(f"/sessions/{uid}/")
        for key in ("?", "g", "j", "Control+k", "l", "u"):
            page.keyboard.press(key)
        expect(page.locator("dialog:modal")).to_have_count(0)
        expect(page).to_have_url(re.compile(f"/sessions/{uid}/$"))
        assert page.evaluate("document.activeElement === document.body")
    finally:
        window.open("/profile/")
        page.get_by_role("checkbox", name="Keyboard shortcuts").check()
        page.get_by_role("button", name="Save").click()
    expect(page.locator("body")).to_have_attribute("data-shortcuts", "on")
    page.evaluate(SETTLED)
    page.keyboard.press("?")
    expect(sheet_of_keys).to_be_visible()
    window.is_clean()
