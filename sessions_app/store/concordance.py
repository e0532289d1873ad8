"""The concordance of a workspace: where its words stand, held in memory, the newest sessions first.

It says which events can fit without opening a chunk. It is made in the background from the record,
and asked once a search what was written or erased since: what it does not cover, the blind index
answers. Words are in it as hashes only, and it never says what is found: every event is read again.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from heapq import merge
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import close_old_connections, connection
from numpy.typing import NDArray

from sessions_app import formats
from sessions_app.domain import concordance, passages, words
from sessions_app.domain.concordance import Events, Gathering, Grow, Place, Section
from sessions_app.domain.errors import RecountError
from sessions_app.domain.events import Reading, Unreadable, gist_of
from sessions_app.domain.matching import Question
from sessions_app.domain.signs import Signs
from sessions_app.models import Session
from sessions_app.store import candidates, known, leaves, route, sessions
from sessions_app.store.candidates import NO_MONTH, Asked, Candidate, Months
from sessions_app.store.leaves import Leaf
from sessions_app.store.route import Position

log = logging.getLogger("recount.search")

# Words of one section: about 60 MB while it is made.
SECTION = 3_000_000
# What was written since is joined with the rest once it is in so many pieces.
PIECES = 8
# Sessions written since that the blind index answers for; with more, it answers for all.
MOST_FRESH = 2_000
# Rows of sessions that are held; they are asked for again once they were written.
MOST_ROWS = 2_000
FETCHED = 8
TIDY_SECONDS = 60.0
# Of the memory for searching, the rest of which is for texts.
SHARE = 0.75
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_END = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a session's row said when it was looked at."""

    changed: int
    sort_at: datetime
    chunks: int
    head: bytes


@dataclass(eq=False)
class _Held:
    """What is held of one workspace."""

    workspace_id: UUID
    sections: tuple[Section, ...] = ()
    covered: dict[int, _Seen] = field(default_factory=dict)
    # Written since, or not to be covered as they are.
    fresh: dict[int, _Seen] = field(default_factory=dict)
    hopeless: dict[int, int] = field(default_factory=dict)
    # Sessions before this one, the newest first, are covered.
    cut: tuple[datetime, int] = (_END, 2**62)
    low: int = 0
    erased: int = 0
    is_whole: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    rows: OrderedDict[int, Session] = field(default_factory=OrderedDict)
    _order: "_Order | None" = None

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.sections)

    # What was written since ---------------------------------------------------------------

    def look(self) -> None:
        """Takes note of every session written since the last time."""
        with connection.cursor() as cursor:
            cursor.execute(_SINCE, [self.low, self.workspace_id])
            told = cursor.fetchall()
        if not told:
            self._forget_all()
            return
        with self.lock:
            for low, _, number, *seen in told:
                self.low = max(self.low, low)
                if number is not None:
                    self._note(number, _Seen(*seen[:3], bytes(seen[3])))
            if told[0][1] != self.erased:
                self._erase(told[0][1])

    def _note(self, number: int, seen: _Seen) -> None:
        was = self.covered.get(number)
        if was is not None and (was.head, was.chunks) == (seen.head, seen.chunks):
            if was != seen:
                self.covered[number] = seen
                self._order = None
        elif was is not None or (seen.sort_at, number) > self.cut:
            self.fresh[number] = seen
        if was != seen:
            self.rows.pop(number, None)

    def _erase(self, erased: int) -> None:
        rows = Session.objects.filter(workspace_id=self.workspace_id)
        left = set(rows.values_list("id", flat=True))
        for some in (self.covered, self.fresh, self.rows):
            for number in some.keys() - left:
                del some[number]
        self._drop({place.session_id for s in self.sections for place in s.places} - left)
        self.erased, self._order = erased, None

    def _drop(self, gone: set[int]) -> None:
        for section, number, place in concordance.chunks_of(self.sections):
            if place.session_id in gone:
                section.gone[number] = True

    def _forget_all(self) -> None:
        with self.lock:
            self.sections, self.covered, self.fresh, self._order = (), {}, {}, None
            self.rows.clear()

    # Order --------------------------------------------------------------------------------

    def order(self) -> "_Order":
        with self.lock:
            if self._order is None:
                self._order = _Order.of(self.covered)
            return self._order

    def months(self) -> Months:
        """From the newest session to the oldest there is, covered or not."""
        if not self.is_whole:
            with connection.cursor() as cursor:
                cursor.execute(candidates.REACH, [self.workspace_id])
                return candidates.months(self.workspace_id, *cursor.fetchone())
        with self.lock:
            others = [seen.sort_at for seen in self.fresh.values()]
        reach = [*self.order().reach, *others]
        newest, oldest = max(reach, default=None), min(reach, default=None)
        return candidates.months(self.workspace_id, newest, oldest)


