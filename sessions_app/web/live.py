"""Live follow: one listener a process tells every open page how far its session has grown.

Only numbers go out here. The events themselves are fetched through the pages that check who asks.
"""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.store import live, sessions
from sessions_app.web.access import person, signed_in

log = logging.getLogger("recount.live")

# Pages one process follows at a time; others ask from time to time instead.
MOST = 200
# A comment this often keeps proxies from closing a quiet stream, and finds browsers that left.
HEARTBEAT = 15.0
# Whoever follows for long is asked again who they are.
LONGEST = 600.0
TICK = 1.0
AGAIN = 1.0


@dataclass(eq=False, slots=True)
class Follower:
    """One open page: how far its session is known to have grown, and a bell."""

    uid: UUID
    loop: asyncio.AbstractEventLoop
    events: int = 0
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, events: int) -> None:
        self.events = events
        self.bell.set()


class Hub:
    """The followers of this process, and the one thread that listens for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followers: dict[UUID, set[Follower]] = {}
        self._number = 0
        self._thread: threading.Thread | None = None
        self.is_listening = threading.Event()

    @property
    def is_full(self) -> bool:
        return self._number >= MOST

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._followers.setdefault(follower.uid, set()).add(follower)
            self._number += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="live", daemon=True)
                self._thread.start()

    def leave(self, follower: Follower) -> None:
        with self._lock:
            others = self._followers.get(follower.uid, set())
            if follower in others:
                others.discard(follower)
                self._number -= 1
            if not others:
                self._followers.pop(follower.uid, None)

    def _listen(self) -> None:
        """Ends by itself when nobody follows any more."""
        while self._is_wanted():
            try:
                for grown in live.listen(self._is_wanted):
                    if grown is None:
                        self._caught_up()
                    else:
                        self._tell(grown)
            except psycopg.Error:
                self.is_listening.clear()
                time.sleep(AGAIN)
        connection.close()

    def _is_wanted(self) -> bool:
        with self._lock:
            if self._number:
                return True
            self._thread = None
            self.is_listening.clear()
            return False

    def _caught_up(self) -> None:
        """After a pause without a listener, every page hears where its session stands."""
        if self.is_listening.is_set():
            return
        self.is_listening.set()
        with self._lock:
            uids = list(self._followers)
        for uid in uids:
            self._tell(live.Grown(uid=uid, events=live.events_of(uid)))

    def _tell(self, grown: live.Grown) -> None:
        with self._lock:
            followers = list(self._followers.get(grown.uid, ()))
        for follower in followers:
            follower.loop.call_soon_threadsafe(follower.tell, grown.events)


HUB = Hub()


@never_cache
@require_safe
@signed_in
def follow(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """A stream of numbers of events for a browser that can follow, one number for others."""
    found = sessions.session_for(person(request), uid)
    if "text/event-stream" not in request.headers.get("Accept", ""):
        return JsonResponse({"events": found.events})
    if HUB.is_full or not isinstance(request, ASGIRequest):
        return HttpResponse("Ask from time to time.", status=503, headers={"Retry-After": "15"})
    _hand_back()
    return StreamingHttpResponse(
        _stream(uid),
        content_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


def _hand_back() -> None:
    """A stream lives for minutes: the connection that opened it goes back to the pool now."""
    if not connection.in_atomic_block:
        connection.close()


async def _stream(uid: UUID) -> AsyncIterator[bytes]:
    follower = Follower(uid, asyncio.get_running_loop())
    HUB.join(follower)
    try:
        yield b"retry: 2000\n\n"
        # Joined first, then asked: what comes in between is told twice and not missed.
        follower.tell(max(follower.events, await sync_to_async(_events)(uid)))
        async for piece in _told(follower):
            yield piece
    finally:
        HUB.leave(follower)


async def _told(follower: Follower) -> AsyncIterator[bytes]:
    end, beat = time.monotonic() + LONGEST, time.monotonic() + HEARTBEAT
    while time.monotonic() < end and not _is_stopping():
        if await _rings(follower.bell):
            follower.bell.clear()
            yield b"id: %d\ndata: %d\n\n" % (follower.events, follower.events)
        elif time.monotonic() >= beat:
            beat = time.monotonic() + HEARTBEAT
            yield b": still here\n\n"


async def _rings(bell: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(TICK):
            return await bell.wait()
    except TimeoutError:
        return False


def _is_stopping() -> bool:
    """The server waits for open answers before it ends, and this one would never: the handler of
    the signal belongs to uvicorn's server, which knows that it was asked to end."""
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return bool(getattr(server, "should_exit", False))


def _events(uid: UUID) -> int:
    try:
        return live.events_of(uid)
    finally:
        _hand_back()
