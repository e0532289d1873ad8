"""Every page in light, dark and at 390 px: no axe finding, no violation, no word on the console."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import build
from tests.e2e.conftest import Site, signed_in, watched

pytestmark = pytest.mark.browser

AXE = Path(__file__).resolve().parents[1] / "vendor" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCREENS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1400, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1400, "height": 900}},
    "phone": {
        "color_scheme": "light",
        "viewport": {"width": 390, "height": 844},
        "reduced_motion": "reduce",
    },
}
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
        b'{"type":"marker","value":1}\n',
        b"broken {\n",
        build.line("assistant", "cut")[:-6],
    )
)
PAGES = {
    "list": "/",
    "welcome": "/welcome/",
    "session": "/sessions/{uid}/",
    "record": "/sessions/{uid}/record",
    "raw": "/sessions/{uid}/raw?seq=4",
    "jobs": "/jobs/",
    "members": "/members/",
    "profile": "/profile/",
    "components": "/components/",
    "absent": "/sessions/00000000-0000-4000-8000-000000000000/",
}


@pytest.fixture(scope="module")
def uid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    log = tmp_path_factory.mktemp("rich") / "rich.jsonl"
    log.write_bytes(RICH)
    return site.ingest(log)[0]


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_and_nothing_spills_over(
    chromium: Browser, site: Site, uid: str, screen: str
) -> None:
    # Only axe itself needs the policy lifted; the other test keeps it.
    context = signed_in(chromium, site, bypass_csp=True, **SCREENS[screen])
    page = context.new_page()
    found = []
    for name, path in {**PAGES, "sign-in": "/sign-in/"}.items():
        if name == "sign-in":
            context.clear_cookies()
        page.goto(site.url + path.format(uid=uid))
        page.wait_for_load_state("networkidle")
        page.add_script_tag(path=str(AXE))
        rules = {"runOnly": {"type": "tag", "values": RULES}}
        result = page.evaluate("(options) => axe.run(document, options)", rules)
        found += [
            (name, each["id"], [node["html"][:200] for node in each["nodes"][:3]])
            for each in result["violations"]
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name} is {wide} px too wide"
    context.close()
    assert found == []


@pytest.mark.parametrize("screen", SCREENS)
def test_no_page_breaks_the_policy_or_complains(
    chromium: Browser, site: Site, uid: str, screen: str
) -> None:
    context = signed_in(chromium, site, **SCREENS[screen])
    window = watched(context, site)
    for name, path in PAGES.items():
        page = window.open(path.format(uid=uid))
        assert page.title().endswith("· Recount"), name
        assert page.locator("h1").count() == 1, name
        if name == "absent":
            # The browser itself notes the status of the page on its console.
            window.complaints = [c for c in window.complaints if "404" not in c]
        window.is_clean()
    context.close()
