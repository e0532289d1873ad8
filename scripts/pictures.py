"""The pictures of the README: a fresh house, the demo, a browser. Run it when pages look different.

.venv/bin/python -m scripts.pictures
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from scripts import ensure_browser

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PORT = 8497
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 780}
# File, address below the session or below the house, scheme, size.
PICTURES = (
    ("sessions", "/", "light", WIDE),
    ("session", "{session}", "light", WIDE),
    ("session-dark", "{session}", "dark", WIDE),
    ("session-phone", "{session}", "light", NARROW),
    ("timeline", "{session}timeline", "light", WIDE),
    ("search", "/search?q=test+OR+error", "light", WIDE),
    ("usage", "/usage/?range=all", "light", WIDE),
)


@contextmanager
def house() -> Iterator[str]:
    """A house of its own; gives the link that signs in."""
    with tempfile.TemporaryDirectory(prefix="recount-pictures-") as home:
        env = {**os.environ, "RECOUNT_HOME": home, "PORT": str(PORT)}
        command = [sys.executable, "-m", "runtime.supervisor"]
        run = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        try:
            yield _link(run)
        finally:
            run.terminate()
            run.communicate(timeout=60)


def _link(run: subprocess.Popen[str]) -> str:
    for line in run.stdout or ():
        if found := re.search(r"Sign in once with this link: (\S+)", line):
            return found[1]
    raise SystemExit("The house did not start.")


def filled(browser: Browser, link: str) -> tuple[dict[str, object], str]:
    """The demo is loaded: the cookie of who did it, and the address of its longest session."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.goto(_at("/welcome/"))
    page.get_by_role("button", name="Load demo").click()
    page.locator("#jobs").get_by_text("Done", exact=True).wait_for(timeout=120_000)
    page.goto(_at("/?q=agent:claude-code+sort:tokens"))
    session = page.locator("a[data-row]").first.get_attribute("href")
    state = dict(context.storage_state())
    context.close()
    return state, str(session)


def _at(path: str) -> str:
    return f"http://127.0.0.1:{PORT}{path}"


def settled(page: Page) -> None:
    page.wait_for_function("() => document.readyState === 'complete'")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.wait_for_timeout(500)


def take(browser: Browser, state: dict[str, object], session: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, path, scheme, size in PICTURES:
        context = browser.new_context(storage_state=state, color_scheme=scheme, viewport=size)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(_at(path.format(session=session)))
        settled(page)
        page.screenshot(path=IMAGES / f"{name}.png")
        context.close()


def main() -> None:
    with house() as link, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=ensure_browser.find(), args=["--no-sandbox"])
        take(browser, *filled(browser, link))
        browser.close()


if __name__ == "__main__":
    main()
