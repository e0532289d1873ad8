"""Texts of chunks that are searched again and again, held in memory for a while.

Opening a chunk takes a hundred times as long as looking through what was said in it. So whatever a
search opens a second time is kept as texts alone, without what tools printed, up to so many bytes
and not longer than some minutes after it was last asked for. It is found by the session's row,
which is read and vouched for every time: what is erased is out of reach at once.
"""

import re
import time
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from threading import Lock, Timer
from typing import NamedTuple

from django.conf import settings

from sessions_app import formats
from sessions_app.domain import passages
from sessions_app.domain.events import Body, Message, Record, Role, gist_of
from sessions_app.domain.passages import Event, Passage, Where
from sessions_app.domain.signs import Signs
from sessions_app.models import Session
from sessions_app.store import leaves
from sessions_app.store.leaves import Leaf

KEPT_SECONDS = 540
TIDY_SECONDS = 60
# Chunks of which it is known that they were opened once.
MOST_MET = 50_000
# What an entry takes beside its bytes, about, for each event.
EVENT_BYTES = 200
_WHERES = tuple(Where)
_NUMBER = {where: number for number, where in enumerate(_WHERES)}

Key = tuple[int, int, bytes]


class Header(NamedTuple):
    """What is shown of an event beside its texts."""

    seq: int
    at: datetime | None
    role: str
    tool: str
    is_error: bool
    speaker: Role | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    headers: tuple[Header, ...]
    # Where in the bytes the texts of each event begin, and with which passage.
    starts: "array[int]"
    firsts: "array[int]"
    # Every passage is followed by a line end that is not its own.
    data: bytes
    low: bytes
    ends: "array[int]"
    wheres: bytes

    @property
    def size(self) -> int:
        return 2 * len(self.data) + 5 * len(self.ends) + EVENT_BYTES * len(self.headers)

    def showing(self, signs: Signs) -> Iterator[int]:
        """Events whose texts show all signs, the last first."""
        low, starts = self.low, self.starts
        if any(low.find(each) < 0 for each in signs.alone):
            return
        for number in self._of_phrase(signs.phrases[0]) if signs.phrases else self._of(signs):
            if signs.stand_in(low, starts[number], self._end(number)):
                yield number

    def _of_phrase(self, phrase: re.Pattern[bytes]) -> list[int]:
        found = {bisect_right(self.starts, hit.start()) - 1 for hit in phrase.finditer(self.low)}
        return sorted(found, reverse=True)

    def _of(self, signs: Signs) -> Iterator[int]:
        """Events with the longest of the words, as the one that is likely to be the rarest."""
        guide = max(signs.alone, key=len, default=b"")
        end = len(self.low)
        while end > 0:
            at = self.low.rfind(guide, 0, end) if guide else end - 1
            if at < 0:
                return
            number = bisect_right(self.starts, at) - 1
            yield number
            end = self.starts[number]

    def _end(self, number: int) -> int:
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.low)

    def event(self, number: int) -> Event:
        header = self.headers[number]
        return Event(
            body=_husk(header.speaker),
            raw=b"",
            is_error=header.is_error,
            told=tuple(self._passages(number)),
        )

    def _passages(self, number: int) -> Iterator[Passage]:
        start, first = self.starts[number], self.firsts[number]
        last = self.firsts[number + 1] if number + 1 < len(self.firsts) else len(self.ends)
        for one in range(first, last):
            end = self.ends[one]
            yield Passage(_WHERES[self.wheres[one]], self.data[start:end].decode())
            start = end + 1


def _husk(speaker: Role | None) -> Body:
    """A body that says who spoke, and nothing else: its texts are told apart from it."""
    if speaker is None:
        return Record(label="", fields={})
    return Message(role=speaker, parts=())


# Making one ---------------------------------------------------------------------------------


