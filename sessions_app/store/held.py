"""What is held in memory of the words of one workspace, and what was written since."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sessions_app.domain.concordance import NO_MONTH, Place, Section
from sessions_app.models import Session
from sessions_app.store import known, prepared, recall, sessions
from sessions_app.store.gathered import Gathered, Seen

# Rows of sessions that are held; they are asked for again once they were written.
MOST_ROWS = 2_000
# Of a session: when it was last active, and its id.
Cut = tuple[datetime, int]
_IsGone = Callable[[Place], bool]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_NEWEST: Cut = (datetime.max.replace(tzinfo=UTC), 2**62)
_OLDEST: Cut = (datetime.min.replace(tzinfo=UTC), 0)


def micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICRO


def moment(number: int) -> datetime:
    return _EPOCH + number * _MICRO


@dataclass(frozen=True, eq=False)
class Order:
    """Covered sessions by their ids, with when each was last active and its place among all."""

    ids: NDArray[np.int64]
    sort_at: NDArray[np.int64]
    rank: NDArray[np.int64]
    # The newest and the oldest time.
    reach: tuple[datetime, ...]

    @staticmethod
    def of(covered: dict[int, Seen]) -> "Order":
        ids = np.array(sorted(covered), np.int64)
        at = np.array([micros(covered[number].sort_at) for number in ids.tolist()], np.int64)
        rank = np.empty(len(ids), np.int64)
        rank[np.lexsort((-ids, -at))] = np.arange(len(ids))
        reach = (moment(int(at.max())), moment(int(at.min()))) if len(at) else ()
        return Order(ids=ids, sort_at=at, rank=rank, reach=reach)


# The place of a chunk in the walk of a search is one number: its month, then its session's rank.
# What has no month comes behind all months.
RANKS = 2**32
LAST = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Of every chunk of a section its place in the walk."""

    all: NDArray[np.int64]
    # Of the chunk that comes first; None if there is none.
    newest: int | None

    @staticmethod
    def of(section: Section, order: Order, *, newest: int, number: int) -> "Keys":
        months = section.months(
            np.arange(len(section.places)), first=newest - number + 1, last=newest
        )
        no = np.where(months == NO_MONTH, LAST, newest - months)
        place = np.minimum(np.searchsorted(order.ids, section.sessions), len(order.ids) - 1)
        found = no * RANKS + order.rank[place]
        here = found[~section.gone]
        return Keys(all=found, newest=int(here.min()) if len(here) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All of it at one moment."""

    sections: tuple[Section, ...]
    order: Order
    # Sessions that are not covered as they are, though newer ones or older ones are.
    fresh: list[int]
    # Behind this one none is covered; None if there is none behind.
    cut: Cut | None
    # The newest and the oldest time of any session, covered or not.
    reach: tuple[datetime, datetime] | None


@dataclass(eq=False)
class Held:
    workspace_id: UUID
    sections: tuple[Section, ...] = ()
    covered: dict[int, Seen] = field(default_factory=dict)
    # Written since, or not yet looked at.
    waiting: dict[int, Seen] = field(default_factory=dict)
    # As they are, these cannot be covered.
    hopeless: dict[int, Seen] = field(default_factory=dict)
    cut: Cut = _NEWEST
    # Something was erased, and the sections still have its words.
    has_lost: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    _looking: threading.Lock = field(default_factory=threading.Lock)
    _low: int = 0
    _erased: int = 0
    _rows: OrderedDict[int, Session] = field(default_factory=OrderedDict)
    _order: Order | None = None
    _keys: dict[int, tuple[Section, Order, int, int, Keys]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.sections)

    def shown(self) -> Shown:
        with self.lock:
            if self._order is None:
                self._order = Order.of(self.covered)
            reach = [*self._order.reach, *(seen.sort_at for seen in self.waiting.values())]
            return Shown(
                sections=self.sections,
                order=self._order,
                fresh=[n for n, seen in self.waiting.items() if (seen.sort_at, n) > self.cut],
                cut=None if self.cut == _OLDEST else self.cut,
                reach=(max(reach), min(reach)) if reach else None,
            )

    def keys(self, shown: Shown, *, newest: int, number: int) -> tuple[Keys, ...]:
        """They stay the same for as long as nothing is written."""
        out = []
        before, self._keys = self._keys, {}
        for section in shown.sections:
            found = before.get(id(section))
            if found is None or found[:4] != (section, shown.order, newest, number):
                keys = Keys.of(section, shown.order, newest=newest, number=number)
                found = (section, shown.order, newest, number, keys)
            self._keys[id(section)] = found
            out.append(found[-1])
        return tuple(out)

    # What was written since ---------------------------------------------------------------

    def look(self) -> None:
        """Takes note of every session written since the last time, one look after the other."""
        with self._looking:
            told = prepared.rows(_SINCE, [self._low, _NO_BOUND, self.workspace_id])
            with self.lock:
                self._note(told)

    def _note(self, told: list[tuple[int, int, int | None, int, datetime, int, bytes]]) -> None:
        if not told:
            # The workspace is gone.
            self._keep(set())
            return
        for low, _, number, changed, sort_at, chunks, head in told:
            self._low = low
            if number is not None:
                seen = Seen(changed=changed, sort_at=sort_at, chunks=chunks, head=bytes(head))
                self._note_one(number, seen)
        if told[0][1] != self._erased:
            rows = Session.objects.filter(workspace_id=self.workspace_id)
            self._keep(set(rows.values_list("id", flat=True)))
            self._erased = told[0][1]
            self.has_lost = True

    def _note_one(self, number: int, seen: Seen) -> None:
        was = self.covered.get(number)
        if was == seen:
            return
        self._rows.pop(number, None)
        if was is not None and was.says_as_much_as(seen):
            self.covered[number] = seen
            self._order = None
        else:
            self.waiting[number] = seen

    def _keep(self, left: set[int]) -> None:
        gone = (self.covered.keys() | self.waiting.keys()) - left
        recall.without(gone)
        known.without(gone)
        for some in (self.covered, self.waiting, self.hopeless, self._rows):
            for number in some.keys() - left:
                del some[number]
        self._without(lambda place: place.session_id not in left)
        self._order = None

    def _without(self, is_gone: _IsGone) -> None:
        """Others may be looking at the sections as they are."""
        self.sections = tuple(each.without(is_gone) for each in self.sections)

    # What is covered ------------------------------------------------------------------------

    def take(self, gathered: Gathered) -> None:
        """At once: what was there before of these chunks is gone with that."""
        section = gathered.section()
        with self.lock:
            replaced = gathered.again
            if replaced:
                self._without(lambda place: (place.session_id, place.no) in replaced)
            if len(section.seqs):
                self.sections = (*self.sections, section)
            for number, seen in gathered.seen.items():
                self.covered[number] = seen
                if number in self.waiting and self.waiting[number].says_as_much_as(seen):
                    del self.waiting[number]
            for number, seen in gathered.hopeless.items():
                self.hopeless[number] = seen
                self.covered.pop(number, None)
                self.waiting[number] = seen
            self._order = None

    def reached(self, cut: Cut | None) -> None:
        with self.lock:
            self.cut = cut or _OLDEST

    def join(self, small: tuple[Section, ...], whole: Section) -> None:
        """One section in place of several, less what has gone from them meanwhile."""
        with self.lock:
            alive = {
                (place.session_id, place.no)
                for each in self.sections
                if any(each.is_version_of(one) for one in small)
                for place in each.here()
            }
            whole = whole.without(lambda place: (place.session_id, place.no) not in alive)
            kept = (
                each for each in self.sections if not any(each.is_version_of(one) for one in small)
            )
            self.sections = (*kept, whole)

    # Rows -----------------------------------------------------------------------------------

    def rows(self, numbers: Iterable[int]) -> dict[int, Session]:
        """Those that were not written since they were last asked for come from memory."""
        wanted = set(numbers)
        with self.lock:
            out = {number: self._rows[number] for number in wanted if self._is_known(number)}
        if missing := wanted - out.keys():
            asked = sessions.rows(missing)
            out |= asked
            with self.lock:
                self._rows |= asked
                while len(self._rows) > MOST_ROWS:
                    self._rows.popitem(last=False)
        return out

    def _is_known(self, number: int) -> bool:
        row, seen = self._rows.get(number), self.covered.get(number)
        return row is not None and seen is not None and row.changed == seen.changed


# A transaction that is not finished may still write rows: those are asked for again. The upper
# bound says nothing: of two bounds the planner expects few rows, and keeps one plan for all.
_NO_BOUND = 2**62
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
      ON s.workspace_id = w.id AND s.changed BETWEEN %s AND %s AND s.changed <= now.high
    WHERE w.id = %s
"""
