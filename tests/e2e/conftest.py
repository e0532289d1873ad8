"""A real house (web, worker, beat, embedded Postgres) and a real Chromium to walk through it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from scripts import ensure_browser
from tests.runtime.house import House, environment, free_port

PROJECT = Path(__file__).resolve().parents[2]
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]

# Told to the page before anything else runs in it.
LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

# What the page asks for by itself has come, and is drawn. A live page is never idle on the network;
# what is asked for because it came into view is asked for a frame later.
SETTLED = """async () => {
  for (let calm = 0; calm < 3; calm += 1) {
    await new Promise((done) => requestAnimationFrame(done));
    if (document.readyState !== "complete" || document.querySelector(".htmx-request")) calm = 0;
  }
}"""


@dataclass(slots=True, kw_only=True)
class Site:
    """The running house, as a person with a shell on the server sees it."""

    url: str
    env: dict[str, str]
    state: dict[str, object] = field(default_factory=dict)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=PROJECT, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def link(self) -> str:
        url: str = json.loads(self.manage("signin_link", "--json"))["url"]
        return url

    def ingest(self, path: Path) -> list[str]:
        told = json.loads(self.manage("ingest", str(path), "--json"))
        return [file["session"] for file in told["files"]]


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    ground = Path(tempfile.mkdtemp(prefix="recount-e2e-"))
    ground.chmod(0o755)
    port = free_port()
    env = environment(ground / "home", PORT=str(port))
    house = House(ground / "home", [sys.executable, "-m", "runtime.supervisor"], env)
    try:
        house.says("Sign in once", 120)
        yield Site(url=f"http://127.0.0.1:{port}", env=env)
    finally:
        house.end()
        shutil.rmtree(ground, ignore_errors=True)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = ensure_browser.find()
    if path is None:
        if os.environ.get("RECOUNT_REQUIRE_ALL"):
            pytest.fail("a browser is required here and none was found")
        pytest.skip("no Chromium found: name one in RECOUNT_CHROMIUM")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


# What htmx says of a request that was under way when its page was left, or when the next letter was
# typed. One that fails in any other way is told as something else besides.
LEFT = ("htmx:sendAbort,", "htmx:afterRequest,")


@dataclass(slots=True, kw_only=True)
class Window:
    """A page that remembers everything it should not have done."""

    page: Page
    site: Site
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.site.url + path)
        self.page.evaluate(SETTLED)
        return self.page

    def is_clean(self) -> None:
        violations = self.page.evaluate("window.violations")
        assert violations == [], violations
        assert self.complaints == [], self.complaints


@pytest.fixture
def window(chromium: Browser, site: Site) -> Iterator[Window]:
    context = signed_in(chromium, site)
    yield watched(context, site)
    context.close()


def signed_in(chromium: Browser, site: Site, **options: object) -> BrowserContext:
    """A browser that came in by link; the cookie is kept, a link works only once."""
    if not site.state:
        first = chromium.new_context()
        page = first.new_page()
        page.goto(site.link())
        site.state.update(first.storage_state())
        first.close()
    return chromium.new_context(storage_state=site.state, **options)  # type: ignore[arg-type]


def watched(context: BrowserContext, site: Site) -> Window:
    context.add_init_script(LISTEN)
    page = context.new_page()
    window = Window(page=page, site=site)

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(LEFT):
            window.complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: window.complaints.append(str(error)))
    page.on("dialog", lambda dialog: window.complaints.append(f"dialog {dialog.message}"))
    page.on(
        "request",
        lambda request: (
            None
            if re.match(rf"{re.escape(site.url)}|data:", request.url)
            else window.complaints.append(f"request to {request.url}")
        ),
    )
    return window
