"""Take log files of this machine into the record."""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.actions import people
from sessions_app.domain import hostile
from sessions_app.domain.errors import BadInput, NotFound
from sessions_app.ingest import bundles, discover, notices, parallel, roots, runs, sources
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.management import console
from sessions_app.store import people as people_store
from sessions_app.store import write

BAD = ("failed", "died")
STATES = ("ingested", "appended", "rewritten", "unchanged", "empty", "unknown", *BAD)
CAREFUL = "An earlier run died here: this one reads with care, which takes longer."


class Command(console.Command):
    help = "Take files, and the logs below folders, into the record. Run it again at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="*", metavar="PATH")
        parser.add_argument(
            "--discover", action="store_true", help="the folders agents of this machine log to"
        )
        parser.add_argument("--workspace", default="", help="name or id of the workspace")
        parser.add_argument(
            "--processes", type=int, default=1, metavar="N", help="for many large files: 2 or more"
        )

    def work(self, options: dict[str, Any]) -> None:
        paths = [*options["paths"], *(self._known() if options["discover"] else [])]
        if not paths:
            raise BadInput("name at least one file or folder, or add --discover")
        if people_store.first_admin() is None:
            people.found_house()
        workspace = console.workspace_named(options["workspace"])
        found = _Found.below(paths)
        bar = _Bar(found, quiet=options["json"])
        with runs.noted() as is_careful:
            if is_careful:
                self.stderr.write(CAREFUL)
            results = _take(
                workspace.id, found, bar, processes=options["processes"], is_careful=is_careful
            )
        bar.end()
        if options["json"]:
            self.give(_summary(results, found.skipped))
        else:
            self._told(results, found.skipped)
        failed = any(result.state in BAD for result in results)
        unread = any(item.why in ("gone", "unread") for item in found.skipped)
        if failed or unread or (found.skipped and not results):
            sys.exit(1)

    def _known(self) -> list[str]:
        known = roots.known_roots(os.environ, Path.home())
        if not known:
            raise NotFound("no agent of this machine has a folder of logs in a known place")
        for root in known:
            self.stderr.write(hostile.plain(f"{root.agent}: {root.path}"))
        return [root.path for root in known]

    def _told(self, results: list[Result], skipped: list[sources.Skipped]) -> None:
        for result in results:
            if result.state in BAD:
                self.say(f"{result.state:<8} {result.path}: {result.message}")
        for item in skipped:
            self.say(f"skipped  {item.path}: {item.reason}")
        if not results and not skipped:
            self.say("Nothing to take: no log below what was named.")
            return
        self.say(f"{'':<12}{'files':>8}{'lines':>12}{'malformed':>12}{'MB':>10}")
        for name, chosen in _table(results):
            lines = sum(result.lines for result in chosen)
            bad = sum(result.unreadable for result in chosen)
            size = sum(result.raw_bytes for result in chosen) / 1e6
            self.say(f"{name:<12}{len(chosen):>8,}{lines:>12,}{bad:>12,}{size:>10,.1f}")
        if skipped:
            self.say(f"{'skipped':<12}{len(skipped):>8,}")


