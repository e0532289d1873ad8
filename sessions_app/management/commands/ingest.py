"""Take log files of this machine into the record."""

import sys
import time
from collections import Counter
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.actions import people
from sessions_app.ingest import sources
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.management import console
from sessions_app.store import people as people_store


class Command(console.Command):
    help = "Take files, and the logs below folders, into the record. Run it again at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="+", metavar="PATH")
        parser.add_argument("--workspace", default="", help="name or id of the workspace")

    def work(self, options: dict[str, Any]) -> None:
        if people_store.first_admin() is None:
            people.found_house()
        workspace = console.workspace_named(options["workspace"])
        found = list(sources.walk(options["paths"]))
        # A file may be named itself and lie below a folder that was named, too.
        named = {item.path: item for item in found if isinstance(item, sources.DiskFile)}
        files = list(named.values())
        skipped = [item for item in found if isinstance(item, sources.Skipped)]
        bar = _Bar(len(files), sum(file.size for file in files), quiet=options["json"])
        ingest = Ingest(workspace.id, now=timezone.now(), progress=bar.bytes)
        told: dict[str, Result] = {}
        with ingest.overlapped():
            for result in ingest.sources(files):
                bar.file()
                told[result.path] = result
        results = list(told.values())
        bar.end()
        if options["json"]:
            self.give(_summary(results, skipped))
        else:
            self._told(results, skipped)
        if any(result.state == "failed" for result in results) or (skipped and not files):
            sys.exit(1)

    def _told(self, results: list[Result], skipped: list[sources.Skipped]) -> None:
        for result in results:
            if result.state == "failed":
                self.say(f"failed   {result.path}: {result.message}")
        for item in skipped:
            self.say(f"skipped  {item.path}: {item.reason}")
        states = Counter(result.state for result in results)
        for state, number in sorted(states.items()):
            chosen = [result for result in results if result.state == state]
            lines = sum(result.lines for result in chosen)
            bad = sum(result.unreadable for result in chosen)
            self.say(f"{state:<10} {number:>6,} files {lines:>10,} lines {bad:>8,} unreadable")
        if not results and not skipped:
            self.say("Nothing to take: no .jsonl file below what was named.")


def _summary(results: list[Result], skipped: list[sources.Skipped]) -> dict[str, object]:
    return {
        "files": [
            {
                "path": result.path,
                "state": result.state,
                "session": result.uid,
                "lines": result.lines,
                "unreadable": result.unreadable,
                "bytes": result.raw_bytes,
                "message": result.message,
            }
            for result in results
        ],
        "skipped": [{"path": item.path, "reason": item.reason} for item in skipped],
        "states": dict(Counter(result.state for result in results)),
        "lines": sum(result.lines for result in results),
        "unreadable": sum(result.unreadable for result in results),
        "bytes": sum(result.raw_bytes for result in results),
    }


class _Bar:
    """Files, megabytes, speed and time left, on a terminal only."""

    def __init__(self, files: int, size: int, *, quiet: bool) -> None:
        self._files, self._size = files, size
        self._shown = sys.stderr.isatty() and not quiet
        self._begun = time.monotonic()
        self._done_files = self._done_bytes = 0

    def file(self) -> None:
        self._done_files += 1
        self._show()

    def bytes(self, number: int) -> None:
        self._done_bytes += number
        self._show()

    def _show(self) -> None:
        if not self._shown:
            return
        spent = max(time.monotonic() - self._begun, 1e-6)
        speed = self._done_bytes / spent
        left = max(self._size - self._done_bytes, 0) / speed if speed else 0
        sys.stderr.write(
            f"\r{self._done_files:,}/{self._files:,} files  {self._done_bytes / 1e6:,.1f} MB  "
            f"{speed / 1e6:,.1f} MB/s  {left:,.0f} s left \x1b[K"
        )
        sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
