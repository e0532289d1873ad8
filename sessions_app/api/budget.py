"""How much a token may send in a minute, whichever door it comes by."""

import time

from django.conf import settings
from django.core.cache import cache

from sessions_app.domain.errors import TooMuch
from sessions_app.models import IngestToken

MINUTE = 60
# What a request costs at the least, so that empty ones are bounded as well.
LEAST_COST = 64 * 1024


def check(token: IngestToken) -> None:
    key, left = _window(token)
    if cache.get(key, 0) >= settings.INGEST_RATE * 1024 * 1024:
        raise TooMuch(
            f"This token may send {settings.INGEST_RATE} MB a minute: wait.", seconds=left
        )


def spend(token: IngestToken, length: int) -> None:
    key, _ = _window(token)
    cache.add(key, 0, 2 * MINUTE)
    cache.incr(key, max(length, LEAST_COST))


def _window(token: IngestToken) -> tuple[str, int]:
    now = int(time.time())
    return f"token-spent:{token.id}:{now // MINUTE}", MINUTE - now % MINUTE
