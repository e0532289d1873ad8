"""Sessions that grow, told from the process that writes to the ones that show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

import psycopg
from django.db import connection

from sessions_app.models import Session

CHANNEL = "recount_grown"
# How often a listener looks whether it is still wanted.
LISTEN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    uid: UUID
    events: int


def tell(grown: list[Grown]) -> None:
    """With the transaction that writes them: nobody hears of what is not there, and ids and
    numbers are all that is said."""
    if not grown:
        return
    told = [f"{one.uid}:{one.events}" for one in grown]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, t) FROM unnest(%s::text[]) t", [CHANNEL, told])


def listen(is_wanted: Callable[[], bool]) -> Iterator[Grown | None]:
    """On a connection of its own, until it is no longer wanted. Nothing stands for a pause, and
    first of all for the moment from which nothing is missed."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as link:
        link.execute(f"LISTEN {CHANNEL}")
        yield None
        while is_wanted():
            for notice in link.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                if (grown := _grown(notice.payload)) is not None:
                    yield grown
            yield None


def _grown(payload: str) -> Grown | None:
    uid, _, events = payload.partition(":")
    try:
        return Grown(uid=UUID(uid), events=int(events))
    except ValueError:
        return None


def events_of(uid: UUID) -> int:
    return Session.objects.filter(uid=uid).values_list("events", flat=True).first() or 0
