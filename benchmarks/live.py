"""A line is written; how long until it is in an open browser? A whole house and a real Chromium."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

from benchmarks import corpus
from benchmarks.measure import Figure
from scripts import ensure_browser
from tests.runtime.house import House, environment, free_port

PROJECT = Path(__file__).parent.parent
LINES = 100
FIRST_LINES = 30
# Uneven, so that no rhythm of the house is met by chance.
PAUSES = (0.05, 0.13, 0.31)
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
# Kept by the page itself: asking it from here would take part in the measurement.
SEEN = """
window.seen = {};
new MutationObserver(() => {
  for (const event of document.querySelectorAll("article.event")) {
    if (event.checkVisibility()) window.seen[event.id] ??= Date.now();
  }
}).observe(document, { childList: true, subtree: true });
"""
WATCH = (
    "from sessions_app.models import *; WatchedRoot.objects.create("
    "workspace=Workspace.objects.filter(is_demo=False).first(), path={!r})"
)


def run(folder: Path) -> list[Figure]:
    path = ensure_browser.find()
    if path is None:
        print("SKIPPED: no Chromium was found, so nothing is seen in one", flush=True)
        return []
    lines = list(islice(_spoken(), FIRST_LINES + LINES))
    log = folder / "live" / "project" / "session.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(lines[:FIRST_LINES]))
    with _house(folder / "live-home") as site, sync_playwright() as play:
        context = play.chromium.launch(executable_path=path, args=FLAGS).new_context()
        page = _at_session(context, site, log)
        lags = [_lag(page, log, FIRST_LINES + n, lines[FIRST_LINES + n]) for n in range(LINES)]
    return [_figure(lags)]


def _spoken() -> Iterator[bytes]:
    """What an assistant says stands open on the page; calls and their results are folded."""
    said = b'"content":[{"type":"text"'
    return (line for seed in count(11) for line in corpus.lines(seed) if said in line)


def _figure(lags: list[float]) -> Figure:
    return Figure(
        name="ms until a written line is seen, p95",
        value=statistics.quantiles(lags, n=20)[18],
        against=f"{LINES} lines, one after the other, in Chromium",
        limit=500,
        is_at_least=False,
        detail={"p50": statistics.median(lags), "longest": max(lags)},
    )


class _Site:
    def __init__(self, env: dict[str, str], url: str) -> None:
        self.env, self.url = env, url

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=PROJECT, env=self.env, stdout=subprocess.PIPE, text=True, check=True
        ).stdout


@contextmanager
def _house(home: Path) -> Iterator[_Site]:
    """All of `make run`, with a home and a database of its own."""
    home.parent.chmod(0o755)
    port = free_port()
    env = environment(home, PORT=str(port))
    house = House(home, [sys.executable, "-m", "runtime.supervisor"], env)
    try:
        house.says("Sign in once", 120)
        yield _Site(env, f"http://127.0.0.1:{port}")
    finally:
        house.end()


def _at_session(context: BrowserContext, site: _Site, log: Path) -> Page:
    """The session, open and at rest."""
    told = json.loads(site.manage("ingest", str(log), "--json"))
    site.manage("shell", "-c", WATCH.format(str(log.parent)))
    context.add_init_script(SEEN)
    page = context.new_page()
    page.goto(json.loads(site.manage("signin_link", "--json"))["url"])
    page.goto(f"{site.url}/sessions/{told['files'][0]['session']}/")
    page.locator("article.event").first.wait_for()
    page.wait_for_timeout(3_000)
    return page


def _lag(page: Page, log: Path, seq: int, line: bytes) -> float:
    with log.open("ab") as file:
        file.write(line)
    written = time.time() * 1000
    page.wait_for_function("(id) => window.seen[id]", arg=f"e{seq}", timeout=10_000)
    seen: float = page.evaluate("(id) => window.seen[id]", f"e{seq}")
    page.wait_for_timeout(1000 * PAUSES[seq % len(PAUSES)])
    return seen - written
