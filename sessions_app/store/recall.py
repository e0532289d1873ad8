"""What was read for searches, held in memory for a while: single events that fitted, and chunks
that are searched again and again.

Opening a chunk takes many times as long as looking through what was said in it, and reading a line
as long as looking at it. So an event that fitted is kept as it was read, and whatever chunk a
search opens a second time, without results where bytes tell them: up to so many bytes and not
longer than some minutes after it was last asked for. All is found by the session's row, which is
vouched for every time: what is erased is out of reach at once.
"""

import time
from collections import OrderedDict
from collections.abc import Collection
from threading import Lock, Timer
from typing import Generic, Protocol, TypeVar

from django.conf import settings

from sessions_app.models import Session
from sessions_app.store.leaves import Heard, Leaf

# Of the memory for searching; the rest is for where words stand.
SHARE = 0.1
SHARE_OF_EVENTS = 0.1
KEPT_SECONDS = 540
TIDY_SECONDS = 60
# Chunks of which it is known that they were opened once.
MOST_MET = 50_000

# A session, one of its chunks, its head if the chunk can still change, one of its events.
Key = tuple[int, int, bytes, int]


class _Sized(Protocol):
    @property
    def size(self) -> int: ...


Thing = TypeVar("Thing", bound=_Sized)


class _Shelf(Generic[Thing]):
    """The last used at the end; what was not used for a while is dropped from the front."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._lock = Lock()
        self._kept: OrderedDict[Key, tuple[Thing, float]] = OrderedDict()
        self._bytes = 0
        self._timer: Timer | None = None

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def get(self, key: Key) -> Thing | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                return None
            self._kept[key] = (found[0], time.monotonic())
            return found[0]

    def put(self, key: Key, held: Thing) -> None:
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

    def without(self, gone: Collection[int]) -> None:
        """Less what was kept of these sessions."""
        with self._lock:
            for key in [each for each in self._kept if each[0] in gone]:
                dropped, _ = self._kept.pop(key)
                self._bytes -= dropped.size

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0

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
        most = settings.SEARCH_MEMORY_BYTES * self._share
        return self._bytes > most or used < now - KEPT_SECONDS


class _Met:
    """Which chunks were opened, and of which of them nothing can be held."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._met: set[Key] = set()
        self._without: set[Key] = set()

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

    def clear(self) -> None:
        with self._lock:
            self._met.clear()
            self._without.clear()


_leaves: _Shelf[Leaf] = _Shelf(SHARE)
_events: _Shelf[Heard] = _Shelf(SHARE_OF_EVENTS)
_met = _Met()


def kept(session: Session, no: int) -> Leaf | None:
    return _leaves.get(_key(session, no))


def meet(session: Session, leaf: Leaf) -> None:
    """A chunk was opened. The first time nothing is kept: most are opened once."""
    key = _key(session, leaf.no)
    if not _met.is_met_again(key):
        return
    held = leaf.without_results()
    if held is None:
        _met.do_without(key)
    else:
        _leaves.put(key, held)


def heard(session: Session, no: int, seq: int) -> Heard | None:
    """An event of a chunk, if it is held as it was read."""
    return _events.get(_key(session, no, seq))


def is_heard(session: Session, no: int, seq: int) -> bool:
    return _key(session, no, seq) in _events


def hear(session: Session, no: int, seq: int, held: Heard) -> None:
    _events.put(_key(session, no, seq), held)


def without(gone: Collection[int]) -> None:
    """Sessions by their ids."""
    if gone:
        _leaves.without(gone)
        _events.without(gone)


def forget() -> None:
    _leaves.clear()
    _events.clear()
    _met.clear()


def tidy() -> None:
    _leaves.tidy()
    _events.tidy()


def _key(session: Session, no: int, seq: int = -1) -> Key:
    """Only the last chunk of a session ever changes, and the session's head with it."""
    is_last = no >= session.chunks - 1
    return session.id, no, bytes(session.head_hash) if is_last else b"", seq
