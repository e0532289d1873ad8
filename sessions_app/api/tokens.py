"""Who sends: the token of a machine, and nothing that opens anything else."""

import re
import time

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from sessions_app.domain.errors import TooMuch, Unauthorized
from sessions_app.models import IngestToken
from sessions_app.store import tokens

SHAPE = re.compile(r"Bearer (rct_[\w-]{43})\Z", re.IGNORECASE | re.ASCII)
# Unknown tokens one address may try in a minute.
FAILURES = 30
MINUTE = 60
# A token that was good this recently is looked up even when others behind its address fail.
REMEMBERED = 3600


class MachineToken(HttpBearer):
    """For routes of the API; a browser's cookie does not open them."""

    def __call__(self, request: HttpRequest) -> IngestToken:
        return bearer(request)

    def authenticate(self, request: HttpRequest, token: str) -> IngestToken:
        raise NotImplementedError("the header is read by `bearer`")


def bearer(request: HttpRequest) -> IngestToken:
    """The valid token of a request, or an error that says what to do."""
    given = SHAPE.match(request.headers.get("Authorization", ""))
    if given is None:
        raise Unauthorized(
            "Send the header `Authorization: Bearer rct_…` with an ingest token; "
            "an admin makes one on the page Machines."
        )
    text = given[1]
    good = f"token-good:{tokens.hash_of(text).hex()}"
    fails = f"token-failed:{_address(request)}:{int(time.time()) // MINUTE}"
    if cache.get(fails, 0) >= FAILURES and not cache.get(good):
        raise TooMuch("Too many unknown tokens from this address.", seconds=MINUTE)
    found = tokens.valid(text)
    if found is None:
        _failed(fails)
        raise Unauthorized(
            "This token is unknown or revoked: ask an admin for a new one from the page Machines."
        )
    cache.set(good, True, REMEMBERED)
    tokens.used(found, timezone.now())
    return found


def _failed(key: str) -> None:
    cache.add(key, 0, 2 * MINUTE)
    cache.incr(key)


def _address(request: HttpRequest) -> str:
    """Behind proxies, the last address that the outermost of them saw itself."""
    chain = request.headers.get("X-Forwarded-For", "").split(",")
    if settings.PROXIES and len(chain) >= settings.PROXIES:
        return chain[-settings.PROXIES].strip()[:64]
    return str(request.META.get("REMOTE_ADDR", ""))
