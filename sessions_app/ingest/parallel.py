"""Sources read by processes of their own: several where there are cores for them, and one beside
the caller where a source may kill whoever reads it."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

import django
from django.db import OperationalError, connection, connections

from sessions_app.ingest import discover
from sessions_app.ingest.bundles import Bundle
from sessions_app.ingest.pipeline import Ingest, Progress, Result
from sessions_app.ingest.sources import DiskFile, Skipped, SourceFile
from sessions_app.store import trouble

# What a process takes at a time: enough that its cost vanishes, little enough to share evenly.
SHARE_BYTES = 32 * 1024 * 1024
SHARE_FILES = 200
# A forked child would share what the parent's threads hold.
START = "spawn"
# How often a source may kill a process that reads nothing else: once can be bad luck.
TRIES = 2
# The same of what was sent.
DIED_OF_IT = (
    "Refused: its reader died every time it read this (killed, or out of memory). What was stored "
    "of it before stays. Mend it, or give the machine more memory; then send it again."
)
DIED = (
    "Put aside: its reader died every time it read this (killed, or out of memory). The others go "
    "on. Mend or move it, or give the machine more memory; then press Retry or ingest it again."
)

Item = DiskFile | Bundle
Given = TypeVar("Given")
Made = TypeVar("Made")
_Read = Callable[[list[Item]], list[Result]]


def take(
    workspace_id: UUID,
    files: Iterable[Item],
    *,
    now: datetime,
    processes: int,
    progress: Progress,
) -> Iterator[Result]:
    """In no particular order. What was left when a process died is read with care."""
    read = _reading(workspace_id, now)
    lost: list[Item] = []
    with _pool(processes) as pool:
        shares = {_begun(pool, read, some): some for some in _shares(files)}
        for done in as_completed(shares):
            try:
                results = done.result()
            except BrokenProcessPool:
                lost += shares[done]
                continue
            progress(sum(result.raw_bytes for result in results))
            yield from results
    yield from careful(workspace_id, lost, now=now, progress=progress)


def _begun(pool: ProcessPoolExecutor, read: _Read, some: list[Item]) -> Future[list[Result]]:
    try:
        return pool.submit(read, some)
    except BrokenProcessPool as error:
        broken: Future[list[Result]] = Future()
        broken.set_exception(error)
        return broken


def careful(
    workspace_id: UUID,
    items: Iterable[Item],
    *,
    now: datetime,
    project: str = "",
    progress: Progress = lambda _: None,
) -> Iterator[Result]:
    """By one process beside this one. Where it dies, its share is read again one by one, and what
    kills it alone has `died`: no source stops the others, and none stops the caller."""
    with closing(_Reader(_reading(workspace_id, now, project))) as reader:
        for share in _shares(items):
            results = reader.results(share)
            for result in _singly(reader, share) if results is None else results:
                progress(result.raw_bytes)
                yield result


def _singly(reader: "_Reader[list[Item], list[Result]]", items: list[Item]) -> Iterator[Result]:
    for item in items:
        tries = (reader.results([item]) for _ in range(TRIES))
        died = [Result(path=item.path, state="died", message=DIED)]
        yield from next((each for each in tries if each is not None), died)


def alone(work: Callable[[], Made]) -> Made | None:
    """One piece of work by a process beside this one. Nothing if it died of it every time."""
    with closing(_Reader(_reading_alone())) as reader:
        tries = (reader.results(work) for _ in range(TRIES))
        return cast(Made | None, next((each for each in tries if each is not None), None))


class _Reader(Generic[Given, Made]):
    """A process that reads, and another one when it died."""

    def __init__(self, read: Callable[[Given], Made]) -> None:
        self._read = read
        self._pool: ProcessPoolExecutor | None = None

    def results(self, items: Given) -> Made | None:
        """Nothing if it died of them. One that cannot even begin says nothing about them: that is
        raised."""
        if self._pool is None:
            self._pool = _pool(1)
            self._pool.submit(os.getpid).result()
        try:
            return self._pool.submit(self._read, items).result()
        except BrokenProcessPool:
            self.close()
            return None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _pool(processes: int) -> ProcessPoolExecutor:
    connections.close_all()
    context = multiprocessing.get_context(START)
    return ProcessPoolExecutor(processes, mp_context=context, initializer=django.setup)


# In the process -----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _expendable() -> None:
    """The first to go when memory runs out, and gone when the parent is."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed tells nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _reading(workspace_id: UUID, now: datetime, project: str = "") -> _Read:
    """In the same database as the parent, whatever the settings say."""
    return partial(_results, connection.settings_dict["NAME"], workspace_id, now, project)


def _reading_alone() -> Callable[[Callable[[], Any]], Any]:
    return partial(_made, connection.settings_dict["NAME"])


def _made(database: str, work: Callable[[], Made]) -> Made:
    with _set_up(database):
        return work()


def _results(
    database: str, workspace_id: UUID, now: datetime, project: str, items: list[Item]
) -> list[Result]:
    told: dict[str, Result] = {}
    with _set_up(database), Ingest(workspace_id, now=now).overlapped() as ingest:
        for result in ingest.sources(_opened(items, project, told)):
            told[result.path] = result
    return list(told.values())


@contextmanager
def _set_up(database: str) -> Iterator[None]:
    _expendable()
    connection.settings_dict["NAME"] = database
    try:
        yield
    except OperationalError as error:
        # Its cause does not come along from one process to another.
        if told := trouble.told(error):
            raise told from None
        raise


def _opened(items: list[Item], project: str, told: dict[str, Result]) -> Iterator[SourceFile]:
    for item in discover.inside(items):
        if isinstance(item, Skipped):
            told[item.path] = Result(path=item.path, state="failed", message=item.reason)
        else:
            yield discover.in_project(item, project)


def _shares(files: Iterable[Item]) -> Iterator[list[Item]]:
    """The largest first, so that no process is left alone with one at the end."""
    share: list[Item] = []
    size = 0
    for file in sorted(files, key=lambda file: -file.size):
        share.append(file)
        size += file.size
        if size >= SHARE_BYTES or len(share) >= SHARE_FILES:
            yield share
            share, size = [], 0
    if share:
        yield share
