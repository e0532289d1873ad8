"""Where every word of many events stands, as arrays: which events can fit is known without reading
any of them.

A word is a number here and a spelling a hash: no text is kept. What is found is a candidate, as
with the blind index, and never less than all: whoever asks looks at the event itself.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sessions_app.domain import words
from sessions_app.domain.sought import Alternative, Beginning, Need, Run

Positions = NDArray[np.uint32]
# Numbers of words: the beginning of an event, the first that is a word.
EVENT, FIRST_WORD = 0, 1
# A chunk none of whose events has a month that counts.
NO_MONTH = -1
# Numbers of events in a section, in order, each once.
Events = NDArray[np.intp]
Grow = Callable[[bytes], Sequence[bytes]]

# Of answers about single spellings a section remembers so many numbers.
REMEMBERED = 250_000
# What one chunk takes beside its words.
PLACE_BYTES = 200
_OF_DIGESTS = b"0123456789abcdef-"
_NOTHING = np.empty(0, dtype=np.intp)
_NO_WORDS = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk of a session, and the months its events are of, counted from the year 0."""

    session_id: int
    no: int
    months: tuple[int, ...]


# Asking -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Some chunks of a section by their numbers, and where among some events those of each begin
    and end."""

    numbers: NDArray[np.intp]
    lo: NDArray[np.intp]
    hi: NDArray[np.intp]

    def only(self, which: NDArray[Any]) -> "Chunks":
        return Chunks(numbers=self.numbers[which], lo=self.lo[which], hi=self.hi[which])


_NO_CHUNKS = Chunks(numbers=_NOTHING, lo=_NOTHING, hi=_NOTHING)
Number = TypeVar("Number", bound=np.generic)


class _Remembered(Generic[Number]):
    """Answers about single spellings, the last used at the end."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, NDArray[Number]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: int) -> NDArray[Number] | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    @property
    def nbytes(self) -> int:
        return self._size * np.dtype(np.intp).itemsize

    def put(self, key: int, found: NDArray[Number]) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = found
                self._size += len(found)
            while self._size > REMEMBERED and len(self._known) > 1:
                _, dropped = self._known.popitem(last=False)
                self._size -= len(dropped)