# A transaction that is not finished may still write rows: those are asked for again.
_SINCE = """
    WITH now AS (
        SELECT pg_snapshot_xmin(s)::text::bigint AS low,
               greatest(pg_snapshot_xmax(s)::text::bigint,
                        coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)) AS high
        FROM pg_current_snapshot() s
    )
    SELECT now.low, w.erased, s.id, s.changed, s.sort_at, s.chunks, s.head_hash
    FROM now CROSS JOIN sessions_app_workspace w
    LEFT JOIN sessions_app_session s
      ON s.workspace_id = w.id AND s.changed >= %s AND s.changed <= now.high
    WHERE w.id = %s
"""


@dataclass(frozen=True)
class _Order:
    """Covered sessions by their ids, with when each was last active and its place among all."""

    ids: NDArray[np.int64]
    sort_at: NDArray[np.int64]
    rank: NDArray[np.int64]
    # The newest and the oldest time.
    reach: tuple[datetime, ...]

    @staticmethod
    def of(covered: dict[int, _Seen]) -> "_Order":
        ids = np.array(sorted(covered), np.int64)
        at = np.array([micros(covered[number].sort_at) for number in ids.tolist()], np.int64)
        rank = np.empty(len(ids), np.int64)
        rank[np.lexsort((-ids, -at))] = np.arange(len(ids))
        seen = [each.sort_at for each in covered.values()]
        reach = (max(seen), min(seen)) if seen else ()
        return _Order(ids=ids, sort_at=at, rank=rank, reach=reach)


def micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICRO


# Asking -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hunt:
    """Events that may fit a question, as far as memory tells, and who answers for the rest."""

    held: _Held
    months: Months
    found: tuple[tuple[Section, Events], ...]
    order: _Order
    # The sessions of the rest, as SQL about a session `s`; none if there is no rest.
    rest: str
    parameters: tuple[Any, ...]

    def rows(self, numbers: Iterable[int]) -> dict[int, Session]:
        """Those that were not written since they were last asked for come from memory."""
        wanted = set(numbers)
        out: dict[int, Session] = {}
        with self.held.lock:
            for number in wanted:
                row, seen = self.held.rows.get(number), self.held.covered.get(number)
                if row is not None and seen is not None and row.changed == seen.changed:
                    out[number] = row
        if missing := wanted - out.keys():
            asked = sessions.rows(missing)
            out |= asked
            with self.held.lock:
                self.held.rows |= asked
                while len(self.held.rows) > MOST_ROWS:
                    self.held.rows.popitem(last=False)
        return out

    def candidates(self, asked: Asked, start: Position | None) -> Iterator[Candidate]:
        mine = self._mine(asked, start)
        if not self.rest:
            return mine
        narrowing = replace(
            asked.narrowing,
            sql=asked.narrowing.sql + self.rest,
            parameters=(*asked.narrowing.parameters, *self.parameters),
        )
        others = candidates.begun(replace(asked, narrowing=narrowing), most=route.FEW + 1)
        return merge(mine, route.candidates_from(others, start), key=_place_of)

    def _mine(self, asked: Asked, start: Position | None) -> Iterator[Candidate]:
        found = self._chunks()
        if asked.narrowing.sql:
            found = found.within(_narrowed(asked, np.unique(found.owners).tolist()))
        place = np.searchsorted(self.order.ids, found.owners)
        sort_at, rank = self.order.sort_at[place], self.order.rank[place]
        # No month comes behind all months.
        no = np.where(found.months == NO_MONTH, 2**30, self.months.newest - found.months)
        if start is not None:
            yield from self._unfinished(found, start)
            is_later = _is_behind(no, sort_at, found.owners, start, self.months.newest)
            found, no, rank = found.only(is_later), no[is_later], rank[is_later]
        order = np.lexsort((rank, no))
        keys = np.stack((no, rank))[:, order]
        ends = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        for some in np.split(order, ends) if len(order) else ():
            yield self._candidate(found, some)

    def _unfinished(self, found: "_Chunks", start: Position) -> Iterator[Candidate]:
        if not start.chunk:
            return
        is_here = (found.owners == start.session_id) & (found.months == start.month)
        some = np.flatnonzero(is_here & (found.nos < start.chunk))
        if len(some):
            yield self._candidate(found, some)

    def _candidate(self, found: "_Chunks", some: NDArray[np.intp]) -> Candidate:
        session_id = int(found.owners[some[0]])
        events = {}
        for at in sorted(some.tolist(), key=lambda at: -int(found.nos[at])):
            section, own = self.found[found.sections[at]]
            events[int(found.nos[at])] = section.seqs_of(int(found.numbers[at]), own)
        seen = self.held.covered.get(session_id)
        return Candidate(
            month=int(found.months[some[0]]),
            session_id=session_id,
            sort_at=seen.sort_at if seen else _EPOCH,
            chunks=tuple(events),
            events=events,
        )

    def _chunks(self) -> "_Chunks":
        parts = []
        for number, (section, events) in enumerate(self.found):
            chunks = np.unique(section.chunk_of(events))
            shelf = _shelf_of(section)
            months = _valid(shelf, chunks, self.months)
            parts.append((np.full(len(chunks), number), chunks, shelf, months))
        return _Chunks(
            sections=_joined([each[0] for each in parts]),
            numbers=_joined([each[1] for each in parts]),
            owners=_joined([shelf.owners[chunks] for _, chunks, shelf, _ in parts]),
            nos=_joined([shelf.nos[chunks] for _, chunks, shelf, _ in parts]),
            months=_joined([months for *_, months in parts]),
        ).covered_by(self.order.ids)


