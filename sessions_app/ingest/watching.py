"""The watcher: looks at every watched folder once, then takes in what changes as it is written.

One thread waits for changes and takes them in; another looks at whole folders, so that a first
look at gigabytes delays no line. Both may meet in one file: of two appenders one wins, the other
goes on from there. Nothing is kept on disk: what was read is known by the record itself.

After a watcher that did not live to say goodbye the first look is a careful one, by a process of
its own: a source that kills its reader is put aside, and is left alone until somebody asks.
"""

import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections

from sessions_app.domain.errors import KeyUnavailable, RecountError
from sessions_app.ingest import discover, notices, reconcile, sources, watched
from sessions_app.ingest.following import Folders, is_below, is_folder
from sessions_app.ingest.notices import BY_LOOKING
from sessions_app.ingest.sources import DiskFile, Skipped
from sessions_app.ingest.watched import Root
from sessions_app.models import WatchedRoot
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings, jobs, roots, trouble
from sessions_app.store.findings import Found

log = logging.getLogger("recount.watcher")

# How soon a change on the Sources page is noticed.
REFRESH = 1.0
BEAT = 10.0
PULSE = "watcher"
# Events can be lost (a full queue, a network share): everything is looked at again this often.
RESCAN = 600.0
# The same where the kernel tells of nothing.
RESCAN_BLIND = 10.0
# How often disk and record are compared as wholes, switched-off sources included.
COMPARE = 3600.0
# A document is written anew at each save: a generation of it is made once it has rested.
QUIET = 5.0
AWAY = 1.0
# Of one folder; a tree of links must not fill the table.
MOST_FINDINGS = 200


