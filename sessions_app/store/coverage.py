"""Makes and keeps concordances: of the workspaces that are searched, in a thread of its own."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db import close_old_connections, connection

from sessions_app.domain import concordance
from sessions_app.store.gathered import Gathered, portions
from sessions_app.store.held import Held

log = logging.getLogger("recount.search")

# Words of one section: about 60 MB while it is made.
SECTION = 3_000_000
# What was written since is joined with the rest once it is in so many pieces.
PIECES = 8
# Of the chunks of a section, what may be gone before it is made anew.
WORN = 0.25
# Sessions that are opened together.
TOGETHER = 10
# Between two rounds: who searches while much is written would keep it busy.
PAUSE_SECONDS = 0.5
TIDY_SECONDS = 60.0
# Of the memory for searching, the rest of which is for texts.
SHARE = 0.8


def held(workspace_id: UUID) -> Held | None:
    """None until some of it is covered; that is begun by asking."""
    return _keeper.held(workspace_id)


def wake(workspace_id: UUID) -> None:
    _keeper.wake(workspace_id)


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
        self._held: OrderedDict[UUID, Held] = OrderedDict()
        self._wanted: set[UUID] = set()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None

    def held(self, workspace_id: UUID) -> Held | None:
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
            time.sleep(PAUSE_SECONDS)
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
                _Cover(held, self._is_full).join()
        except Exception:
            # The blind index answers, and the next search asks again.
            log.exception("the words of a workspace could not be held in memory")

    def cover(self, workspace_id: UUID) -> None:
        with self._lock:
            held = self._held.get(workspace_id)
            if held is None:
                held = self._held[workspace_id] = Held(workspace_id)
        held.look()
        _Cover(held, self._is_full).all()

    def _is_full(self, held: Held) -> bool:
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

    def __init__(self, held: Held, is_full: Callable[[Held], bool]) -> None:
        self._held = held
        self._is_full = is_full

    def all(self) -> None:
        self._again(self._held.shown().fresh)
        while self._held.shown().cut is not None and not self._is_full(self._held):
            self._older()
        self.join()

    def _again(self, fresh: list[int]) -> None:
        with self._held.lock:
            covered = dict(self._held.covered)
            hopeless = self._held.hopeless
            wanted = [n for n in fresh if hopeless.get(n) != self._held.waiting.get(n)]
        for some in portions(wanted, TOGETHER):
            gathered = Gathered()
            gathered.sessions(some, covered)
            self._held.take(gathered)

    def _older(self) -> None:
        """One more section of those behind the cut."""
        with self._held.lock:
            cut, waiting = self._held.cut, self._held.waiting
            behind = sorted(
                ((seen.sort_at, n) for n, seen in waiting.items() if (seen.sort_at, n) <= cut),
                reverse=True,
            )
        gathered = Gathered()
        reached = None
        for at in range(0, len(behind), TOGETHER):
            some = behind[at : at + TOGETHER]
            gathered.sessions([number for _, number in some], {})
            if gathered.size >= SECTION and at + TOGETHER < len(behind):
                reached = behind[at + TOGETHER]
                break
        self._held.take(gathered)
        self._held.reached(reached)

    def join(self) -> None:
        """Small pieces become one, and what is gone is left out of it: at once after an erasure,
        because nothing of a session should stay in memory for longer than the session."""
        has_lost, self._held.has_lost = self._held.has_lost, False
        most = 0.0 if has_lost else WORN
        worn = [each for each in self._held.sections if each.gone.mean() > most]
        small = [each for each in self._held.sections if len(each.stream) < SECTION // 4]
        if worn or len(small) > PIECES:
            some = tuple({id(each): each for each in (*worn, *small)}.values())
            self._held.join(some, concordance.joined(some))