def _joined(some: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, np.int64), *some])


def _place_of(each: Candidate) -> tuple[int, float, int]:
    month = -each.month if each.month != NO_MONTH else 1
    return month, -micros(each.sort_at), -each.session_id


def _is_behind(
    no: NDArray[Any], sort_at: NDArray[Any], ids: NDArray[Any], start: Position, newest: int
) -> NDArray[np.bool_]:
    here = 2**30 if start.month == NO_MONTH else newest - start.month
    at = micros(start.sort_at)
    is_after = (sort_at < at) | ((sort_at == at) & (ids < start.session_id))
    behind: NDArray[np.bool_] = (no > here) | ((no == here) & is_after)
    return behind


def _narrowed(asked: Asked, numbers: list[int]) -> NDArray[np.int64]:
    sql = "SELECT s.id FROM sessions_app_session s WHERE s.id = ANY(%s) AND s.workspace_id = %s"
    with connection.cursor() as cursor:
        values = [numbers, asked.workspace_id, *asked.narrowing.parameters]
        cursor.execute(sql + asked.narrowing.sql, values)
        return np.array([number for (number,) in cursor.fetchall()], np.int64)


@dataclass(frozen=True)
class _Chunks:
    """Chunks with events that may fit: in which section, of which session, of which month."""

    sections: NDArray[np.int64]
    numbers: NDArray[np.int64]
    owners: NDArray[np.int64]
    nos: NDArray[np.int64]
    months: NDArray[np.int64]

    def only(self, mask: NDArray[np.bool_]) -> "_Chunks":
        return _Chunks(
            sections=self.sections[mask],
            numbers=self.numbers[mask],
            owners=self.owners[mask],
            nos=self.nos[mask],
            months=self.months[mask],
        )

    def within(self, ids: NDArray[np.int64]) -> "_Chunks":
        return self.only(np.isin(self.owners, ids))

    def covered_by(self, ids: NDArray[np.int64]) -> "_Chunks":
        """Those of a session that was written since are looked for by the blind index."""
        if not len(ids):
            return self.only(np.zeros(len(self.owners), np.bool_))
        place = np.minimum(np.searchsorted(ids, self.owners), len(ids) - 1)
        return self.only(ids[place] == self.owners)


