"""What lies on this machine, as sources: files, and the sessions inside databases."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sessions_app.domain.errors import BadInput
from sessions_app.ingest import bundles, sources, stores
from sessions_app.ingest.bundles import Bundle
from sessions_app.ingest.sources import DiskFile, HeldFile, Skipped, SourceFile, Why


def found(paths: list[str], *, has_others: bool = False) -> Iterator[SourceFile | Skipped]:
    """Everything below the named paths that may be a log; if wished, all else as skipped."""
    return opened(sources.walk(paths, has_others=has_others))


def opened(items: Iterable[DiskFile | Skipped]) -> Iterator[SourceFile | Skipped]:
    """A database is not one source but as many as it holds sessions; a folder of small files may
    be a single session."""
    return inside(bundles.gather(items))


def inside(items: Iterable[DiskFile | Bundle | Skipped]) -> Iterator[SourceFile | Skipped]:
    """The same, where folders have been looked at already."""
    for item in items:
        if isinstance(item, DiskFile) and is_database(item.path):
            yield from _sessions_of(item)
        else:
            yield item


def in_project(item: SourceFile, project: str) -> SourceFile:
    """With the project an admin gave it, if there is one."""
    if project and isinstance(item, DiskFile | HeldFile | Bundle):
        return replace(item, project=project)
    return item


def is_database(path: str) -> bool:
    """Told by its first bytes, and looked at only where a name allows it."""
    if not path.endswith(stores.SUFFIXES):
        return False
    with suppress(OSError), Path(path).open("rb") as file:
        return stores.is_database(file.read(16))
    return False


def _sessions_of(file: DiskFile) -> Iterator[SourceFile | Skipped]:
    try:
        yield from stores.sessions_in(file.path, file.machine)
    except BadInput as error:
        told = error.message.removeprefix(f"{file.path}: ")
        why: Why = "foreign" if told == stores.FOREIGN else "unread"
        yield Skipped(path=file.path, reason=told, why=why)
