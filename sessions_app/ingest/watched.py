"""A watched folder: what is remembered of it, and how what lies there becomes results."""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError

from sessions_app import formats
from sessions_app.domain.errors import KeyUnavailable, RecountError
from sessions_app.ingest import bundles, discover, notices, parallel
from sessions_app.ingest.bundles import Bundle
from sessions_app.ingest.notices import BY_LOOKING, Aside
from sessions_app.ingest.parallel import Item
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import DiskFile, Skipped, SourceFile
from sessions_app.models import WatchedRoot
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings
from sessions_app.store.findings import Found

TAKEN = {"ingested", "appended", "rewritten"}

Stat = tuple[int, int]


def clock() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class Root:
    """A watched folder, and what is remembered of it while the process lives."""

    row: WatchedRoot
    base: str
    aside: Aside
    # Size and time of every source as it was last taken in: unchanged ones cost no question.
    seen: dict[str, Stat] = field(default_factory=dict)
    # Which sources are written anew at each save.
    documents: dict[str, bool] = field(default_factory=dict)
    # The next look is by a process of its own, and what changes waits for it.
    is_careful: bool = False
    scan: Future[None] | None = None
    scan_at: float = 0.0
    # What is still to be told to the row.
    news: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> UUID:
        return self.row.id

    def says_the_same(self, row: WatchedRoot) -> bool:
        mine = (self.row.path, self.row.project, self.row.retry_asked_at)
        return mine == (row.path, row.project, row.retry_asked_at)


def looked_at(root: Root, files: list[DiskFile], found: list[Found]) -> Generator[Result]:
    """Take many in; what is wrong with them joins what was found."""
    if root.is_careful:
        row, items = root.row, _not_aside(root, bundles.gather(files), found)
        yield from parallel.careful(row.workspace_id, items, now=clock(), project=row.project)
        return
    ingest = Ingest(root.row.workspace_id, now=clock())
    with ingest.overlapped():
        yield from ingest.sources(opened(root, files, found))


def opened(root: Root, files: list[DiskFile], found: list[Found]) -> Iterator[SourceFile]:
    """The sources that lie on disk as these files, with the project an admin gave them."""
    for item in discover.inside(_not_aside(root, bundles.gather(files), found)):
        if isinstance(item, Skipped):
            told = (item.path, item.reason, root.id)
            found.append(notices.about(FindingKind.UNREADABLE, *told))
        else:
            yield discover.in_project(item, root.row.project)


def _not_aside(
    root: Root, items: Iterable[DiskFile | Bundle | Skipped], found: list[Found]
) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Skipped):
            continue
        if root.aside.holds(item.path):
            told = (item.path, parallel.DIED, root.id)
            found.append(notices.about(FindingKind.ASIDE, *told))
        else:
            yield item


def taken(root: Root, file: SourceFile) -> Result:
    """A source that cannot be stored stops no other; a database that is away stops all."""
    try:
        return Ingest(root.row.workspace_id, now=clock()).source(file)
    except (OperationalError, InterfaceError, KeyUnavailable):
        raise
    except RecountError as error:
        return Result(path=file.path, state="failed", message=error.message)
    except OSError as error:
        told = error.strerror or "cannot be read"
        return Result(path=file.path, state="failed", message=told)
    except (DatabaseError, ValueError, MemoryError) as error:
        told = f"could not be stored ({type(error).__name__})"
        return Result(path=file.path, state="failed", message=told)


def noted(root: Root, result: Result) -> Iterable[Found]:
    if result.state in TAKEN:
        root.news["changed_at"] = clock()
    if result.state == "died":
        root.aside.add(result.path)
    return notices.of_result(result, root.id)


def settled(root: Root, file: DiskFile) -> None:
    over = (*BY_LOOKING, FindingKind.DELETED, FindingKind.ENDANGERED)
    findings.settle_place(root.row.workspace_id, root.aside.key_of(file.path), over, clock())


def stat_of(file: DiskFile) -> Stat:
    return (file.size, file.mtime_ns)


def is_document(root: Root, file: DiskFile) -> bool:
    """Is it written anew at each save, so that one waits until it rests? Databases are, too."""
    known = root.documents.get(file.path)
    if known is not None or not file.size:
        return bool(known)
    try:
        with file.open() as stream:
            fmt = formats.recognise(stream.read(formats.HEAD_BYTES)).name
    except (OSError, RecountError):
        return False
    rests = notices.is_rewritten_always(fmt) or discover.is_database(file.path)
    root.documents[file.path] = rests
    return rests
