"""A body longer than its sender could be allowed is not read: before Django keeps any of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as django_settings
from pytest_django.fixtures import Settings

from config import bodies
from config.bodies import MEGABYTE, SMALL, BoundedBodies, Message, Receive, Scope, Send
from tests.people import browser, cast

GET: Scope = {"type": "http", "method": "GET", "path": "/"}
COOKIE = django_settings.SESSION_COOKIE_NAME
PIECE = b"x" * MEGABYTE


class Heard:
    """An application that reads the body to its end, as Django does."""

    def __init__(self) -> None:
        self.bytes = 0
        self.is_done = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = scope["type"] == "http"
        while more:
            message = await receive()
            self.bytes += len(message["body"])
            more = message["more_body"]
        self.is_done = True
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"taken"})


def sent(
    path: str, size: int, headers: dict[str, str] | None = None, *, promised: bool = False
) -> tuple[int, bytes, Heard]:
    """Its status, its answer, and what reached the application."""
    told = {**(headers or {}), **({"content-length": str(size)} if promised else {})}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }
    left = size
    answers: list[Message] = []

    async def receive() -> Message:
        nonlocal left
        piece, left = PIECE[:left], max(left - MEGABYTE, 0)
        return {"type": "http.request", "body": piece, "more_body": left > 0}

    async def send(message: Message) -> None:
        answers.append(message)

    heard = Heard()
    ask: Callable[[Scope, Receive, Send], Awaitable[None]] = BoundedBodies(heard)
    async_to_sync(ask)(scope, receive, send)
    return answers[0]["status"], answers[1]["body"], heard


UNKNOWN: tuple[tuple[str, dict[str, str]], ...] = (
    ("/upload", {}),
    ("/upload", {"cookie": f"{COOKIE}=made-up; other=1"}),
    ("/upload", {"cookie": "\x00=;;;"}),
    ("/api/v1/ingest", {}),
    ("/v1/traces", {"cookie": f"{COOKIE}=x"}),
    ("/sign-in/", {"authorization": "Bearer rct_x"}),
    ("/nowhere", {}),
)


@pytest.mark.django_db(transaction=True)
def test_somebody_unknown_sends_a_little_and_no_more() -> None:
    for path, headers in UNKNOWN:
        for promised in (True, False):
            assert sent(path, SMALL, headers, promised=promised)[0] == 200, path
            status, body, heard = sent(path, 500 * MEGABYTE, headers, promised=promised)
            assert (status, heard.is_done) == (413, False), path
            assert heard.bytes <= (0 if promised else SMALL), path
            assert "4 MB" in orjson.loads(body)["error"]


@pytest.mark.django_db(transaction=True)
def test_somebody_signed_in_uploads_up_to_the_limit(settings: Settings) -> None:
    settings.UPLOAD_LIMIT = 10
    client = browser(cast().alice)
    name = settings.SESSION_COOKIE_NAME
    cookie = {"cookie": f"a=b; {name}={client.cookies[name].value}"}
    most = 10 * MEGABYTE + bodies.AROUND
    assert sent("/upload", most, cookie)[0] == 200
    assert sent("/upload", most + 1, cookie)[0] == 413
    assert sent("/upload", most + 1, cookie, promised=True)[2].bytes == 0
    assert sent("/profile/", most, cookie)[0] == 413


def test_a_machine_sends_up_to_the_limit_of_a_delivery(settings: Settings) -> None:
    settings.INGEST_BODY = 8
    token = {"authorization": "Bearer rct_x"}
    most = 8 * MEGABYTE + bodies.AROUND
    for path in ("/api/v1/ingest", "/v1/traces"):
        assert sent(path, most, token)[0] == 200
        assert sent(path, most + 1, token)[0] == 413


def test_what_carries_no_body_passes_untouched() -> None:
    passed: list[Receive] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(receive)

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    for scope in (GET, {"type": "lifespan"}):
        async_to_sync(BoundedBodies(application))(scope, receive, send)
    assert passed == [receive, receive]
