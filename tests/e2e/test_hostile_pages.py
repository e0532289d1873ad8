"""A log whose every field is an attack, on every kind of page and in an exported one: nothing runs,
nothing is asked for outside, and what hides is shown (T43, T49)."""

from pathlib import Path
from urllib.parse import quote

import orjson
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.claude import Log
from tests.e2e.conftest import LISTEN, SETTLED, Site, Window, signed_in, watched
from tests.e2e.test_every_page import PAGES

pytestmark = pytest.mark.browser

# A word that finds the session, markup of every kind, and characters that hide.
ATTACK = (
    "hostword \u202e<script>owned=1</script><img src='http://127.0.0.1:9/i' onerror='owned=1'>"
    "<svg onload='owned=1'><use href='http://127.0.0.1:9/s'/></svg>\"'><iframe srcdoc='x'></iframe>"
    "<a hx-get='/jobs/' hx-trigger='load'>x</a><style>@import 'http://127.0.0.1:9/c'</style>"
    " ![p](http://127.0.0.1:9/y) [j](javascript:owned=1) <http://127.0.0.1:9/a> {{ 7*7 }} ${owned}"
    " \x1b]8;;http://127.0.0.1:9/o\x07link\x1b]8;;\x07\x1b]52;c;eA==\x07\x1bc\x1b[31mred"
    " \u202egnp.exe\u202c a\u200bb \u2066 \ufeff \U000e0041"
)
FENCES = f'{ATTACK}\n```html\n{ATTACK}\n```\n```mermaid\nclick A href "javascript:owned=1"\n```'
PATH = f"/w/{ATTACK[:150]}\u202e\u200b/a.py"
# Hidden characters are shown by their number.
SHOWN = "U+202E"
OWNED = "window.owned === undefined && document.title !== 'owned'"
# Pages that show this session; the others of the house must only stay calm.
SHOWING = {"session", "work", "open work", "timeline", "usage", "thread", "files", "raw"}


# Addresses that hold only for the log they were written for.
OF_OTHERS = ("absent", "file", "timeline, chosen")


def hostile() -> bytes:
    """Every field of a line carries the attack, ids among them."""
    log = Log(ATTACK)
    own = {"cwd": PATH, "gitBranch": ATTACK, "version": ATTACK, "slug": ATTACK, ATTACK: ATTACK}
    log.record("summary", summary=ATTACK, leafUuid=ATTACK, **own)
    log.record("custom-title", customTitle=ATTACK, **own)
    log.prompt(ATTACK, **own).think(FENCES).answer(FENCES, model=ATTACK)
    link = orjson.dumps([{"title": ATTACK, "url": "javascript:owned=1"}]).decode()
    edit = {"file_path": PATH, "old_string": "x", "new_string": ATTACK}
    for name, arguments, result in (
        ("Bash", {"command": ATTACK, "description": ATTACK}, ATTACK),
        ("Write", {"file_path": PATH, "content": f"{ATTACK} x\n"}, "ok"),
        ("Edit", edit, ATTACK),
        ("Read", {"file_path": PATH}, f"     1\u2192{ATTACK}"),
        ("TodoWrite", {"todos": [{"content": ATTACK, "status": ATTACK}]}, ATTACK),
        ("WebSearch", {"query": ATTACK}, f"{ATTACK}\nLinks: {link}\n{ATTACK}"),
        ("Task", {"prompt": ATTACK, "subagent_type": ATTACK, "description": ATTACK}, ATTACK),
        (f"mcp__{ATTACK}__{ATTACK}", {ATTACK: {ATTACK: [ATTACK]}}, link),
        (ATTACK, {ATTACK: ATTACK}, [{"type": ATTACK, "text": ATTACK}]),
    ):
        log.call(name, arguments, f"{name}{ATTACK}").result(result, f"{name}{ATTACK}")
    log.bash(ATTACK, ATTACK, True).compaction().record(ATTACK, **own)
    return log.data + ATTACK.encode() + b"\n"


@pytest.fixture(scope="module")
def uid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=owned=1> \u202e"
    folder.mkdir()
    path = folder / "a'><script>owned=1<_script>\u200b.jsonl"
    path.write_bytes(hostile())
    (uid,) = site.ingest(path)
    return uid


def addresses(uid: str) -> dict[str, str]:
    known = {name: path for name, path in PAGES.items() if name not in OF_OTHERS}
    pages = {name: path.format(uid=uid, work=uid) for name, path in known.items()}
    stretch = "since=2026-11-17T09:00:01&until=2026-11-17T09:00:20"
    return {
        **pages,
        "found": "/search?q=hostword",
        "found in results": "/search?q=hostword+in:results",
        "scanned": f"/search?q={quote('/hostw.rd/')}",
        "listed": "/?q=hostword",
        "asked in its own words": f"/?q={quote(ATTACK)}",
        "searched in its own words": f"/search?q={quote(ATTACK)}",
        "found inside": f"/sessions/{uid}/find?q=hostword+in:results",
        "picked": f"/sessions/{uid}/timeline?{stretch}&pick=4",
        "named": "/palette?q=hostword",
    }


def calm(page: Page, window: Window, name: str) -> None:
    assert page.locator("#main").count() == 1, (name, page.url, window.complaints)
    # Everything that can unfold is unfolded.
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.evaluate(SETTLED)
    assert page.evaluate(OWNED), name
    assert page.locator("iframe, main svg [onload], main [onerror], main script").count() == 0, name
    assert page.locator("#main a[href^='javascript:' i]").count() == 0, name
    if "/sessions/" in page.url:
        assert "\u202e" not in page.locator("#main").inner_text(), name
    window.is_clean()


def test_every_kind_of_page_shows_a_hostile_log_and_does_nothing_it_says(
    chromium: Browser, site: Site, uid: str, tmp_path: Path
) -> None:
    context = signed_in(chromium, site)
    window = watched(context, site)
    # A job page asked for by the log itself would be asked for from another page.
    window.page.on(
        "request",
        lambda request: (
            window.complaints.append("the log asked for a page")
            if request.url.endswith("/jobs/") and "hx-request" in request.headers
            else None
        ),
    )
    for name, path in addresses(uid).items():
        page = window.open(path)
        calm(page, window, name)
        if name in SHOWING:
            expect(page.locator("#main").get_by_text(SHOWN).first).to_be_attached()
    page = window.open(f"/sessions/{uid}/files")
    files = page.locator("a.path").evaluate_all("(all) => all.map((a) => a.pathname + a.search)")
    assert files
    for path in files:
        calm(window.open(path), window, "file")
        expect(page.locator(".file-head h2")).to_contain_text(SHOWN)
    page = window.open("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("hostword")
    expect(page.locator("#palette-list")).to_contain_text(SHOWN)
    calm(page, window, "palette")
    with page.expect_download() as download:
        page.evaluate("(url) => { location.href = url }", f"/sessions/{uid}/export?as=html")
    download.value.save_as(tmp_path / "page.html")
    context.close()
    an_exported_page_is_as_harmless(chromium, tmp_path / "page.html")


def an_exported_page_is_as_harmless(chromium: Browser, path: Path) -> None:
    context = chromium.new_context()
    context.add_init_script(LISTEN)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(path.as_uri())
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert page.evaluate(OWNED)
    assert page.evaluate("window.violations") == []
    expect(page.get_by_text(SHOWN).first).to_be_attached()
    assert asked == [path.as_uri()]
    context.close()
