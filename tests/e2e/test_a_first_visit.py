"""A newcomer's first quarter of an hour, in order: greeting, demo, reading, leaving."""

from pathlib import Path

import orjson
import pytest
from playwright.sync_api import Browser, expect

from tests import build
from tests.claude import Log
from tests.e2e.conftest import Site, Window, signed_in, watched

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x' onerror=alert(1)>"
    "<a hx-get='/jobs/' hx-trigger='load'>x</a> ![p](http://127.0.0.1:9/y) "
    "[j](javascript:alert(1)) \x1b]0;t\x07 \u202egnp.exe \U000e0041 {{ 7*7 }} ${alert(1)}"
)


def test_an_empty_house_greets_and_the_demo_comes_and_goes(window: Window) -> None:
    # Other tests may have put something into the house by now.
    page = window.open("/welcome/")
    expect(page.get_by_role("heading", name="Welcome to Recount")).to_be_visible()
    page.get_by_role("button", name="Load demo").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.locator("#jobs").get_by_text("Done", exact=True)).to_be_visible(timeout=90_000)
    page.get_by_role("link", name="Sessions", exact=False).first.click()
    expect(page.get_by_text("25 sessions")).to_be_visible()
    page.locator("a[data-row]").first.click()
    expect(page.locator("article").first).to_be_visible()
    window.is_clean()

    window.open("/")
    page.get_by_role("button", name="Remove demo").click()
    page.locator("dialog[open]").get_by_role("button", name="Remove demo").click()
    expect(page.locator("#jobs").get_by_text("26 demo sessions removed")).to_be_visible(
        timeout=60_000
    )
    window.open("/")
    expect(page.get_by_role("button", name="Remove demo")).to_have_count(0)
    window.is_clean()


def test_a_dropped_file_becomes_a_session(window: Window, tmp_path: Path) -> None:
    log = tmp_path / "first.jsonl"
    log.write_bytes(build.log(30) + b"not json at all\n")
    page = window.open("/welcome/")
    page.locator("input[type=file]").first.set_input_files(str(log))
    expect(page.get_by_text("31 lines taken, 1 of them unreadable but kept.")).to_be_visible()
    window.open("/")
    page.get_by_role("link", name="message number 0 about subject0").first.click()
    expect(page.locator("article")).to_have_count(31)
    expect(page.get_by_text("Unreadable line")).to_be_visible()
    window.is_clean()


def test_keys_move_open_and_go_back(window: Window, site: Site, tmp_path: Path) -> None:
    log = tmp_path / "keys.jsonl"
    log.write_bytes(build.log(5))
    site.ingest(log)
    page = window.open("/")
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("article").first).to_be_visible()
    # The page is readable before its scripts have run; keys need them.
    page.wait_for_load_state("networkidle")
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    window.is_clean()


