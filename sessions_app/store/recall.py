"""Chunks that are searched again and again, held in memory for a while.

Opening a chunk takes many times as long as looking through what was said in it. So whatever a
search opens a second time is kept, without results where bytes tell them, up to so many bytes and
not longer than some minutes after it was last asked for. It is found by the session's row, which is
read and vouched for every time: what is erased is out of reach at once.
"""

import time
from collections import OrderedDict
from threading import Lock, Timer

from django.conf import settings

from sessions_app.models import Session
from sessions_app.store.leaves import Leaf

# Of the memory for searching; the rest is for where words stand.
SHARE = 0.25
KEPT_SECONDS = 540
TIDY_SECONDS = 60
# Chunks of which it is known that they were opened once.
MOST_MET = 50_000

Key = tuple[int, int, bytes]


class _Shelf:
    """The last used at the end; what was not used for a while is dropped from the front."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Key, tuple[Leaf, float]] = OrderedDict()
        self._met: set[Key] = set()
        # Of these nothing can be held.
        self._without: set[Key] = set()
        self._bytes = 0
        self._timer: Timer | None = None

    def get(self, key: Key) -> Leaf | None:
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

    def put(self, key: Key, held: Leaf) -> None:
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
        return self._bytes > settings.SEARCH_MEMORY_BYTES * SHARE or used < now - KEPT_SECONDS

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._met.clear()
            self._without.clear()
            self._bytes = 0


_shelf = _Shelf()


def kept(session: Session, no: int) -> Leaf | None:
    return _shelf.get(_key(session, no))


def meet(session: Session, leaf: Leaf) -> None:
    """A chunk was opened. The first time nothing is kept: most are opened once."""
    key = _key(session, leaf.no)
    if not _shelf.is_met_again(key):
        return
    held = leaf.without_results()
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