class _Shelf:
    """What a search needs of the chunks of a section, side by side."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self.owners = np.array([each.session_id for each in places], np.int64)
        self.nos = np.array([each.no for each in places], np.int64)

    @cached_property
    def latest(self) -> NDArray[np.int64]:
        return np.array([max(each.months, default=NO_MONTH) for each in self._places], np.int64)

    def month_of(self, chunk: int, first: int, newest: int) -> int:
        months = [m for m in self._places[chunk].months if first <= m <= newest]
        return max(months, default=NO_MONTH)


def _shelf_of(section: Section) -> _Shelf:
    shelf = section.__dict__.get("_shelf")
    if shelf is None:
        shelf = section.__dict__["_shelf"] = _Shelf(section.places)
    return shelf


def _valid(shelf: _Shelf, chunks: NDArray[Any], months: Months) -> NDArray[np.int64]:
    """Of each chunk the newest month among those a search walks through."""
    out = shelf.latest[chunks]
    first = months.newest - len(months.terms) + 1
    for at in np.flatnonzero((out > months.newest) | (out < first)).tolist():
        out[at] = shelf.month_of(int(chunks[at]), first, months.newest)
    return out


def hunt(workspace_id: UUID, question: Question, grow: Grow) -> Hunt | None:
    """None where memory does not help: the blind index answers for all."""
    if question.has_results or not (question.runs or question.loose):
        return None
    held = _keeper.held(workspace_id)
    if held is None:
        return None
    held.look()
    if held.fresh:
        _keeper.wake(workspace_id)
    with held.lock:
        fresh, cut, sections = list(held.fresh), held.cut, held.sections
    if not sections or len(fresh) > MOST_FRESH:
        return None
    rest, parameters = _rest(fresh, None if held.is_whole else cut)
    return Hunt(
        held=held,
        months=held.months(),
        found=tuple(
            (each, each.events(question.loose, question.runs, grow)) for each in sections
        ),
        order=held.order(),
        rest=rest,
        parameters=parameters,
    )


def _rest(fresh: list[int], cut: tuple[datetime, int] | None) -> tuple[str, tuple[Any, ...]]:
    sql = [*(["s.id = ANY(%s)"] if fresh else []), *(["(s.sort_at, s.id) < (%s, %s)"] if cut else [])]
    values = [*([fresh] if fresh else []), *(cut or ())]
    return (f" AND ({' OR '.join(sql)})", tuple(values)) if sql else ("", ())


# Making it ----------------------------------------------------------------------------------


def cover(workspace_id: UUID) -> None:
    """All of it, here and at once."""
    _keeper.cover(workspace_id)


def forget() -> None:
    _keeper.forget()


def start() -> None:
    """From here on, this process makes concordances of the workspaces that are searched."""
    _keeper.is_awake = True


class _Keeper:
    """Holds concordances, the last searched at the end, and makes them in a thread of its own."""

    def __init__(self) -> None:
        self.is_awake = False
        self._lock = threading.Lock()
        self._held: OrderedDict[UUID, _Held] = OrderedDict()
        self._wanted: set[UUID] = set()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None

    def held(self, workspace_id: UUID) -> _Held | None:
        with self._lock:
            found = self._held.get(workspace_id)
            if found is not None:
                self._held.move_to_end(workspace_id)
        if found is None:
            self.wake(workspace_id)
        return found

    def wake(self, workspace_id: UUID) -> None:
        if not self.is_awake:
            return
        with self._lock:
            self._wanted.add(workspace_id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="concordance", daemon=True)
                self._thread.start()
        self._bell.set()

    def forget(self) -> None:
        with self._lock:
            self._held.clear()

    def _run(self) -> None:
        while True:
            self._bell.wait(TIDY_SECONDS)
            self._bell.clear()
            with self._lock:
                wanted, self._wanted = self._wanted, set()
                others = self._held.keys() - wanted
            for workspace_id in (*wanted, *others):
                self._covered(workspace_id, is_wanted=workspace_id in wanted)
            connection.close()

    def _covered(self, workspace_id: UUID, *, is_wanted: bool) -> None:
        try:
            close_old_connections()
            if is_wanted:
                self.cover(workspace_id)
            elif (held := self._held.get(workspace_id)) is not None:
                held.look()
        except Exception:
            # The blind index answers, and the next search asks again.
            log.exception("the words of a workspace could not be held in memory")

    def cover(self, workspace_id: UUID) -> None:
        with self._lock:
            held = self._held.get(workspace_id)
            if held is None:
                held = self._held[workspace_id] = _Held(workspace_id)
        held.look()
        _Cover(held, self._is_full).all()

    def _is_full(self, held: _Held) -> bool:
        """Workspaces that were not searched for longer make room."""
        most = settings.SEARCH_MEMORY_BYTES * SHARE
        with self._lock:
            while sum(each.nbytes for each in self._held.values()) > most:
                oldest = next(iter(self._held))
                if self._held[oldest] is held:
                    return True
                del self._held[oldest]
        return False


_keeper = _Keeper()


class _Cover:
    """Covers what was written since, then the rest, the newest first."""

    def __init__(self, held: _Held, is_full: Callable[[_Held], bool]) -> None:
        self._held = held
        self._is_full = is_full

    def all(self) -> None:
        self._fresh()
        self._older()
        self._join()

    def _fresh(self) -> None:
        with self._held.lock:
            wanted = {
                number: seen
                for number, seen in self._held.fresh.items()
                if self._held.hopeless.get(number) != seen.changed
            }
        for some in _portions(sorted(wanted), 50):
            self._take(some)

    def _older(self) -> None:
        held = self._held
        while not held.is_whole and not self._is_full(held):
            rows = Session.objects.filter(workspace_id=held.workspace_id)
            at, number = held.cut
            here = rows.filter(sort_at__lt=at) | rows.filter(sort_at=at, id__lt=number)
            found = list(here.order_by("-sort_at", "-id").values_list("id", "sort_at")[:400])
            gathered = self._until_full([number for number, _ in found])
            with held.lock:
                if gathered:
                    held.cut = (found[gathered - 1][1], found[gathered - 1][0])
                held.is_whole = not found

    def _until_full(self, numbers: list[int]) -> int:
        """How many were looked at."""
        gathering, done = _Gathered(), 0
        for some in _portions(numbers, 10):
            gathering.sessions(some, {})
            done += len(some)
            if gathering.size >= SECTION:
                break
        self._put(gathering)
        return done

    def _take(self, numbers: list[int]) -> None:
        gathering = _Gathered()
        gathering.sessions(numbers, dict(self._held.covered))
        self._put(gathering)

    def _put(self, gathered: "_Gathered") -> None:
        """Taken up at once: what was there before of these chunks is gone with that."""
        held = self._held
        section = gathered.section()
        with held.lock:
            replaced = {(number, no) for number, nos in gathered.again.items() for no in nos}
            owners = set(gathered.again)
            for one, number, place in concordance.chunks_of(held.sections):
                if place.session_id in owners and (place.session_id, place.no) in replaced:
                    one.gone[number] = True
            if len(section.seqs):
                held.sections = (*held.sections, section)
            for number, seen in gathered.seen.items():
                held.covered[number] = seen
                fresh = held.fresh.get(number)
                if fresh is not None and fresh.head == seen.head:
                    del held.fresh[number]
            for number, seen in gathered.hopeless.items():
                held.hopeless[number] = seen.changed
                held.covered.pop(number, None)
                held.fresh[number] = seen
            held._order = None

    def _join(self) -> None:
        """Small pieces become one, and what is gone is left out of it."""
        held = self._held
        small = [
            each
            for each in held.sections
            if len(each.stream) < SECTION // 4 or each.gone.mean() > 0.25
        ]
        if len(small) <= PIECES and not any(each.gone.mean() > 0.25 for each in small):
            return
        whole = concordance.joined(small)
        with held.lock:
            gone = {
                (place.session_id, place.no)
                for each in small
                for place, is_gone in zip(each.places, each.gone.tolist(), strict=True)
                if is_gone
            } - {
                (place.session_id, place.no)
                for _, _, place in concordance.chunks_of(small)
            }
            for number, place in enumerate(whole.places):
                if (place.session_id, place.no) in gone:
                    whole.gone[number] = True
            kept = tuple(each for each in held.sections if all(each is not one for one in small))
            held.sections = (*kept, whole)


def _portions(numbers: list[int], size: int) -> Iterator[list[int]]:
    for at in range(0, len(numbers), size):
        yield numbers[at : at + size]


class _Gathered:
    """Sessions on their way into a section."""

    def __init__(self) -> None:
        self._gathering = Gathering()
        self.seen: dict[int, _Seen] = {}
        self.hopeless: dict[int, _Seen] = {}
        # Chunks that are covered anew.
        self.again: dict[int, list[int]] = {}

    @property
    def size(self) -> int:
        return self._gathering.size

    def section(self) -> Section:
        return self._gathering.section()

    def sessions(self, numbers: list[int], covered: dict[int, _Seen]) -> None:
        rows = sessions.rows(numbers)
        months = _months_of(numbers)
        for number in numbers:
            row = rows.get(number)
            if row is not None:
                self._session(row, months.get(number, {}), covered.get(number))

    def _session(
        self, row: Session, months: dict[int, tuple[int, ...]], was: _Seen | None
    ) -> None:
        seen = _Seen(row.changed, row.sort_at, row.chunks, bytes(row.head_hash))
        # All but the last chunk that was covered are as they were.
        first = was.chunks - 1 if was and 0 < was.chunks <= row.chunks else 0
        try:
            found = list(_chunks_of(row, first, months))
        except RecountError:
            self.hopeless[row.id] = seen
            return
        for place, events in found:
            self._gathering.chunk(place, events)
        if was is not None:
            self.again[row.id] = list(range(first, max(was.chunks, row.chunks)))
        self.seen[row.id] = seen


def _months_of(numbers: list[int]) -> dict[int, dict[int, tuple[int, ...]]]:
    """By session and chunk. All events of a chunk count, also those that only tools printed."""
    out: dict[int, dict[int, tuple[int, ...]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_MONTHS, [numbers])
        for number, chunk, months in cursor.fetchall():
            out.setdefault(number, {})[chunk] = tuple(months)
    return out


_MONTHS = """
    SELECT session_id, chunk, array_agg(DISTINCT month) FROM (
        SELECT session_id, chunk, (extract(year FROM at AT TIME ZONE 'UTC') * 12
               + extract(month FROM at AT TIME ZONE 'UTC') - 1)::int AS month
        FROM sessions_app_event WHERE session_id = ANY(%s) AND at IS NOT NULL
    ) told GROUP BY session_id, chunk