@dataclass(eq=False)
class Section:
    """Events of some chunks. It never changes: what is gone is gone from a copy."""

    # The words of all events in their order, by numbers.
    stream: Positions
    # Which words these are, by hashes.
    words: NDArray[np.int64]
    # Spellings by their hashes, and beside each the number of a word that has it.
    spelled: NDArray[np.int64]
    owners: Positions
    # Numbers of words that may hold what their spellings do not tell.
    odd: Positions
    digests: Positions
    seqs: Positions
    places: tuple[Place, ...]
    # How many events each chunk has.
    events_of: NDArray[np.int64]

    gone: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        order = np.argsort(self.spelled, kind="stable")
        self.spelled, self.owners = self.spelled[order], self.owners[order]
        self._order, self._starts = _inverted(self.stream, len(self.words))
        self._begins = self._of_word(EVENT)
        self._first = np.concatenate(([0], np.cumsum(self.events_of)))
        self.gone = np.zeros(len(self.places), np.bool_)
        self._remembered: _Remembered[np.intp] = _Remembered()
        self._remembered_words: _Remembered[np.uint32] = _Remembered()

    @property
    def nbytes(self) -> int:
        arrays = (self.stream, self._order, self._starts, self.words, self.spelled, self.owners)
        beside = PLACE_BYTES * len(self.places)
        beside += self._remembered.nbytes + self._remembered_words.nbytes
        return sum(each.nbytes for each in (*arrays, self.seqs, self._begins)) + beside

    # Its chunks ---------------------------------------------------------------------------

    @cached_property
    def sessions(self) -> NDArray[np.int64]:
        return np.array([each.session_id for each in self.places], np.int64)

    @cached_property
    def nos(self) -> NDArray[np.int64]:
        return np.array([each.no for each in self.places], np.int64)

    @cached_property
    def _latest(self) -> NDArray[np.int64]:
        return np.array([max(each.months, default=NO_MONTH) for each in self.places], np.int64)

    def months(self, chunks: NDArray[np.intp], *, first: int, last: int) -> NDArray[np.int64]:
        """Of each chunk the newest month from the first to the last."""
        out = self._latest[chunks]
        for at in np.flatnonzero((out > last) | (out < first)).tolist():
            months = [m for m in self.places[int(chunks[at])].months if first <= m <= last]
            out[at] = max(months, default=NO_MONTH)
        return out

    def here(self) -> Iterator[Place]:
        return (place for place, is_gone in zip(self.places, self.gone, strict=True) if not is_gone)

    def without(self, is_gone: Callable[[Place], bool]) -> "Section":
        """The same, less some chunks."""
        gone = np.fromiter(map(is_gone, self.places), np.bool_, len(self.places))
        if not (gone & ~self.gone).any():
            return self
        out = copy(self)
        out.gone = self.gone | gone
        return out

    def is_version_of(self, other: "Section") -> bool:
        return self.stream is other.stream

    # Answers ------------------------------------------------------------------------------

    def events(self, needs: Sequence[Need], runs: Sequence[Run], grow: Grow) -> Events:
        """Those that may fit, in order, also of chunks that are gone."""
        found: Events | None = None
        for run in runs:
            found = _both(found, self._following(run), len(self.seqs))
        for need in needs:
            if found is not None and not len(found):
                return found
            found = _both(found, self._any(need, grow), len(self.seqs))
        if found is None:
            return _NOTHING
        return found

    def chunks(self, events: Events) -> Chunks:
        """Those that are here and have one of these events, in order."""
        if not len(events):
            return _NO_CHUNKS
        if len(events) < len(self._first):
            of_each = self._first.searchsorted(events, "right") - 1
            lo = np.append(0, np.flatnonzero(of_each[1:] != of_each[:-1]) + 1)
            found, hi = of_each[lo], np.append(lo[1:], len(events))
        else:
            ends = events.searchsorted(self._first)
            found = np.flatnonzero(ends[1:] > ends[:-1])
            lo, hi = ends[found], ends[found + 1]
        return Chunks(numbers=found, lo=lo, hi=hi).only(~self.gone[found])

    def _any(self, need: Need, grow: Grow) -> Events:
        return self._union([self._all(each, grow) for each in need])

    def _all(self, each: Alternative, grow: Grow) -> Events:
        if len(each) > 1 and self._is_strange(each):
            return _NOTHING
        found: Events | None = None
        for one in sorted(each, key=self._weight) if len(each) > 1 else each:
            some = (
                self._union([self._with(spelling) for spelling in grow(one.letters)])
                if isinstance(one, Beginning)
                else self._with(one)
            )
            found = _both(found, some, len(self.seqs))
            if not len(found):
                return found
        return _NOTHING if found is None else found

    def _is_strange(self, each: Alternative) -> bool:
        """A spelling of it is nowhere; the longest are looked for first."""
        fixed = sorted((one for one in each if isinstance(one, bytes)), key=len, reverse=True)
        return not all(len(self._numbers_of(one)) for one in fixed)

    def _weight(self, one: bytes | Beginning) -> int:
        """The rarest first; what grows comes last."""
        if isinstance(one, Beginning):
            return len(self.stream)
        return self._number_at(self._numbers_of(one))

    def _number_at(self, numbers: Positions) -> int:
        """How often these words stand here."""
        starts = self._starts
        if len(numbers) == 1:
            number = int(numbers[0])
            return int(starts[number + 1] - starts[number])
        return int((starts[numbers + 1] - starts[numbers]).sum())

    def _union(self, some: list[Events]) -> Events:
        some = [each for each in some if len(each)]
        if len(some) < 2:
            return some[0] if some else _NOTHING
        if sum(map(len, some)) * 16 < len(self.seqs):
            return np.unique(np.concatenate(some))
        mask = np.zeros(len(self.seqs), np.bool_)
        for each in some:
            mask[each] = True
        return np.flatnonzero(mask)

    def _with(self, spelling: bytes) -> Events:
        numbers = self._numbers_of(spelling)
        if not len(numbers):
            return _NOTHING
        key = hash(spelling)
        known = self._remembered.get(key)
        if known is None:
            known = self._events_at(self._positions(numbers))
            self._remembered.put(key, known)
        return known

    def _numbers_of(self, spelling: bytes) -> Positions:
        key = np.int64(hash(spelling))
        lo = self.spelled.searchsorted(key)
        if lo == len(self.spelled) or self.spelled[lo] != key:
            return _NO_WORDS
        return self.owners[lo : self.spelled.searchsorted(key, "right")]

    def _of_word(self, number: int) -> Positions:
        return self._order[self._starts[number] : self._starts[number + 1]]

    def _positions(self, numbers: Positions) -> Positions:
        if len(numbers) == 1:
            return self._of_word(int(numbers[0]))
        return np.concatenate([np.empty(0, np.uint32), *map(self._of_word, numbers.tolist())])

    def _events_at(self, positions: NDArray[Any]) -> Events:
        if not len(positions):
            return _NOTHING
        if len(positions) * 4 < len(self._begins):
            found = np.searchsorted(self._begins, positions, side="right") - 1
            return np.unique(found) if len(found) > 1 else found
        ends = np.searchsorted(np.sort(positions), self._begins)
        return np.flatnonzero(np.diff(ends, append=len(positions)))

    # Words in a row -------------------------------------------------------------------------

    def _following(self, run: Run) -> Events:
        """Events in which words stand in this order, nothing between them."""
        allowed = [self._allowed(token) for token in run]
        counts = [self._number_at(each) for each in allowed]
        rarest = counts.index(min(counts))
        if not counts[rarest]:
            return _NOTHING
        at = self._positions(allowed[rarest]).astype(np.int64)
        for place in sorted(range(len(run)), key=lambda each: abs(each - rarest)):
            if place == rarest:
                continue
            beside = at + (place - rarest)
            is_inside = (beside >= 0) & (beside < len(self.stream))
            at, beside = at[is_inside], beside[is_inside]
            at = at[_are_among(self.stream[beside], allowed[place], len(self.words))]
            if not len(at):
                return _NOTHING
        return self._events_at(at)

    def _allowed(self, token: bytes) -> Positions:
        """Numbers of the words that may stand where this one was typed, in order."""
        key = hash(token)
        known = self._remembered_words.get(key)
        if known is None:
            known = self._found_allowed(token)
            self._remembered_words.put(key, known)
        return known

    def _found_allowed(self, token: bytes) -> Positions:
        whole, *_ = words.spellings(token)
        found = [self._numbers_of(whole), self.odd]
        if parts := words.parts(token) - {whole}:
            of_parts = [self._numbers_of(each) for each in parts]
            common = of_parts[0]
            for each in of_parts[1:]:
                common = np.intersect1d(common, each)
            found.append(common)
        if not whole.strip(_OF_DIGESTS):
            found.append(self.digests)
        return np.unique(np.concatenate(found))


