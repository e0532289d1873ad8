"""Candidates of a search from the concordance of its workspace: which events can fit, known without
opening a chunk.

What was written since and what does not fit into memory is left to the blind index. The concordance
never says what is found: every event is read again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush, merge
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from sessions_app.domain.concordance import NO_MONTH, Chunks, Events, Grow, Section
from sessions_app.domain.matching import Question
from sessions_app.models import Session
from sessions_app.store import candidates, coverage, route
from sessions_app.store.candidates import Asked, Candidate, Months
from sessions_app.store.held import LAST, RANKS, Keys, Order, Shown, micros, moment
from sessions_app.store.route import Position

# Sessions written since that the blind index answers for; with more, it answers for all.
MOST_FRESH = 2_000
_NO_KEYS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """Events that may fit a question, as far as memory tells, and who answers for the rest."""

    rows: Callable[[Iterable[int]], dict[int, Session]]
    months: Months
    shown: Shown
    keys: tuple[Keys, ...]
    question: Question
    grow: Grow

    @property
    def is_whole(self) -> bool:
        return not self.shown.fresh and self.shown.cut is None

    def candidates(self, asked: Asked, start: Position | None) -> Iterator[Candidate]:
        mine = self._mine(asked, start)
        if self.is_whole:
            return mine
        sql, values = _rest(self.shown)
        narrowing = replace(
            asked.narrowing,
            sql=asked.narrowing.sql + sql,
            parameters=(*asked.narrowing.parameters, *values),
        )
        others = candidates.begun(replace(asked, narrowing=narrowing), most=route.FEW + 1)
        return merge(mine, route.candidates_from(others, start), key=_place_of)

    def _mine(self, asked: Asked, start: Position | None) -> Iterator[Candidate]:
        """Section by section, each only when the ones before it have nothing newer any more."""
        ahead = sorted(
            (keys.newest, number)
            for number, keys in enumerate(self.keys)
            if keys.newest is not None
        )[::-1]
        if start is not None and start.chunk:
            yield from self._unfinished(start)
        walk: list[tuple[int, int, int]] = []
        opened: dict[int, _Opened] = {}
        while ahead or walk:
            if ahead and (not walk or ahead[-1][0] <= walk[0][0]):
                number = ahead.pop()[1]
                opened[number] = found = self._opened(number, asked, start)
                if len(found.keys):
                    heappush(walk, (int(found.keys[0]), number, 0))
            else:
                month = self._month_of(walk[0][0])
                yield _candidate(self.shown.order, _next(walk, opened), month)

    def _opened(self, number: int, asked: Asked, start: Position | None) -> "_Opened":
        section, keys = self.shown.sections[number], self.keys[number]
        chunks, events = self._chunks(section)
        if not len(chunks.numbers):
            return _Opened(section=section, chunks=chunks, keys=_NO_KEYS, events=events)
        if start is not None:
            chunks = chunks.only(keys.all[chunks.numbers] > self._key_of(start))
        if asked.narrowing.sql and len(chunks.numbers):
            of = section.sessions[chunks.numbers]
            chunks = chunks.only(np.isin(of, _narrowed(asked, of)))
        own = keys.all[chunks.numbers]
        along = np.lexsort((-section.nos[chunks.numbers], own))
        return _Opened(section=section, chunks=chunks.only(along), keys=own[along], events=events)

    def _chunks(self, section: Section) -> tuple[Chunks, Events]:
        events = section.events(self.question.loose, self.question.runs, self.grow)
        chunks = section.chunks(events)
        if self.shown.fresh and len(chunks.numbers):
            # Those of a session that was written since are looked for by the blind index.
            of = section.sessions[chunks.numbers]
            chunks = chunks.only(~np.isin(of, self.shown.fresh))
        return chunks, events

    def _key_of(self, place: Position) -> int:
        """Of the last session that is not behind a position."""
        order, at = self.shown.order, micros(place.sort_at)
        is_newer = (order.sort_at > at) | ((order.sort_at == at) & (order.ids >= place.session_id))
        return self._month_key(place.month) + int(is_newer.sum()) - 1

    def _month_key(self, month: int) -> int:
        """No month comes behind all months."""
        return (LAST if month == NO_MONTH else self.months.newest - month) * RANKS

    def _month_of(self, key: int) -> int:
        number = key // RANKS
        return NO_MONTH if number == LAST else self.months.newest - number

    def _unfinished(self, start: Position) -> Iterator[Candidate]:
        """The session the walk was in the middle of."""
        places: list[tuple[_Opened, int]] = []
        for section, keys in zip(self.shown.sections, self.keys, strict=True):
            chunks, events = self._chunks(section)
            numbers = chunks.numbers
            chunks = chunks.only(
                (section.sessions[numbers] == start.session_id)
                & (section.nos[numbers] < start.chunk)
                & (keys.all[numbers] // RANKS == self._month_key(start.month) // RANKS)
            )
            own = keys.all[chunks.numbers]
            found = _Opened(section=section, chunks=chunks, keys=own, events=events)
            places += [(found, at) for at in range(len(own))]
        if places:
            yield _candidate(self.shown.order, places, start.month)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """Chunks of a section with events that may fit, in the order of the walk."""

    section: Section
    chunks: Chunks
    keys: NDArray[np.int64]
    events: Events

    def seqs(self, at: int) -> list[int]:
        here = self.events[self.chunks.lo[at] : self.chunks.hi[at]]
        numbers: list[int] = self.section.seqs[here].tolist()
        return numbers

    def session_id(self, at: int) -> int:
        return int(self.section.sessions[self.chunks.numbers[at]])

    def no(self, at: int) -> int:
        return int(self.section.nos[self.chunks.numbers[at]])


def _next(
    walk: list[tuple[int, int, int]], opened: dict[int, _Opened]
) -> list[tuple[_Opened, int]]:
    """All chunks of the session that is next, of whatever section."""
    key = walk[0][0]
    out: list[tuple[_Opened, int]] = []
    while walk and walk[0][0] == key:
        _, number, at = heappop(walk)
        found = opened[number]
        out.append((found, at))
        if at + 1 < len(found.keys):
            heappush(walk, (int(found.keys[at + 1]), number, at + 1))
    return out


def _candidate(order: Order, places: list[tuple[_Opened, int]], month: int) -> Candidate:
    """The last chunk first."""
    first, at = places[0]
    session_id = first.session_id(at)
    events = {found.no(at): found.seqs(at) for found, at in places}
    nos = tuple(sorted(events, reverse=True))
    return Candidate(
        month=month,
        session_id=session_id,
        sort_at=moment(int(order.sort_at[np.searchsorted(order.ids, session_id)])),
        chunks=nos,
        events=events,
    )


def _place_of(each: Candidate) -> tuple[int, int, int]:
    month = -each.month if each.month != NO_MONTH else LAST
    return month, -micros(each.sort_at), -each.session_id


def _narrowed(asked: Asked, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the sessions that fit what the query says of sessions."""
    sql = "SELECT s.id FROM sessions_app_session s WHERE s.id = ANY(%s) AND s.workspace_id = %s"
    values = [np.unique(numbers).tolist(), asked.workspace_id, *asked.narrowing.parameters]
    with connection.cursor() as cursor:
        cursor.execute(sql + asked.narrowing.sql, values)
        return np.array([number for (number,) in cursor.fetchall()], np.int64)


def _rest(shown: Shown) -> tuple[str, list[Any]]:
    """Sessions that are not covered, as SQL about a session `s`."""
    tests: list[str] = []
    values: list[Any] = []
    if shown.fresh:
        tests.append("s.id = ANY(%s)")
        values.append(shown.fresh)
    if shown.cut is not None:
        tests.append("(s.sort_at, s.id) <= (%s, %s)")
        values += shown.cut
    return f" AND ({' OR '.join(tests)})", values


def hunt(workspace_id: UUID, question: Question, grow: Grow) -> Hunt | None:
    """None where memory does not help: the blind index answers for all."""
    if question.has_results or not (question.runs or question.loose):
        return None
    held = coverage.held(workspace_id)
    if held is None:
        return None
    held.look()
    shown = held.shown()
    if shown.fresh:
        coverage.wake(workspace_id)
    if not shown.sections or len(shown.fresh) > MOST_FRESH:
        return None
    months = candidates.months(workspace_id, *(shown.reach or (None, None)))
    return Hunt(
        rows=held.rows,
        months=months,
        shown=shown,
        keys=held.keys(shown, newest=months.newest, number=len(months.terms)),
        question=question,
        grow=grow,
    )
