"""How a request becomes an answer: in one thread, from the first middleware to the last.

Django's own handler for ASGI changes threads at every middleware that is not written for it, and
makes a thread for each request. Every view here is synchronous, so that one change there and one
back are enough; only what streams goes on in the loop of the server.
"""

import asyncio
import io
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.db import close_old_connections, connections
from django.http import FileResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# Requests that are worked on at a time. Each thread keeps its connection to the database.
THREADS = 16
# A connection that was used so lately is taken as it is. Asking the database whether it is still
# there takes as long as most of what it is asked.
TRUSTED_SECONDS = 1.0


class _Used(threading.local):
    at = 0.0


_used = _Used()


@contextmanager
def _connected() -> Iterator[None]:
    if time.monotonic() - _used.at > TRUSTED_SECONDS:
        close_old_connections()
    try:
        yield
    finally:
        _used.at = time.monotonic()
        if any(each.errors_occurred for each in connections.all(initialized_only=True)):
            close_old_connections()


class Handler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002
        """All of it synchronous, whoever asks."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            await self._without_body(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def get_response_async(self, request: Any) -> HttpResponseBase:
        return await self._in_thread(self._answered, request)

    async def _in_thread(
        self, answer: Callable[[Any], HttpResponseBase], request: Any
    ) -> HttpResponseBase:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, answer, request)

    def _answered(self, request: Any) -> HttpResponseBase:
        """The body was read and is closed elsewhere."""
        with _connected():
            return self.get_response(request)

    # Without a body --------------------------------------------------------------------------

    async def _without_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        set_script_prefix(get_script_prefix(scope))
        request, refused = self.create_request(scope, io.BytesIO())
        if request is None:
            await self.send_response(refused or HttpResponseBadRequest(), send)
            return
        response = await self._in_thread(self._begun, request)
        if response.streaming:
            await self._streamed(response, receive, send)
        else:
            await self.send_response(response, send)

    def _begun(self, request: ASGIRequest) -> HttpResponseBase:
        """And finished, but for what streams."""
        with _connected():
            response = self.get_response(request)
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            request.close()
        return response

    async def _streamed(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """As long as somebody listens."""
        async with ThreadSensitiveContext():
            sending = asyncio.ensure_future(self.send_response(response, send))
            leaving = asyncio.ensure_future(_left(receive))
            try:
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (leaving, sending):
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
                # In the thread where the pieces were made: its connection goes with it.
                await sync_to_async(response.close)()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