def _inverted(stream: Positions, number: int) -> tuple[Positions, NDArray[np.int64]]:
    """Where each word stands, word after word, and where the list of each begins."""
    keys = stream.astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(stream), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    counts = np.bincount(stream, minlength=number)
    return order, np.concatenate(([0], np.cumsum(counts)))


def _are_among(some: Positions, known: Positions, number: int) -> NDArray[np.bool_]:
    """Which of these numbers are known; those are in order, and all are below `number`."""
    if len(some) * 16 < number:
        at = known.searchsorted(some)
        at[at == len(known)] = 0
        found: NDArray[np.bool_] = known[at] == some
        return found
    table = np.zeros(number, np.bool_)
    table[known] = True
    return table[some]


def _both(one: Events | None, other: Events, number: int) -> Events:
    if one is None:
        return other
    if len(one) > len(other):
        one, other = other, one
    if len(one) * 16 < len(other):
        at = np.searchsorted(other, one)
        at[at == len(other)] = 0
        return one[other[at] == one] if len(other) else _NOTHING
    mask = np.zeros(number, np.bool_)
    mask[other] = True
    return one[mask[one]]


# Joining ------------------------------------------------------------------------------------


def joined(sections: Sequence[Section]) -> Section:
    """One of several, without what is gone from them."""
    known = np.unique(np.concatenate([each.words for each in sections]))
    # The borders keep their numbers.
    first = sections[0].words[:FIRST_WORD]
    known = np.concatenate((first, known[~np.isin(known, first)]))
    order = np.argsort(known)

    def renumbered(section: Section) -> NDArray[np.uint32]:
        return order[np.searchsorted(known, section.words, sorter=order)].astype(np.uint32)

    tables = [renumbered(each) for each in sections]
    kept = list(map(_kept, sections))
    pairs = np.concatenate(
        [
            np.stack((each.spelled, table[each.owners].astype(np.int64)))
            for each, table in zip(sections, tables, strict=True)
        ],
        axis=1,
    )
    pairs = np.unique(pairs, axis=1)
    return Section(
        stream=np.concatenate(
            [
                table[each.stream[mask.words]]
                for each, table, mask in zip(sections, tables, kept, strict=True)
            ]
        ),
        words=known,
        spelled=pairs[0],
        owners=pairs[1].astype(np.uint32),
        odd=_merged([table[each.odd] for each, table in zip(sections, tables, strict=True)]),
        digests=_merged(
            [table[each.digests] for each, table in zip(sections, tables, strict=True)]
        ),
        seqs=np.concatenate(
            [each.seqs[mask.events] for each, mask in zip(sections, kept, strict=True)]
        ),
        places=tuple(place for each in sections for place in each.here()),
        events_of=np.concatenate([each.events_of[~each.gone] for each in sections]),
    )


@dataclass(frozen=True, slots=True)
class _Mask:
    events: NDArray[np.bool_]
    words: NDArray[np.bool_]


def _kept(section: Section) -> _Mask:
    events = np.repeat(~section.gone, section.events_of)
    ends = np.append(section._begins[1:], len(section.stream)).astype(np.int64)
    sizes = ends - section._begins if len(section._begins) else np.empty(0, np.int64)
    return _Mask(events=events, words=np.repeat(events, sizes))


def _merged(numbers: list[Positions]) -> Positions:
    return np.unique(np.concatenate(numbers))
