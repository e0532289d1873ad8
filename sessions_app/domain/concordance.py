"""Where every word of many events stands, as arrays: which events can fit is known without reading
any of them.

A word is a number here and a spelling a hash: no text is kept. What is found is a candidate, as
with the blind index, and never less than all: whoever asks looks at the event itself.
"""

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sessions_app.domain import words
from sessions_app.domain.sought import Alternative, Beginning, Need, Run

Positions = NDArray[np.uint32]
# Numbers of events in a section, in order, each once.
Events = NDArray[np.intp]
Grow = Callable[[bytes], Sequence[bytes]]

# Of answers about single spellings a section remembers so many numbers.
REMEMBERED = 1_000_000
# Separators, which no text can contain once it is split: between passages, between events. A word
# behind an escape, which can be read with or without its letter. A facet.
_PASSAGE, _EVENT, _GLUED, _FACET = b"\x02", b"\x03", b"\x01", b"\x04"
_KEPT = bytes(byte if byte == 1 else kept for byte, kept in enumerate(words.SEPARATED))
# An escape that stands alone is white space between words, and yet a word of one letter.
_ALONE = re.compile(rb"\\([nrt])(?![0-9A-Za-z\x80-\xff])")
_BEFORE = re.compile(rb"\\([nrt])(?=[0-9A-Za-z\x80-\xff])")
_HEXADECIMAL = re.compile(rb"[0-9a-f-]+")
_NOTHING = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk of a session, and the months its events are of, counted from the year 0."""

    session_id: int
    no: int
    months: tuple[int, ...]


# Gathering ----------------------------------------------------------------------------------


# Numbers that are no words.
_BORDERS = {_PASSAGE: 0, _EVENT: 1}
_MARK = 2


class _Numbers(dict[bytes, int]):
    """Each distinct word gets the next number, a mark that is none always the same."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self) if word.strip(words.EDGES) else _MARK
        return number


class Gathering:
    """A section in the making."""

    def __init__(self) -> None:
        self._numbers = _Numbers({**_BORDERS, b"-": _MARK})
        self._streams: list[Positions] = []
        self._seqs = array("I")
        self._places: list[Place] = []
        self._events_of: list[int] = []
        self.size = 0

    def chunk(self, place: Place, events: Iterable[tuple[int, bytes]]) -> None:
        """Events as their numbers in the session and their texts, made by `text_of`."""
        seqs, texts = zip(*events, strict=True) if (events := list(events)) else ((), ())
        found = b"".join(texts).split()
        stream = np.fromiter(map(self._numbers.__getitem__, found), np.uint32, len(found))
        self._streams.append(stream[stream != _MARK])
        self._seqs.extend(seqs)
        self._places.append(place)
        self._events_of.append(len(seqs))
        self.size += len(found)

    def section(self) -> "Section":
        spelled, owners = array("q"), array("I")
        for word, number in self._numbers.items():
            known = _hashes(word)
            spelled.extend(known)
            owners.extend(repeat(number, len(known)))
        return Section(
            stream=np.concatenate([np.empty(0, np.uint32), *self._streams]),
            words=np.fromiter(map(hash, self._numbers), np.int64, len(self._numbers)),
            spelled=np.frombuffer(spelled, np.int64),
            owners=np.frombuffer(owners, np.uint32),
            odd=_odd(self._numbers, _is_long),
            digests=_odd(self._numbers, _is_digest),
            seqs=np.frombuffer(self._seqs, np.uint32),
            places=tuple(self._places),
            events_of=np.array(self._events_of, np.int64),
        )


def text_of(passages: Iterable[bytes], facets: Iterable[bytes]) -> bytes:
    """An event as it is gathered: its words with the borders of its passages, and its facets."""
    prepared = [_prepared(each) for each in passages]
    told = [_FACET + b"%x" % (hash(each) & _MASK) for each in facets]
    return b" ".join((_EVENT, b" \x02 ".join(prepared), _PASSAGE, *told, b""))


_MASK = 2**64 - 1