"""
_Chunk = tuple[Place, list[tuple[int, bytes]]]


def _chunks_of(
    row: Session, first: int, months: dict[int, tuple[int, ...]]
) -> Iterator[_Chunk]:
    owner = known.of(row).owner
    for some in _portions(list(range(first, row.chunks)), FETCHED):
        fetched = leaves.fetch([(row.id, no) for no in some])
        for no in some:
            if (row.id, no) not in fetched:
                raise RecountError(f"chunk {no} is not there")
            leaf = Leaf(row, owner, fetched[row.id, no])
            place = Place(row.id, no, months.get(no, ()))
            yield place, [
                (leaf.seq(line), _text_of(row, *told))
                for line in reversed(list(leaf.lines(Signs(), has_results=False)))
                if (told := _told(row, leaf, line)) is not None
            ]


def _told(row: Session, leaf: Leaf, line: leaves.Line) -> tuple[Reading, bytes] | None:
    """A line over several chunks counts where it begins."""
    if not line.is_part:
        return leaves.reading_of(formats.BY_NAME.get(row.format, formats.UNKNOWN), line)
    if leaf.is_continued and not line.start:
        return None
    found = leaves.whole(row, leaf.seq(line))
    if isinstance(found.reading.body, Unreadable):
        raise RecountError("a line in parts that stand for themselves")
    return found.reading, found.raw


def _text_of(row: Session, reading: Reading, raw: bytes) -> bytes:
    event = passages.event_of(reading, raw)
    gist = gist_of(reading.body)
    facets = [words.facet("kind", gist.kind.name.lower())]
    if event.is_error:
        facets.append(words.facet("is", "error"))
    if gist.tool:
        facets.append(words.facet("tool", gist.tool.casefold()))
    texts = (each.data for each in event.passages(has_results=False))
    return concordance.text_of(texts, facets)
