"""How long the body of a request may be, decided before a byte of it is kept.

Django spools a whole body to the disk before it looks at who sent it. So the server stops reading
where a body is longer than its sender could ever be allowed.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError
from django.http import parse_cookie

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MEGABYTE = 1024 * 1024
# Forms, and whatever comes from somebody unknown.
SMALL = 4 * MEGABYTE
# What a form, or a frame of a packer, adds to what it carries.
AROUND = 16 * MEGABYTE
MACHINES = ("/api/v1/ingest", "/v1/traces")


class _TooLong(Exception):
    pass


class BoundedBodies:
    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._application(scope, receive, send)
            return
        most = await _most(scope)
        taken = 0
        is_answered = False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise _TooLong
            return message

        async def sent(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            if _promised(scope) > most:
                raise _TooLong
            await self._application(scope, counted, sent)
        except _TooLong:
            if not is_answered:
                await _refuse(most, send)


async def _most(scope: Scope) -> int:
    headers = dict(scope["headers"])
    if scope["path"].startswith(MACHINES):
        return settings.INGEST_BODY * MEGABYTE + AROUND if b"authorization" in headers else SMALL
    if scope["path"] == "/upload" and await _is_signed_in(headers.get(b"cookie", b"")):
        return settings.UPLOAD_LIMIT * MEGABYTE + AROUND
    return SMALL


async def _is_signed_in(cookies: bytes) -> bool:
    found = parse_cookie(cookies.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    if not found:
        return False
    try:
        return await sync_to_async(lambda: bool(SessionStore(found).load()))()
    except DatabaseError:
        # The application will say so.
        return True


def _promised(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() and len(length) < 20 else 0


async def _refuse(most: int, send: Send) -> None:
    said = (
        f"That is more than the {most // MEGABYTE:,} MB taken here in one request. Send less at a "
        "time; if you are not signed in, or sent no token, do that first."
    )
    body = orjson.dumps({"error": said})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