def of(session: Session, leaf: Leaf) -> Recollection | None:
    """None where bytes alone could miss a hit: letters that count as others, lines over several
    chunks."""
    fmt = formats.BY_NAME.get(session.format, formats.UNKNOWN)
    found: list[tuple[Header, list[Passage]]] = []
    for line in leaf.lines(Signs(), has_results=False):
        if line.is_part:
            return None
        reading, raw = leaves.reading_of(fmt, line)
        event = passages.event_of(reading, raw)
        told = event.passages(has_results=False)
        if told:
            found.append((_header(leaf.seq(line), reading.at, event), told))
    found.reverse()
    return _packed(found)


def _header(seq: int, at: datetime | None, event: Event) -> Header:
    body = event.body
    return Header(
        seq=seq,
        at=at,
        role=passages.label_of(body),
        tool=gist_of(body).tool,
        is_error=event.is_error,
        speaker=body.role if isinstance(body, Message) else None,
    )


def _packed(found: list[tuple[Header, list[Passage]]]) -> Recollection | None:
    starts, firsts, ends = array("I"), array("I"), array("I")
    wheres = bytearray()
    pieces: list[bytes] = []
    size = 0
    for _, told in found:
        starts.append(size)
        firsts.append(len(ends))
        for each in told:
            pieces.append(each.data)
            size += len(each.data) + 1
            ends.append(size - 1)
            wheres.append(_NUMBER[each.where])
    data = b"\n".join((*pieces, b""))
    if leaves.has_odd_letters(data):
        return None
    return Recollection(
        headers=tuple(header for header, _ in found),
        starts=starts,
        firsts=firsts,
        data=data,
        low=data.lower(),
        ends=ends,
        wheres=bytes(wheres),
    )


# Keeping them -------------------------------------------------------------------------------


class _Shelf:
    """The last used at the end; what was not used for a while is dropped from the front."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Key, tuple[Recollection, float]] = OrderedDict()
        self._met: set[Key] = set()
        # Of these nothing can be held.
        self._without: set[Key] = set()
        self._bytes = 0
        self._timer: Timer | None = None

    def get(self, key: Key) -> Recollection | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                return None
            self._kept[key] = (found[0], time.monotonic())
            return found[0]

    def is_met_again(self, key: Key) -> bool:
        with self._lock:
            if key in self._met:
                return key not in self._without
            if len(self._met) >= MOST_MET:
                self._met.clear()
                self._without.clear()
            self._met.add(key)
            return False

    def do_without(self, key: Key) -> None:
        with self._lock:
            self._without.add(key)

    def put(self, key: Key, held: Recollection) -> None:
        now = time.monotonic()
        with self._lock:
            if key not in self._kept:
                self._bytes += held.size
            self._kept[key] = (held, now)
            self._drop(now)
            self._wake_later()

    def tidy(self) -> None:
        """Also where nobody searches any more."""
        with self._lock:
            self._timer = None
            self._drop(time.monotonic())
            self._wake_later()

    def _wake_later(self) -> None:
        if self._kept and self._timer is None:
            self._timer = Timer(TIDY_SECONDS, self.tidy)
            self._timer.daemon = True
            self._timer.start()

    def _drop(self, now: float) -> None:
        while self._kept and self._is_too_much(now):
            _, (dropped, _) = self._kept.popitem(last=False)
            self._bytes -= dropped.size

    def _is_too_much(self, now: float) -> bool:
        _, used = next(iter(self._kept.values()))
        return self._bytes > settings.SEARCH_MEMORY_BYTES or used < now - KEPT_SECONDS

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._met.clear()
            self._without.clear()
            self._bytes = 0


_shelf = _Shelf()


def kept(session: Session, no: int) -> Recollection | None:
    return _shelf.get(_key(session, no))


def meet(session: Session, leaf: Leaf) -> None:
    """A chunk was opened. The first time nothing is kept: most are opened once."""
    key = _key(session, leaf.no)
    if not _shelf.is_met_again(key):
        return
    held = of(session, leaf)
    if held is None:
        _shelf.do_without(key)
    else:
        _shelf.put(key, held)


def forget() -> None:
    _shelf.clear()


def tidy() -> None:
    _shelf.tidy()


def _key(session: Session, no: int) -> Key:
    """Only the last chunk of a session ever changes, and the session's head with it."""
    is_last = no >= session.chunks - 1
    return session.id, no, bytes(session.head_hash) if is_last else b""