def _prepared(data: bytes) -> bytes:
    if b"\x01" in data:
        data = data.replace(b"\x01", b" ")
    if b"\xc2\xa0" in data:
        data = data.replace(b"\xc2\xa0", b" ")
    if b"\\" not in data:
        return data.translate(words.SEPARATED)
    alone = set(_ALONE.findall(data))
    data = _BEFORE.sub(b" \x01\\1", _ALONE.sub(b" ", data)).translate(_KEPT)
    return b" \x02 ".join((data, *alone)) if alone else data


def _hashes(word: bytes) -> set[int]:
    """Of everything a word is found by."""
    if word[:1] == _FACET:
        number = int(word[1:], 16)
        return {number - 2**64 if number >= 2**63 else number}
    if word in (_PASSAGE, _EVENT):
        return set()
    if word[:1] == _GLUED:
        return {hash(each) for part in (word[1:], word[2:]) for each in words.spellings(part)}
    return {hash(each) for each in words.spellings(word)}


def _odd(numbers: dict[bytes, int], is_so: Callable[[bytes], bool]) -> Positions:
    found = [number for word, number in numbers.items() if is_so(word)]
    return np.array(found, np.uint32)


def _is_long(word: bytes) -> bool:
    """Of these not every stretch is a spelling."""
    return len(word) > words.LONGEST_WORD


def _is_digest(word: bytes) -> bool:
    return word[:1] != _FACET and words.is_digest(word.strip(words.EDGES))


# Asking -------------------------------------------------------------------------------------


