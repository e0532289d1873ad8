"""The other tabs of a session: its thread, its files over time, its usage, its raw lines."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.claude import Log
from tests.e2e.conftest import Site, Window

pytestmark = pytest.mark.browser

NAME = "66666666-6666-4666-8666-666666666666"
FIRST = "def area(side):\n    return side\n"
SECOND = FIRST.replace("return side", "return side * side")


class Own(Log):
    """Logs that share ids of records are forks of each other, and an answer counts in one of them
    only; this one stands apart."""

    def add(self, kind: str, **fields: Any) -> Log:
        number = len(self.lines)
        ids = {"uuid": f"tab{number}", "parentUuid": f"tab{number - 1}" if number else None}
        if "requestId" in fields:
            fields["requestId"] = fields["message"]["id"] = f"tab{number}"
        return super().add(kind, **{**ids, **fields})


def main() -> bytes:
    log = Own(NAME).prompt("Tab case")
    log.call("Write", {"file_path": "/home/ada/tally/src/area.py", "content": FIRST})
    log.result("ok", toolUseResult={"type": "create", "content": FIRST, "structuredPatch": []})
    edit = {"old_string": "return side", "new_string": "return side * side"}
    log.call("Edit", {"file_path": "/home/ada/tally/src/area.py", **edit}).result("ok")
    log.call("Read", {"file_path": "/home/ada/tally/notes.md"}).result("     1\u2192# notes")
    return (
        log.answer("Done.", output=400)
        .prompt("Again")
        .answer("Yes.", model="claude-haiku-4-5")
        .data
    )


def agent(name: str, words: str) -> bytes:
    log = Log(NAME)
    side: dict[str, Any] = {"isSidechain": True, "agentId": name}
    for number in range(2):
        own = {"uuid": f"{name}{number}", "parentUuid": f"{name}0" if number else None}
        log.prompt(f"{words} {number}", **own, **side)
    return log.data


@pytest.fixture(scope="module")
def uids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tabs")
    below = folder / NAME / "subagents"
    below.mkdir(parents=True)
    files: dict[str, tuple[Path, bytes]] = {
        "main": (folder / f"{NAME}.jsonl", main()),
        "one": (below / "agent-a1.jsonl", agent("a1", "Count the sides")),
        "two": (below / "agent-a2.jsonl", agent("a2", "Measure the sides")),
    }
    for path, data in files.values():
        path.write_bytes(data)
    return {name: site.ingest(path)[0] for name, (path, _) in files.items()}


def test_the_thread_is_walked_with_the_arrow_keys(window: Window, uids: dict[str, str]) -> None:
    page = window.open(f"/sessions/{uids['one']}/thread")
    tree = page.get_by_role("tree", name="As a tree")
    items = tree.get_by_role("treeitem")
    expect(items).to_have_count(3)
    expect(page.locator(".picture svg")).to_be_visible()
    assert tree.locator("[tabindex='0'][role=treeitem]").count() == 1
    current = tree.locator("[aria-current=page]")
    expect(current).to_contain_text("Count the sides")
    current.focus()
    page.keyboard.press("ArrowLeft")
    top = items.first
    expect(top).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(top).to_have_attribute("aria-expanded", "false")
    expect(current).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(items.last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(uids["main"]))
    window.is_clean()


def test_a_file_is_shown_as_it_was_after_any_event(
    window: Window, uids: dict[str, str], tmp_path: Path
) -> None:
    page = window.open(f"/sessions/{uids['main']}/files")
    expect(page.locator("table.files tbody tr")).to_have_count(2)
    page.get_by_label("Part of a path").fill("area")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("table.files tbody tr")).to_have_count(1)
    page.locator("a.path").click()
    net = page.get_by_role("region", name="Net change of the session")
    expect(net).to_contain_text("The file was not there before.")
    expect(net).to_contain_text("return side * side")
    text = page.get_by_role("group", name="Text of the file").locator("pre.source")
    expect(text).to_have_text(SECOND)
    page.locator("#state-previous").click()
    expect(text).to_have_text(FIRST)
    expect(page).to_have_url(re.compile(r"seq=\d+"))
    slider = page.get_by_role("slider", name="Act on the file")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^act 1 of 2"))
    slider.press("ArrowRight")
    expect(text).to_have_text(SECOND)
    page.get_by_label("After event").fill("0")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#state")).to_contain_text("had not touched the file yet")
    page.go_back()
    expect(text).to_have_text(SECOND)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "area.py")
    assert (tmp_path / "area.py").read_text() == SECOND
    acts = page.get_by_role("region", name="Each act").locator("ol.acts > li")
    expect(acts).to_have_count(2)
    acts.last.get_by_role("link", name="event").click()
    expect(page.locator("#e3")).to_be_in_viewport()
    window.is_clean()


def test_usage_and_raw_lines_tell_what_the_log_says(window: Window, uids: dict[str, str]) -> None:
    page = window.open(f"/sessions/{uids['main']}/")
    tabs = page.get_by_role("navigation", name="Session")
    tabs.get_by_role("link", name="Usage").click()
    figures = page.locator("dl.figures").first
    expect(figures.locator("div", has_text="Answers").locator("dd")).to_have_text("5")
    expect(figures.locator("div", has_text="Cache hit share")).to_contain_text("%")
    turns = page.get_by_role("region", name="By turn").locator("tbody tr")
    expect(turns).to_have_count(2)
    expect(page.get_by_role("img", name="Tokens that went into each answer")).to_be_visible()
    page.locator("summary", has_text="The bars as a table").click()
    expect(page.get_by_role("group", name="The bars of the charts")).to_be_visible()
    turns.last.get_by_role("link", name="Again").click()
    expect(page.locator("#e8")).to_be_in_viewport()

    tabs.get_by_role("link", name="Raw").click()
    expect(page.get_by_role("heading", name="Event 0, raw")).to_be_visible()
    page.locator("body[data-shortcuts=on]").wait_for()
    page.wait_for_function("() => document.readyState === 'complete'")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Event 1, raw")).to_be_visible()
    expect(page.locator("pre.code")).to_contain_text('"file_path":"/home/ada/tally/src/area.py"')
    expect(page.locator("table.hex tbody tr").first).to_contain_text("7b 22")
    page.wait_for_function("() => document.readyState === 'complete'")
    page.keyboard.press("k")
    expect(page.get_by_role("heading", name="Event 0, raw")).to_be_visible()
    page.get_by_role("link", name="In the transcript").click()
    expect(page.locator("#e0")).to_be_in_viewport()
    window.is_clean()


def test_the_chart_of_the_workspace_is_read_and_narrowed(
    window: Window, uids: dict[str, str]
) -> None:
    page = window.open("/usage/?range=all")
    chart = page.get_by_role("slider")
    chart.focus()
    page.keyboard.press("Home")
    first = chart.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    assert first is not None
    expect(page.locator("usage-chart .readout")).not_to_be_empty()
    page.locator(".legend button").first.click()
    expect(page.locator(".legend button").first).to_have_attribute("aria-pressed", "false")
    chart.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("from=.*to="))
    expect(page.locator("usage-chart")).to_be_visible()
    window.is_clean()
