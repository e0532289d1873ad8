"""Every page in light, dark and at 390 px: no axe finding, no violation, no word on the console."""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page

from sessions_app.domain.fileindex import name_of
from tests import build
from tests.claude import Log
from tests.e2e.conftest import SETTLED, Site, signed_in, watched
from tests.formats.test_pictures import png
from tests.store.test_usage import answer

pytestmark = pytest.mark.browser

AXE = Path(__file__).resolve().parents[1] / "vendor" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCREENS: dict[str, dict[str, object]] = {
    "desk": {"viewport": {"width": 1400, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "reduced_motion": "reduce"},
}
# What comes with a change of colours is over.
CALM = """Promise.allSettled(document.getAnimations()
  .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
  .map((each) => each.finished))"""
# Only what is wrong is told at length.
CHECK = """(rules) => axe.run(document, { runOnly: rules, resultTypes: ["violations"] })
  .then((found) => found.violations.map(({ id, nodes }) =>
    [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))"""
RICH = b"".join(
    (
        build.line("system", "You are a careful assistant.", timestamp="2026-11-17T09:00:00Z"),
        build.line("user", "Please fix the **failing** test.\n\n- one\n- two"),
        build.line(
            "assistant", "# Plan\n\n```python\nprint('x')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        ),
        build.line(
            "assistant",
            "",
            tool_calls=[
                {"id": "c1", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
            ],
        ),
        build.line("tool", "no such file \u202e", tool_call_id="c1", name="Bash", is_error=True),
        build.line("user", [{"type": "image_url"}, {"type": "text", "text": "see picture"}]),
        build.line(
            "assistant",
            "",
            tool_calls=[
                {
                    "id": "c2",
                    "function": {
                        "name": "write_file",
                        "arguments": '{"path":"/w/a.py","content":"print(1)\\n"}',
                    },
                }
            ],
        ),
        build.line("tool", "written", tool_call_id="c2", name="write_file"),
        b'{"type":"marker","value":1}\n',
        b"broken {\n",
        build.line("assistant", "cut")[:-6],
    )
)
PICTURE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": b64encode(png(40, 30)).decode(),
    },
}
TODOS = [{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]
LINKS = '[{"title":"A page","url":"https://a.example/"}]'
MIXED = {
    "id": "mixed",
    "role": "assistant",
    "model": "claude-opus-4-5-20251101",
    "content": [
        {"type": "thinking", "thinking": "One more look.", "signature": "x"},
        {"type": "text", "text": "I look once more."},
        {"type": "tool_use", "id": "again", "name": "Bash", "input": {"command": "pytest -q"}},
    ],
    # Numbers as wide as they come.
    "usage": {
        "input_tokens": 136_602_111,
        "output_tokens": 110_512_222,
        "cache_creation_input_tokens": 197_788_352,
        "cache_read_input_tokens": 788_352_123,
    },
}
WORK = (
    Log()
    .record()
    .prompt("Please look")
    .think("First the tests.")
    .bash(
        "pytest -q",
        "\x1b[31mE   assert\x1b[0m \x1b[2mdim\x1b[0m \x1b[7mreverse\x1b[0m\x1b[2K",
        True,
    )
    .call("Edit", {"file_path": "a.py", "old_string": "x = 1\ny", "new_string": "x = 2\ny"})
    .result("done")
    .call("Read", {"file_path": "a.py"}, "r")
    .result("     7\u2192def f():\n     8\u2192    return 'x'", "r")
    .call("TodoWrite", {"todos": TODOS})
    .call("WebSearch", {"query": "q"}, "w")
    .result(f"Found\n\nLinks: {LINKS}\n\nText", "w")
    .call("mcp__linear__get", {"id": "X-1", "deep": {"a": [1, 2]}}, "m")
    .result('{"title": "broken"}', "m")
    .call("Shot", {}, "p")
    .result([{"type": "text", "text": "ok"}, PICTURE], "p")
    .add("assistant", requestId="mixed", message=MIXED)
    .result("1 passed", "again")
    .wait(hours=3)
    .compaction()
    .answer("Done\n\n```\n" + "a line of code\n" * 80 + "```", model="claude-haiku-4-5")
    .data
)
PAGES = {
    "list": "/",
    "filtered": "/?q=is:error+tool:Bash+colour:red+sort:cost+in:subagents",
    "nothing": "/?q=project:nowhere",
    "searches": "/searches/",
    "search": "/search?q=about",
    "search, sessions": "/search?q=agent:chat",
    "search, nothing": "/search?q=nosuchwordhere",
    "pattern": "/search?q=%2Fab.ut%2F",
    "find": "/sessions/{uid}/find?q=about",
    "welcome": "/welcome/",
    "session": "/sessions/{uid}/",
    "timeline": "/sessions/{uid}/timeline",
    "timeline, chosen": "/sessions/{uid}/timeline?since=1&until=6&pick=4&pin=errors",
    "usage": "/sessions/{uid}/usage",
    "thread": "/sessions/{uid}/thread",
    "files": "/sessions/{uid}/files",
    "file": "/sessions/{uid}/files?file={file}",
    "work": "/sessions/{work}/",
    "open work": "/sessions/{work}/?density=comfortable",
    "one event": "/sessions/{work}/event?seq=0",
    "large numbers": "/sessions/{work}/usage",
    "errors": "/sessions/{work}/?show=errors",
    "no such": "/sessions/{work}/?tool=Never",
    "outline": "/sessions/{work}/outline",
    "compact": "/sessions/{work}/?density=compact",
    "skim": "/sessions/{work}/?density=skim",
    "record": "/sessions/{uid}/record",
    "raw": "/sessions/{uid}/raw?seq=4",
    "export": "/export?q=test",
    "palette": "/palette?q=ses",
    "workspace usage": "/usage/?range=all",
    "usage by project": "/usage/?range=all&by=project&of=cost",
    "no usage": "/usage/?from=1980-01-01&to=1980-01-02",
    "projects": "/projects/",
    "agents": "/agents/",
    "tools": "/tools/?range=all",
    "jobs": "/jobs/",
    "machines": "/machines/",
    "sources": "/sources/",
    "reconcile": "/sources/reconcile",
    "members": "/members/",
    "profile": "/profile/",
    "components": "/components/",
    "absent": "/sessions/00000000-0000-4000-8000-000000000000/",
}

# Where a row of links is wider than the screen, the current one is the one to see.
HIDDEN_AWAY = """() => [...document.querySelectorAll(".nav, .tabs, .filters, .segments")]
  .map((row) => row.querySelector("[aria-current]")).filter((current) => {
    const { left, right } = current?.getBoundingClientRect() ?? { left: 0, right: 0 };
    return left < 0 || right > innerWidth + 1;
  }).map((current) => current.textContent.trim())"""


@pytest.fixture(scope="module")
def uids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("rich")
    (folder / "rich.jsonl").write_bytes(RICH)
    (folder / "work.jsonl").write_bytes(WORK)
    used = folder / "used.jsonl"
    used.write_bytes(answer("m1", 9) + b"\n" + answer("m2", 3, model="house-model") + b"\n")
    site.ingest(used)
    (uid,) = site.ingest(folder / "rich.jsonl")
    (work,) = site.ingest(folder / "work.jsonl")
    return {"uid": uid, "work": work}


def filled(path: str, uids: dict[str, str]) -> str:
    return path.format(**uids, file=name_of("/w/a.py", UUID(uids["uid"]).bytes))


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_clean_and_accessible_and_nothing_spills_over(
    chromium: Browser, site: Site, uids: dict[str, str], screen: str
) -> None:
    context = signed_in(chromium, site, color_scheme="light", **SCREENS[screen])
    window = watched(context, site)
    # Given through the debugger, which the policy of the page does not bind: it stays as it is.
    axe = AXE.read_text()
    found = []
    for name, path in {**PAGES, "sign-in": "/sign-in/"}.items():
        if name == "sign-in":
            context.clear_cookies()
        page = window.open(filled(path, uids))
        assert page.title().endswith("· Recount"), name
        assert page.locator("h1").count() == 1, name
        page.evaluate(axe)
        found += checked(page, name, {"type": "tag", "values": RULES})
        if screen == "desk":
            # In the dark only colours differ.
            page.emulate_media(color_scheme="dark")
            page.evaluate(SETTLED)
            page.evaluate(CALM)
            dark = {"type": "rule", "values": ["color-contrast"]}
            found += checked(page, f"{name}, dark", dark)
            page.emulate_media(color_scheme="light")
        if name == "absent":
            # The browser itself notes the status of the page on its console.
            window.complaints = [c for c in window.complaints if "404" not in c]
        window.is_clean()
    context.close()
    assert found == []


def checked(page: Page, name: str, rules: Mapping[str, object]) -> list[tuple[str, list[object]]]:
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{name} is {wide} px too wide"
    assert page.evaluate(HIDDEN_AWAY) == [], name
    return [(name, each) for each in page.evaluate(CHECK, rules)]