def test_a_long_transcript_loads_what_is_looked_at(
    window: Window, site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "long.jsonl"
    log.write_bytes(build.log(100_000))
    (uid,) = site.ingest(log)
    requests: list[str] = []
    window.page.on(
        "request",
        lambda request: requests.append(request.url) if "events?lo" in request.url else None,
    )
    page = window.open(f"/sessions/{uid}/")
    expect(page.locator("#e0")).to_be_visible()
    for seq in (50_050, 99_990, 12_345, 77):
        page.get_by_label("Go to event").fill(str(seq))
        page.keyboard.press("Enter")
        target = page.locator(f"#e{seq}")
        expect(target).to_be_in_viewport(timeout=15_000)
        expect(target).to_contain_text(f"message number {seq} about")
    assert len(requests) < 40
    window.is_clean()


def test_a_deep_link_needs_no_script(chromium: Browser, site: Site, tmp_path: Path) -> None:
    log = tmp_path / "plain.jsonl"
    log.write_bytes(build.log(1_000))
    (uid,) = site.ingest(log)
    context = signed_in(chromium, site, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/sessions/{uid}/?seq=777#e777")
    expect(page.locator("#e777")).to_contain_text("message number 777 about")
    page.get_by_role("link", name="Previous events").click()
    expect(page.locator("#e600")).to_be_visible()
    context.close()


def test_a_hostile_log_does_nothing_on_any_page(window: Window, site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    log = folder / "a'><script>alert(1)<_script>.jsonl"
    log.write_bytes(
        b"".join(
            (
                build.line("user", HOSTILE, **{HOSTILE: HOSTILE}),
                build.line("assistant", f"{HOSTILE}\n```html\n{HOSTILE}\n```", model=HOSTILE),
                build.line("assistant", "", tool_calls=[{"function": {"name": HOSTILE}}]),
                build.line("tool", HOSTILE, name=HOSTILE, is_error=True),
                build.line(HOSTILE, HOSTILE),
                HOSTILE.encode() + b"\n",
            )
        )
    )
    (uid,) = site.ingest(log)
    raw = [f"/sessions/{uid}/raw?seq={seq}" for seq in range(6)]
    one = [f"/sessions/{uid}/event?seq={seq}" for seq in range(6)]
    session = f"/sessions/{uid}/"
    for path in ("/", session, f"{session}record", f"{session}outline", *raw, *one):
        page = window.open(path)
        assert page.title() != "owned"
        window.is_clean()
    page = window.open(f"/sessions/{uid}/")
    expect(page.get_by_text("hidden characters").first).to_be_visible()


def test_hostile_work_does_nothing_however_it_is_shown(
    window: Window, site: Site, tmp_path: Path
) -> None:
    log = Log().prompt(HOSTILE).think(HOSTILE).record(HOSTILE, **{HOSTILE: [HOSTILE]})
    edit = {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": f"{HOSTILE}x"}
    link = orjson.dumps([{"title": HOSTILE, "url": "javascript:alert(1)"}]).decode()
    for name, arguments, result in (
        ("Bash", {"command": HOSTILE, "description": HOSTILE}, f"{HOSTILE}\n\x1b[31m{HOSTILE}"),
        ("Edit", edit, HOSTILE),
        ("apply_patch", f"*** Begin Patch\n*** Update File: {HOSTILE}\n-{HOSTILE}", HOSTILE),
        ("Read", {"file_path": f"{HOSTILE}.py"}, f"     1\u2192{HOSTILE}"),
        ("TodoWrite", {"todos": [{"content": HOSTILE, "status": HOSTILE}]}, HOSTILE),
        ("WebSearch", {"query": HOSTILE}, f"{HOSTILE}\nLinks: {link}\n{HOSTILE}"),
        ("Grep", {"pattern": HOSTILE, HOSTILE: HOSTILE}, HOSTILE),
        ("Task", {"prompt": HOSTILE, "subagent_type": HOSTILE}, HOSTILE),
        (f"mcp__{HOSTILE}__{HOSTILE}", {HOSTILE: {HOSTILE: [HOSTILE]}}, link),
    ):
        log.call(name, arguments).result(result).result(HOSTILE, is_error=True)
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(log.compaction().answer(HOSTILE, model=HOSTILE).data)
    (uid,) = site.ingest(path)
    for query in ("density=comfortable", "show=errors", "show=tools&tool=Bash", "density=skim"):
        page = window.open(f"/sessions/{uid}/?{query}")
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        page.wait_for_load_state("networkidle")
        assert page.title() != "owned"
        window.is_clean()


def test_a_link_signs_in_once_and_signing_out_ends_it(chromium: Browser, site: Site) -> None:
    link = site.link()
    first, second = chromium.new_context(), chromium.new_context()
    page = first.new_page()
    page.goto(link)
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    other = second.new_page()
    other.goto(link)
    expect(other.get_by_role("heading", name="already been used")).to_be_visible()
    page.locator("details.menu.opens-up summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(site.url)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    first.close()
    second.close()


def test_switched_off_keys_stay_silent(window: Window) -> None:
    page = window.open("/profile/")
    page.get_by_role("checkbox", name="Keyboard shortcuts").uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state("networkidle")
    window.open("/")
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).not_to_be_visible()
    window.open("/profile/")
    page.get_by_role("checkbox", name="Keyboard shortcuts").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state("networkidle")
    window.is_clean()


def test_members_get_a_link_to_pass_on(chromium: Browser, site: Site) -> None:
    context = signed_in(chromium, site)
    window = watched(context, site)
    page = window.open("/members/")
    page.get_by_label("User name").fill("dora")
    page.get_by_role("button", name="Add member").click()
    expect(page.get_by_role("heading", name="Sign-in link for dora")).to_be_visible()
    link = page.locator(".command.is-link code").inner_text()
    theirs = chromium.new_context()
    visitor = theirs.new_page()
    visitor.goto(link)
    expect(visitor.get_by_role("navigation", name="Main")).to_be_visible()
    theirs.close()
    window.is_clean()
    context.close()
