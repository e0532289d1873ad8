"""A long search as a stream of short ones: regular expressions look at everything, so a person
wants to see how far they are, and to stop them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from sessions_app.domain import matching
from sessions_app.domain.errors import TooMuch
from sessions_app.domain.searchquery import Query
from sessions_app.store import candidates, narrowing, search, vocabulary
from sessions_app.store.candidates import Asked
from sessions_app.store.patterns import Patterns
from sessions_app.store.search import Found
from sessions_app.store.walk import Limits, Sought, Walk

# One step; between two of them the stream can be stopped.
STEP = Limits(chunks=60, bytes=24 * 1024 * 1024, seconds=0.4)
# What one scan reads before it asks whether to go on.
MOST_BYTES = 1024 * 1024 * 1024
MOST_SESSIONS = 100
# Scans of one process at a time: each keeps a process and half a core busy.
TOGETHER = 2
_running = threading.BoundedSemaphore(TOGETHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    found: tuple[Found, ...]
    bytes: int
    total: int
    # The month it is in; empty behind all months.
    reached: str
    skipped: int
    is_last: bool
    # Where another scan can go on; None if all was looked at.
    older: str | None


def steps(workspace_id: UUID, query: Query, *, now: datetime, cursor: str = "") -> Iterator[Step]:
    """Until all is looked at, or as much as one scan may."""
    question = matching.question(query)
    sought = Sought(
        workspace_id=workspace_id,
        question=question,
        narrowing=narrowing.of(workspace_id, query, now=now),
        sessions=MOST_SESSIONS,
        enough=search.SHOWN,
        most=search.LOOKED_AT,
    )
    total = _total(sought)
    position = search.position(cursor)
    seen: set[int] = set()
    done = found = skipped = 0
    with _turn(), Patterns(question.patterns) if question.patterns else nullcontext() as patterns:
        while True:
            walk = Walk(sought=sought, limits=STEP, start=position, patterns=patterns, seen=seen)
            reached = list(islice(walk.sessions(), MOST_SESSIONS - found))
            found, done = found + len(reached), done + walk.work.bytes
            skipped, position = skipped + walk.work.skipped, walk.position
            is_last = walk.is_complete or found >= MOST_SESSIONS or done >= MOST_BYTES
            yield Step(
                found=tuple(search.found_of(reached, now)),
                bytes=min(done, total),
                total=total,
                reached=search.month_label(position.month) if position else "",
                skipped=skipped,
                is_last=is_last,
                older=None if walk.is_complete or position is None else search.cursor_at(position),
            )
            if is_last:
                return


@contextmanager
def _turn() -> Iterator[None]:
    if not _running.acquire(blocking=False):
        raise TooMuch("Other scans are running here: try again in a moment.", seconds=10)
    try:
        yield
    finally:
        _running.release()


def _total(sought: Sought) -> int:
    """Bytes of all candidates."""
    where = candidates.condition(
        sought.workspace_id,
        sought.question.needs,
        lambda letters: vocabulary.grown(sought.workspace_id, letters).spellings,
        has_results=sought.question.has_results,
    )
    asked = Asked(
        workspace_id=sought.workspace_id,
        condition=where,
        narrowing=sought.narrowing,
    )
    return 0 if where.is_impossible else candidates.size(asked)