def _table(results: list[Result]) -> list[tuple[str, list[Result]]]:
    """What was found, and how much of it came to what end."""
    by_state = {state: [r for r in results if r.state == state] for state in STATES}
    return [("found", results), *((name, chosen) for name, chosen in by_state.items() if chosen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Files are listed before the first is taken, so that the time left can be told; the sessions
    inside databases are taken out when their turn comes."""

    files: list[sources.DiskFile]
    bundles: list[bundles.Bundle]
    databases: list[sources.DiskFile]
    skipped: list[sources.Skipped]

    @classmethod
    def below(cls, paths: list[str]) -> "_Found":
        # A file may be named itself and lie below a folder that was named, too.
        named: dict[str, sources.DiskFile] = {}
        bundled: list[bundles.Bundle] = []
        databases: list[sources.DiskFile] = []
        skipped: list[sources.Skipped] = []
        for item in bundles.gather(sources.walk(paths)):
            if isinstance(item, sources.Skipped):
                skipped.append(item)
            elif isinstance(item, bundles.Bundle):
                bundled.append(item)
            elif discover.is_database(item.path):
                databases.append(item)
            else:
                named[item.path] = item
        files = list(named.values())
        return cls(files=files, bundles=bundled, databases=databases, skipped=skipped)

    def items(self) -> list[parallel.Item]:
        return [*self.files, *self.bundles, *self.databases]

    def aside(self, workspace_id: UUID) -> list[parallel.Item]:
        """Those that killed their reader before."""
        aside = notices.Aside(workspace_id)
        return [item for item in self.items() if aside.holds(item.path)]

    def without(self, risky: list[parallel.Item]) -> "_Found":
        paths = {item.path for item in risky}
        return replace(
            self,
            files=[item for item in self.files if item.path not in paths],
            bundles=[item for item in self.bundles if item.path not in paths],
            databases=[item for item in self.databases if item.path not in paths],
        )

    def inside(self) -> Iterator[sources.SourceFile]:
        for item in discover.inside([*self.bundles, *self.databases]):
            if isinstance(item, sources.Skipped):
                self.skipped.append(item)
            else:
                yield item


def _take(
    workspace_id: UUID, found: _Found, bar: "_Bar", *, processes: int, is_careful: bool
) -> list[Result]:
    """Of a source that was raced there are two results: the last one counts."""
    now = timezone.now()
    risky = found.items() if is_careful else found.aside(workspace_id)
    told: dict[str, Result] = {}
    for result in chain(
        _taken(workspace_id, found.without(risky), bar, now=now, processes=processes),
        parallel.careful(workspace_id, risky, now=now, progress=bar.bytes),
    ):
        bar.file(result.path)
        told[result.path] = result
    notices.tell(workspace_id, told.values(), now=now)
    if any(result.raw_bytes for result in told.values()):
        write.merge_index()
    return list(told.values())


def _taken(
    workspace_id: UUID, found: _Found, bar: "_Bar", *, now: datetime, processes: int
) -> Iterator[Result]:
    files: Iterable[sources.SourceFile] = found.files
    if processes > 1:
        yield from parallel.take(
            workspace_id, found.files, now=now, processes=processes, progress=bar.bytes
        )
        files = []
    ingest = Ingest(workspace_id, now=now, progress=bar.bytes)
    with ingest.overlapped():
        yield from ingest.sources(chain(files, found.inside()))


def _summary(results: list[Result], skipped: list[sources.Skipped]) -> dict[str, object]:
    return {
        "files": [
            {
                "path": result.path,
                "state": result.state,
                "format": result.format,
                "session": result.uid,
                "lines": result.lines,
                "unreadable": result.unreadable,
                "bytes": result.raw_bytes,
                "message": result.message,
            }
            for result in results
        ],
        "skipped": [{"path": item.path, "reason": item.reason} for item in skipped],
        "found": len(results),
        "states": dict(Counter(result.state for result in results)),
        "formats": dict(Counter(result.format for result in results if result.format)),
        "lines": sum(result.lines for result in results),
        "unreadable": sum(result.unreadable for result in results),
        "bytes": sum(result.raw_bytes for result in results),
    }


class _Bar:
    """Files, megabytes, speed and time left, on a terminal only."""

    def __init__(self, found: _Found, *, quiet: bool) -> None:
        # A database counts as one file, whatever number of sessions is in it.
        self._sizes = {item.path: item.size for item in found.items()}
        self._files, self._size = len(self._sizes), sum(self._sizes.values())
        self._shown = sys.stderr.isatty() and not quiet
        self._begun = time.monotonic()
        # Of a file that is in already no byte is read: it is passed all the same.
        self._passed = self._done_bytes = 0

    def file(self, path: str) -> None:
        named = path if path in self._sizes else path.partition("#")[0]
        self._passed += self._sizes.pop(named, 0)
        self._show()

    def bytes(self, number: int) -> None:
        self._done_bytes += number
        self._show()

    def _show(self) -> None:
        if not self._shown:
            return
        spent = max(time.monotonic() - self._begun, 1e-6)
        at = max(self._passed, self._done_bytes)
        left = max(self._size - at, 0) * spent / at if at else 0
        sys.stderr.write(
            f"\r{self._files - len(self._sizes):,}/{self._files:,} files  "
            f"{self._done_bytes / 1e6:,.1f} MB  {self._done_bytes / spent / 1e6:,.1f} MB/s  "
            f"{left:,.0f} s left \x1b[K"
        )
        sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