@dataclass(eq=False)
class Section:
    """Events of some chunks. It never changes, but that chunks can be told to be gone."""

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
        # Position 1 of the order: where each event begins.
        self._begins = self._of_word(1)
        self._first = np.concatenate(([0], np.cumsum(self.events_of)))
        self.gone = np.zeros(len(self.places), np.bool_)
        self._remembered: OrderedDict[int, Events] = OrderedDict()
        self._held = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        arrays = (self.stream, self._order, self._starts, self.words, self.spelled, self.owners)
        return sum(each.nbytes for each in (*arrays, self.seqs, self._begins)) + 200 * len(
            self.places
        )

    # Answers ------------------------------------------------------------------------------

    def events(self, needs: Sequence[Need], runs: Sequence[Run], grow: Grow) -> Events:
        """Those that may fit, in order, of chunks that are there."""
        found: Events | None = None
        for run in runs:
            found = _both(found, self._following(run), len(self.seqs))
        for need in needs:
            if found is not None and not len(found):
                return found
            found = _both(found, self._any(need, grow), len(self.seqs))
        if found is None:
            return _NOTHING
        return found[~self.gone[self.chunk_of(found)]] if self.gone.any() else found

    def chunk_of(self, events: Events) -> NDArray[np.intp]:
        return np.searchsorted(self._first, events, side="right") - 1

    def _any(self, need: Need, grow: Grow) -> Events:
        return self._union([self._all(each, grow) for each in need])

    def _all(self, each: Alternative, grow: Grow) -> Events:
        found: Events | None = None
        for one in sorted(each, key=self._weight):
            some = (
                self._union([self._with(spelling) for spelling in grow(one.letters)])
                if isinstance(one, Beginning)
                else self._with(one)
            )
            found = _both(found, some, len(self.seqs))
            if not len(found):
                return found
        return _NOTHING if found is None else found

    def _weight(self, one: bytes | Beginning) -> int:
        """The rarest first; what grows comes last."""
        if isinstance(one, Beginning):
            return len(self.stream)
        numbers = self._numbers_of(one)
        return int((self._starts[numbers + 1] - self._starts[numbers]).sum())

    def _union(self, some: list[Events]) -> Events:
        if len(some) == 1:
            return some[0]
        mask = np.zeros(len(self.seqs), np.bool_)
        for each in some:
            mask[each] = True
        return np.flatnonzero(mask)

    def _with(self, spelling: bytes) -> Events:
        key = hash(spelling)
        with self._lock:
            known = self._remembered.get(key)
            if known is not None:
                self._remembered.move_to_end(key)
                return known
        found = self._events_at(self._positions(self._numbers_of(spelling)))
        with self._lock:
            if key not in self._remembered:
                self._remembered[key] = found
                self._held += len(found)
            while self._held > REMEMBERED and len(self._remembered) > 1:
                _, dropped = self._remembered.popitem(last=False)
                self._held -= len(dropped)
        return found

    def _numbers_of(self, spelling: bytes) -> Positions:
        key = hash(spelling)
        lo, hi = np.searchsorted(self.spelled, key), np.searchsorted(self.spelled, key, "right")
        return self.owners[lo:hi]

    def _of_word(self, number: int) -> Positions:
        return self._order[self._starts[number] : self._starts[number + 1]]

    def _positions(self, numbers: Positions) -> Positions:
        if len(numbers) == 1:
            return self._of_word(int(numbers[0]))
        return np.concatenate([np.empty(0, np.uint32), *map(self._of_word, numbers.tolist())])

    def _events_at(self, positions: Positions) -> Events:
        if not len(positions):
            return _NOTHING
        found = np.searchsorted(self._begins, positions, side="right") - 1
        if len(found) == 1:
            return found
        mask = np.zeros(len(self.seqs), np.bool_)
        mask[found] = True
        return np.flatnonzero(mask)

    # Words in a row -------------------------------------------------------------------------

    def _following(self, run: Run) -> Events:
        """Events in which words stand in this order, nothing between them."""
        allowed = [self._allowed(token) for token in run]
        counts = [self._starts[each + 1] - self._starts[each] for each in allowed]
        rarest = min(range(len(run)), key=lambda at: int(counts[at].sum()))
        at = self._positions(allowed[rarest]).astype(np.int64)
        for place in sorted(range(len(run)), key=lambda each: abs(each - rarest)):
            if place == rarest:
                continue
            beside = at + (place - rarest)
            is_inside = (beside >= 0) & (beside < len(self.stream))
            at, beside = at[is_inside], beside[is_inside]
            table = np.zeros(len(self.words), np.bool_)
            table[allowed[place]] = True
            at = at[table[self.stream[beside]]]
            if not len(at):
                return _NOTHING
        return self._events_at(at)

    def _allowed(self, token: bytes) -> Positions:
        """Numbers of the words that may stand where this one was typed."""
        whole, *_ = words.spellings(token)
        found = [self._numbers_of(whole), self.odd]
        if parts := words.parts(token) - {whole}:
            of_parts = [self._numbers_of(each) for each in parts]
            common = of_parts[0]
            for each in of_parts[1:]:
                common = np.intersect1d(common, each)
            found.append(common)
        if _HEXADECIMAL.fullmatch(whole):
            found.append(self.digests)
        return np.unique(np.concatenate(found))

    def seqs_of(self, chunk: int, events: Events) -> list[int]:
        """Numbers in the session of those of the events that are of a chunk."""
        lo, hi = np.searchsorted(events, (self._first[chunk], self._first[chunk + 1]))
        numbers: list[int] = self.seqs[events[lo:hi]].tolist()
        return numbers


def _inverted(stream: Positions, number: int) -> tuple[Positions, NDArray[np.int64]]:
    """Where each word stands, word after word, and where the list of each begins."""
    keys = stream.astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(stream), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    counts = np.bincount(stream, minlength=number)
    return order, np.concatenate(([0], np.cumsum(counts)))


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
    # The separators keep their numbers.
    first = np.array([hash(_PASSAGE), hash(_EVENT)], np.int64)
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
        places=tuple(
            place
            for each in sections
            for place, is_gone in zip(each.places, each.gone.tolist(), strict=True)
            if not is_gone
        ),
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


def chunks_of(sections: Iterable[Section]) -> Iterator[tuple[Section, int, Place]]:
    """Every chunk that is there, with its number in its section."""
    for section in sections:
        for number, place in enumerate(section.places):
            if not section.gone[number]:
                yield section, number, place
