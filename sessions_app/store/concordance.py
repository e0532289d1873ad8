"""Candidates of a search from the concordance of its workspace: which events can fit, known without
opening a chunk.

What was written since and what does not fit into memory is left to the blind index. The concordance
never says what is found: every event is read again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from heapq import merge
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from sessions_app.domain.concordance import NO_MONTH, Events, Grow, Section
from sessions_app.domain.matching import Question
from sessions_app.models import Session
from sessions_app.store import candidates, coverage, route
from sessions_app.store.candidates import Asked, Candidate, Months
from sessions_app.store.held import Shown, micros, moment
from sessions_app.store.route import Position

# Sessions written since that the blind index answers for; with more, it answers for all.
MOST_FRESH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """Events that may fit a question, as far as memory tells, and who answers for the rest."""

    rows: Callable[[Iterable[int]], dict[int, Session]]
    months: Months
    found: tuple[tuple[Section, Events], ...]
    shown: Shown

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
        found = self._chunks()
        if asked.narrowing.sql:
            found = found.only(np.isin(found.sessions, _narrowed(asked, found.sessions)))
        order = self.shown.order
        place = np.searchsorted(order.ids, found.sessions)
        rank, at = order.rank[place], order.sort_at[place]
        # No month comes behind all months.
        no = np.where(found.months == NO_MONTH, _LAST, self.months.newest - found.months)
        if start is not None:
            yield from self._unfinished(found, start)
            behind = _behind(no, at, found.sessions, start, self.months.newest)
            found, no, rank = found.only(behind), no[behind], rank[behind]
        along = np.lexsort((rank, no))
        keys = np.stack((no, rank))[:, along]
        ends = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        for some in np.split(along, ends) if len(along) else ():
            yield self._candidate(found, some)

    def _unfinished(self, found: "_Chunks", start: Position) -> Iterator[Candidate]:
        """The session the walk was in the middle of."""
        if not start.chunk:
            return
        is_here = (found.sessions == start.session_id) & (found.months == start.month)
        some = np.flatnonzero(is_here & (found.nos < start.chunk))
        if len(some):
            yield self._candidate(found, some)

    def _candidate(self, found: "_Chunks", some: NDArray[np.intp]) -> Candidate:
        session_id = int(found.sessions[some[0]])
        events = {}
        for at in sorted(some.tolist(), key=lambda at: -int(found.nos[at])):
            section, own = self.found[found.sections[at]]
            events[int(found.nos[at])] = section.seqs_of(int(found.numbers[at]), own)
        order = self.shown.order
        return Candidate(
            month=int(found.months[some[0]]),
            session_id=session_id,
            sort_at=moment(int(order.sort_at[np.searchsorted(order.ids, session_id)])),
            chunks=tuple(events),
            events=events,
        )

    def _chunks(self) -> "_Chunks":
        first = self.months.newest - len(self.months.terms) + 1
        parts = []
        for number, (section, events) in enumerate(self.found):
            chunks = np.unique(section.chunk_of(events))
            parts.append(
                _Chunks(
                    sections=np.full(len(chunks), number),
                    numbers=chunks,
                    sessions=section.sessions[chunks],
                    nos=section.nos[chunks],
                    months=section.months(chunks, first=first, last=self.months.newest),
                )
            )
        # Those of a session that was written since are looked for by the blind index.
        found = _Chunks.joined(parts)
        return found.only(~np.isin(found.sessions, self.shown.fresh)) if self.shown.fresh else found


_LAST = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunks:
    """Chunks with events that may fit: in which section, of which session, of which month."""

    sections: NDArray[np.int64]
    numbers: NDArray[np.int64]
    sessions: NDArray[np.int64]
    nos: NDArray[np.int64]
    months: NDArray[np.int64]

    @staticmethod
    def joined(parts: "list[_Chunks]") -> "_Chunks":
        def whole(name: str) -> NDArray[np.int64]:
            return np.concatenate([np.empty(0, np.int64), *(getattr(p, name) for p in parts)])

        return _Chunks(**{each.name: whole(each.name) for each in fields(_Chunks)})

    def only(self, mask: NDArray[np.bool_]) -> "_Chunks":
        return _Chunks(**{each.name: getattr(self, each.name)[mask] for each in fields(self)})


def _place_of(each: Candidate) -> tuple[int, int, int]:
    month = -each.month if each.month != NO_MONTH else _LAST
    return month, -micros(each.sort_at), -each.session_id


def _behind(
    no: NDArray[np.int64],
    at: NDArray[np.int64],
    ids: NDArray[np.int64],
    start: Position,
    newest: int,
) -> NDArray[np.bool_]:
    """Which of them come later than a position of the route."""
    here = _LAST if start.month == NO_MONTH else newest - start.month
    then = micros(start.sort_at)
    is_older = (at < then) | ((at == then) & (ids < start.session_id))
    return np.asarray((no > here) | ((no == here) & is_older))


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
    found = ((each, each.events(question.loose, question.runs, grow)) for each in shown.sections)
    return Hunt(
        rows=held.rows,
        months=candidates.months(workspace_id, *(shown.reach or (None, None))),
        found=tuple(found),
        shown=shown,
    )
