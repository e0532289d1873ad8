"""The list of sessions: pages of what a query asks for, in any order, and how busy they were."""

import base64
import binascii
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from django.db import connection
from django.db.models import (
    F,
    Func,
    IntegerField,
    Q,
    QuerySet,
    Value,
    prefetch_related_objects,
)
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThan, LessThan

from sessions_app.domain import activity
from sessions_app.domain.errors import BadInput
from sessions_app.domain.searchquery import Pattern, Query
from sessions_app.models import Session, Workspace
from sessions_app.store import search, sessions, totals
from sessions_app.store.checked import Matches
from sessions_app.store.conditions import Asked, Problem, known
from sessions_app.store.patterns import TooSlow
from sessions_app.store.sessions import SessionRow
from sessions_app.store.walk import Limits

PAGE = 50
# Sessions the text of a query is looked up in; beyond that the list says that there may be more.
MOST_MATCHES = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">Bqq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """By what rows are sorted: an expression that has an index, and the same of a row."""

    number: int
    by: F | Coalesce
    column: str
    is_falling: bool = True

    def value(self, row: Session) -> int:
        found = getattr(row, self.column)
        if isinstance(found, datetime):
            return (found - _EPOCH) // timedelta(microseconds=1)
        return -1 if found is None else int(found)

    def typed(self, value: int) -> object:
        return _EPOCH + timedelta(microseconds=value) if self.column == "sort_at" else value


ORDERS = {
    "newest": Order(number=1, by=F("sort_at"), column="sort_at"),
    "oldest": Order(number=2, by=F("sort_at"), column="sort_at", is_falling=False),
    "tokens": Order(number=3, by=known("tokens"), column="tokens"),
    "cost": Order(number=4, by=known("cost"), column="cost"),
    "errors": Order(number=5, by=F("errors"), column="errors"),
    "duration": Order(number=6, by=known("seconds"), column="seconds"),
    "events": Order(number=7, by=F("events"), column="events"),
}
# The best hits are known to the search alone; in a list the newest are.
ORDERS["best"] = ORDERS["newest"]


def asked(
    workspace: Workspace, query: Query, *, now: datetime, limits: Limits = search.LIMITS
) -> Asked:
    """Looks the text up, if there is any."""
    given_up: tuple[Problem, ...] = ()
    try:
        found = _matches(workspace, query, now, limits)
    except TooSlow as error:
        # As with a part that cannot be read: it is told, and the rest is answered.
        found = _matches(workspace, _without_patterns(query), now, limits)
        given_up = tuple(
            Problem(token=each, message=error.message)
            for each in query.tokens
            if isinstance(each, Pattern)
        )
    return Asked(workspace=workspace, query=query, now=now, matches=found, given_up=given_up)


def _matches(workspace: Workspace, query: Query, now: datetime, limits: Limits) -> Matches | None:
    if not query.has_text:
        return None
    return search.session_ids(workspace.id, query, now=now, limit=MOST_MATCHES, limits=limits)


def _without_patterns(query: Query) -> Query:
    kept = [group for group in query.wanted if not any(isinstance(one, Pattern) for one in group)]
    return replace(query, wanted=tuple(kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Rows as stored; `rows` opens them."""

    found: tuple[Session, ...]
    older: str | None
    newer: str | None
    now: datetime

    @property
    def mark(self) -> str:
        """Another one whenever the page would look different."""
        seen = [
            (row.id, bytes(row.head_hash), sessions.status(row, self.now), row.held, row.expires_at)
            for row in self.found
        ]
        return blake2b(repr(seen).encode(), digest_size=8).hexdigest()

    def rows(self) -> list[SessionRow]:
        counted = totals.of([row.id for row in self.found if row.totals_events < row.events])
        return [sessions.shown(row, now=self.now, used=counted.get(row.id)) for row in self.found]


def page(what: Asked, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """`after` and `before` are cursors of an earlier page in the same order."""
    order = ORDERS[what.query.sort]
    rows = Session.objects.filter(what.condition())
    found = list(_ordered(rows, order, before or after, is_back=bool(before))[: size + 1])
    # Joined in, the keys of all that match would be looked up before the page is cut.
    prefetch_related_objects(found, "key")
    has_more = len(found) > size
    found = found[:size]
    if before:
        found.reverse()
    has_older, has_newer = (True, has_more) if before else (has_more, bool(after))
    return Page(
        found=tuple(found),
        older=_cursor(order, found[-1]) if found and has_older else None,
        newer=_cursor(order, found[0]) if found and has_newer else None,
        now=what.now,
    )


class _Row(Func):
    """Several columns compared as one, which an index over them answers."""

    function = "ROW"
    output_field = IntegerField()


def _ordered(
    rows: QuerySet[Session], order: Order, cursor: str, *, is_back: bool
) -> QuerySet[Session]:
    is_falling = order.is_falling is not is_back
    if cursor:
        value, number = _place(order, cursor)
        of = LessThan if is_falling else GreaterThan
        here = _Row(Value(order.typed(value)), Value(number))
        rows = rows.filter(Q(of(_Row(order.by, F("id")), here)))
    if is_falling:
        return rows.order_by(order.by.desc(), F("id").desc())
    return rows.order_by(order.by.asc(), F("id").asc())


def _cursor(order: Order, row: Session) -> str:
    packed = _CURSOR.pack(order.number, order.value(row), row.id)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _place(order: Order, cursor: str) -> tuple[int, int]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        number, value, row_id = _CURSOR.unpack(raw)
        order.typed(value)
    except (ValueError, binascii.Error, struct.error, OverflowError):
        raise BadInput("That page marker is damaged: go back to the first page.") from None
    if number != order.number:
        raise BadInput("That page marker is of another order: go back to the first page.")
    return value, row_id


# How busy ----------------------------------------------------------------------------------------


def activity_of(rows: Sequence[Session]) -> dict[int, list[int]]:
    """A few look-ups by key for each session, however long it is."""
    places = [(row.id, seq) for row in rows for seq in activity.samples(row.events)]
    if not places:
        return {}
    points: dict[int, list[tuple[int, float]]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_POINTS, [list(column) for column in zip(*places, strict=True)])
        for session_id, seq, at in cursor.fetchall():
            points[session_id].append((seq, at))
    return {session_id: activity.bars(found) for session_id, found in points.items()}


# One look-up each: a plain join would be planned as a walk over all events.
_POINTS = """
    SELECT asked.session_id, asked.seq, extract(epoch FROM e."at")::double precision
    FROM unnest(%s::bigint[], %s::integer[]) AS asked (session_id, seq),
    LATERAL (
        SELECT "at" FROM sessions_app_event e
        WHERE e.session_id = asked.session_id AND e.seq = asked.seq LIMIT 1
    ) e
    WHERE e."at" IS NOT NULL
"""
