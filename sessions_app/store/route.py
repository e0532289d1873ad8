"""The order of a search: months from the newest, in a month the sessions by their last activity.
What has no month comes last."""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from sessions_app.domain.events import value
from sessions_app.store import candidates
from sessions_app.store.candidates import NO_MONTH, Asked, Candidate

# With no more candidate chunks than this all months are asked for at once.
FEW = 24
# Months that are asked for together, ever more.
STRIDES = (1, 3, 8, 24, candidates.MOST_MONTHS)
# Sessions of one month that are asked for together.
TOGETHER = 40


@value
class Position:
    """Where a walk stands: all before it is done."""

    # As in `Months`.
    month: int
    sort_at: datetime
    session_id: int
    # The chunk of this session down to which it is searched; 0 if it is done.
    chunk: int = 0


def candidates_from(asked: Asked, start: Position | None) -> Iterator[Candidate]:
    """A session may come again in an older month."""
    at = asked.months.at(start.month) if start else 0
    last = len(asked.months.terms)
    if not asked.chunks:
        return
    if asked.chunks <= FEW and start is None:
        found = candidates.in_months(asked, 0, last, after=None, most=FEW)
        yield from found
        if len({(each.session_id, no) for each in found for no in each.chunks}) < asked.chunks:
            yield from candidates.in_no_month(asked, after=None, most=FEW)
        return
    found = _unfinished(asked, start) + _of_month(asked, at, start)
    yield from found
    yield from _on(asked, at, found)
    # What takes the index long is not asked again and again.
    whole = [(at + 1, last)] if at + 1 < last else []
    for lo, hi in whole if asked.condition.more else _strides(at + 1, last):
        yield from _stride(asked, lo, hi)
    if at < last:
        yield from _month(asked, last, None)


def _strides(lo: int, last: int) -> Iterator[tuple[int, int]]:
    for size in STRIDES:
        if lo >= last:
            return
        yield lo, min(lo + size, last)
        lo += size


def _unfinished(asked: Asked, start: Position | None) -> list[Candidate]:
    """The session the walk was in the middle of."""
    if start is None or not start.chunk:
        return []
    at = asked.months.at(start.month)
    found = (
        candidates.of_session(asked.condition, start.session_id)
        if start.month == NO_MONTH
        else candidates.of_session_in_months(asked, start.session_id, at, at + 1)
    )
    chunks = tuple(no for no in reversed(found) if no < start.chunk)
    if not chunks:
        return []
    return [
        Candidate(
            month=start.month, session_id=start.session_id, sort_at=start.sort_at, chunks=chunks
        )
    ]


def _of_month(asked: Asked, at: int, start: Position | None) -> list[Candidate]:
    """The first sessions of a month behind a position."""
    after = (start.sort_at, start.session_id) if start else None
    if at == len(asked.months.terms):
        return candidates.in_no_month(asked, after=after, most=TOGETHER)
    return candidates.in_months(asked, at, at + 1, after=after, most=TOGETHER)


def _month(asked: Asked, at: int, start: Position | None) -> Iterator[Candidate]:
    found = _of_month(asked, at, start)
    yield from found
    yield from _on(asked, at, found)


def _on(asked: Asked, at: int, found: list[Candidate]) -> Iterator[Candidate]:
    """The rest of a month whose first sessions were asked for."""
    if len(found) >= TOGETHER:
        last = found[-1]
        position = Position(month=last.month, sort_at=last.sort_at, session_id=last.session_id)
        yield from _month(asked, at, position)


def _stride(asked: Asked, lo: int, hi: int) -> Iterator[Candidate]:
    found = candidates.in_months(asked, lo, hi, after=None, most=TOGETHER)
    for month, some in groupby(found, key=lambda each: each.month):
        here = list(some)
        yield from here
        yield from _on(asked, asked.months.at(month), here)