class Watcher:
    def __init__(self, stop: Event, *, quiet: float = QUIET) -> None:
        self._stop, self._quiet = stop, quiet
        self._roots: dict[UUID, Root] = {}
        self._folders = Folders([])
        # Sources that changed, and when they are to be taken in.
        self._due: dict[tuple[UUID, str], float] = {}
        self._refresh_at = self._beat_at = self._compare_at = 0.0
        # Did the one before die? Known from the first look at the database on.
        self._is_after_death: bool | None = None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="look")

    def run(self) -> None:
        try:
            while not self._stop.is_set():
                self._turn_or_wait()
        finally:
            self._pool.shutdown(wait=True)
            with suppress(DatabaseError):
                jobs.forget([PULSE])

    def _turn_or_wait(self) -> None:
        """What was due stays due: nothing is lost while the database or the key is away."""
        try:
            self._turn()
        except (OperationalError, InterfaceError) as error:
            full = trouble.no_room(error)
            log.warning("%s", full.message if full else "the database does not answer: waiting")
        except KeyUnavailable as error:
            log.error("%s", error.message)
        else:
            return
        connection.close()
        self._stop.wait(AWAY)

    def _turn(self) -> None:
        if time.monotonic() >= self._refresh_at:
            self._refresh()
        for path in self._folders.wait(self._patience(), self._stop):
            self._changed(path)
        self._take_due()

    def _patience(self) -> float:
        now = time.monotonic()
        return max(min([self._refresh_at, *list(self._due.values())]) - now, 0.001)

    # Which folders ------------------------------------------------------------------------

    def _refresh(self) -> None:
        if self._is_after_death is None:
            self._is_after_death = bool(jobs.pulses(PULSE))
        rows = {row.id: row for row in roots.active()}
        self._roots = {
            row.id: self._known_or_new(row) for row in rows.values() if self._is_there(row)
        }
        bases = {root.base for root in self._roots.values()}
        if bases != self._folders.bases:
            self._folders = Folders(bases)
        # Before the first look, which may be the last thing that happens.
        self._beat(list(rows))
        for root in self._roots.values():
            self._look_after(root)
        self._compare()
        self._is_after_death = False
        self._refresh_at = time.monotonic() + REFRESH

    def _is_there(self, row: WatchedRoot) -> bool:
        if os.path.exists(row.path):  # noqa: PTH110
            return True
        error = "There is no such folder or file, or it cannot be reached."
        if row.error != error:
            roots.keep(row.id, {"error": error})
        return False

    def _known_or_new(self, row: WatchedRoot) -> Root:
        root = self._roots.get(row.id)
        if root is None or not root.says_the_same(row):
            return Root(
                row=row,
                base=os.path.realpath(row.path),
                # Who asks for a retry may mean one that killed its reader.
                is_careful=bool(self._is_after_death) or root is not None,
                aside=notices.Aside(row.workspace_id),
            )
        root.row = row
        return root

    def _look_after(self, root: Root) -> None:
        if root.scan is not None and root.scan.done():
            self._looked(root, root.scan)
        if root.scan is None and time.monotonic() >= root.scan_at:
            root.scan = self._pool.submit(self._scan, root)
        if root.news and root.scan is None:
            news, root.news = root.news, {}
            roots.keep(root.id, {**news, "files": len(root.seen)})

    def _looked(self, root: Root, scan: Future[None]) -> None:
        root.scan = None
        error = scan.exception()
        root.is_careful = root.is_careful and error is not None
        pause = RESCAN_BLIND if self._folders.trouble or root.is_careful else RESCAN
        if isinstance(error, OperationalError | InterfaceError | KeyUnavailable):
            pause = AWAY
        if told := _told(error) if error else self._folders.trouble:
            root.news["error"] = told[:300]
        root.scan_at = time.monotonic() + pause

    def _beat(self, root_ids: list[UUID]) -> None:
        if time.monotonic() >= self._beat_at:
            jobs.beat(PULSE)
            roots.looked_after(root_ids, watched.clock())
            self._beat_at = time.monotonic() + BEAT

    def _compare(self) -> None:
        """In the second thread, after the looks that are waiting there: what they are about to
        take in is no alert."""
        if time.monotonic() >= self._compare_at:
            self._pool.submit(_compare_all)
            self._compare_at = time.monotonic() + COMPARE

    # Everything below a folder ------------------------------------------------------------

    def _scan(self, root: Root) -> None:
        """In the second thread."""
        try:
            found: list[Found] = []
            files, failed = self._unlike_before(root, found), set()
            with closing(watched.looked_at(root, files, found)) as results:
                for result in results:
                    found += watched.noted(root, result)
                    if result.state in ("failed", "died"):
                        failed.add(result.path.partition("#")[0])
                    if self._stop.is_set():
                        return
            root.seen |= {
                file.on_disk: watched.stat_of(file) for file in files if file.path not in failed
            }
            self._tell(root, found)
        finally:
            connections.close_all()

    def _unlike_before(self, root: Root, found: list[Found]) -> list[DiskFile]:
        """By their size and time alone; those that are gone are forgotten."""
        files, there = [], set()
        for item in sources.walk([root.base]):
            if isinstance(item, Skipped):
                found.append(notices.refused(item, root.id))
                continue
            there.add(item.on_disk)
            if root.seen.get(item.on_disk) != watched.stat_of(item):
                files.append(item)
        root.seen = {path: stat for path, stat in list(root.seen.items()) if path in there}
        return [file for file in files if not self._is_unrested(root, file)]

    def _is_unrested(self, root: Root, file: DiskFile) -> bool:
        young = time.time() - file.mtime_ns / 1e9 < self._quiet
        if not young or not watched.is_document(root, file):
            return False
        self._due[root.id, file.on_disk] = time.monotonic() + self._quiet
        return True

    def _tell(self, root: Root, found: list[Found]) -> None:
        now = watched.clock()
        # Those first that are forgotten when they are not told.
        found.sort(key=lambda one: one.kind != FindingKind.ASIDE)
        still = findings.raised(root.row.workspace_id, found[:MOST_FINDINGS], now=now)
        findings.settle_others(root.id, BY_LOOKING, still | root.aside.keys, now)
        root.news |= {"seen_at": now, "error": notices.summary(found)}

    # What changes -------------------------------------------------------------------------

    def _changed(self, path: str) -> None:
        for root in self._roots.values():
            if not is_below(path, root.base):
                continue
            if is_folder(path) and _is_really(path):
                for item in sources.walk([path]):
                    self._mark(root, item.path if isinstance(item, Skipped) else item.on_disk)
            else:
                self._mark(root, path)

    def _mark(self, root: Root, path: str) -> None:
        """What an agent writes to a database lands beside it first."""
        path = path.removesuffix("-wal")
        if path != root.base and not sources.is_candidate(path):
            if os.path.islink(path):  # noqa: PTH114
                self._refuse(root, path, "a link: not followed")
            return
        if not _is_really(path):
            self._refuse(root, path, "a link: not followed")
            return
        for item in sources.walk([path], is_named=path == root.base):
            if isinstance(item, Skipped):
                self._gone(root, item)
            else:
                wait = self._quiet if watched.is_document(root, item) else 0.0
                self._due[root.id, path] = time.monotonic() + wait

    def _refuse(self, root: Root, path: str, reason: str) -> None:
        found = notices.refused(Skipped(path=path, reason=reason), root.id)
        findings.raised(root.row.workspace_id, [found], now=watched.clock())

    def _gone(self, root: Root, item: Skipped) -> None:
        if os.path.lexists(item.path):
            self._refuse(root, item.path, item.reason)
        else:
            root.seen.pop(item.path, None)

    def _take_due(self) -> None:
        now = time.monotonic()
        for root_id, path in [key for key, at in list(self._due.items()) if at <= now]:
            root = self._roots.get(root_id)
            if root is not None and root.is_careful:
                self._due[root_id, path] = now + REFRESH
                continue
            if root is not None:
                for item in sources.walk([path], is_named=path == root.base):
                    if isinstance(item, DiskFile):
                        self._take(root, item)
            self._due.pop((root_id, path), None)

    def _take(self, root: Root, file: DiskFile) -> None:
        if root.seen.get(file.on_disk) == watched.stat_of(file) and not discover.is_database(
            file.path
        ):
            return
        found: list[Found] = []
        for source in watched.opened(root, [file], found):
            found += watched.noted(root, watched.taken(root, source))
        findings.raised(root.row.workspace_id, found, now=watched.clock())
        if any(one.kind in BY_LOOKING for one in found):
            return
        root.seen[file.on_disk] = watched.stat_of(file)
        lag = time.time() - file.mtime_ns / 1e9
        root.news["lag_ms"] = min(max(int(lag * 1000), 0), 2**31 - 1)
        watched.settled(root, file)


def _compare_all() -> None:
    try:
        reconcile.everything(os.environ, Path.home(), now=watched.clock())
    except (DatabaseError, InterfaceError, RecountError, OSError) as error:
        log.error("comparing disk and record failed: %s", type(error).__name__)
    finally:
        connections.close_all()


def _is_really(path: str) -> bool:
    """No part of it is a link: one that was put in place of a folder leads elsewhere."""
    return os.path.realpath(path) == path


def _told(error: BaseException) -> str:
    """What the page says of a look that failed; nothing while the database is only away."""
    if full := trouble.no_room(error):
        return full.message
    if isinstance(error, RecountError):
        return error.message
    if isinstance(error, OperationalError | InterfaceError):
        return ""
    log.error("looking at a source failed: %s", type(error).__name__)
    return f"Looking at it failed ({type(error).__name__})."
