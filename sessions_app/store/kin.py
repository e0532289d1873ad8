"""The whole thread around a session: walked link by link, as far as it is worth drawing."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain.events import TieKind
from sessions_app.domain.kinship import Bond, Place, tree
from sessions_app.models import Session, Source
from sessions_app.models.record import Part
from sessions_app.store import sessions, threads
from sessions_app.store.threads import Evidence, Pairs, Relation

MOST_SESSIONS = 200
MOST_LEVELS = 30
# Ties of one session that are followed. Keys are hashes: the smallest are a fair sample.
MOST_RECORDS = 2_000
MOST_OTHERS = 500
# Sessions that share one key; more of them is a key that says nothing.
MOST_SHARERS = 100
MOST_ROWS = 40_000
# Summing up tokens reads a row per answer.
MOST_EVENTS_SUMMED = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A session of the thread, as the tree shows it."""

    id: int
    uid: UUID
    title: str
    agent: str
    machine: str
    part: str
    started_at: datetime | None
    last_at: datetime | None
    events: int
    prompts: int
    errors: int
    status: str
    tokens: int | None = None
    # In millionths of a millionth of a dollar.
    cost: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    places: tuple[Place, ...]
    members: dict[int, Member]
    # There are more sessions than are shown.
    is_cut: bool


def around(session: Session, *, now: datetime) -> Thread:
    walk = _Walk(session)
    walk.go()
    rows = sorted(walk.rows.values(), key=_began)
    used = _used(rows)
    members = {row.id: _member(row, used, now) for row in rows}
    places = tree([row.id for row in rows], walk.bonds())
    return Thread(places=tuple(places), members=members, is_cut=walk.is_cut)


def _began(row: Session) -> tuple[datetime, datetime, int]:
    """Copies begin at the same time: the one that ends first comes first."""
    return row.started_at or row.sort_at, row.last_at or row.sort_at, row.id


def _comes_first(one: Session, other: Session) -> bool:
    """Of two that say the same: a helper repeats its session, whatever ends first."""
    return (one.part, *_began(one)) <= (other.part, *_began(other))


def _member(row: Session, used: dict[int, tuple[int, int | None]], now: datetime) -> Member:
    told = sessions.facts_of(row)
    tokens, cost = used.get(row.id, (None, None))
    return Member(
        id=row.id,
        uid=row.uid,
        title=threads.title_of(told),
        agent=row.agent,
        machine=told.machine,
        part=Part(row.part).name.lower(),
        started_at=row.started_at,
        last_at=row.last_at,
        events=row.events,
        prompts=row.prompts,
        errors=row.errors,
        status=sessions.status(row, now),
        tokens=tokens,
        cost=cost,
    )


# The walk -----------------------------------------------------------------------------------------


class _Walk:
    """Level by level. A session is visited once, so that links in a circle end."""

    def __init__(self, session: Session) -> None:
        self.rows = {session.id: session}
        self.is_cut = False
        self._workspace = session.workspace_id
        self._pairs: dict[tuple[int, int], Pairs] = defaultdict(dict)
        self._places = {row.session_id: bytes(row.place_key) for row in _sources([session.id])}

    def go(self) -> None:
        level = list(self.rows)
        for _ in range(MOST_LEVELS):
            level = self._next(level)
            if not level:
                return
        self.is_cut = True

    def _next(self, level: list[int]) -> list[int]:
        shared = _shared(level)
        self.is_cut |= len(shared) == MOST_ROWS
        found = sorted({other for _, other, *_ in shared} - set(self.rows))
        room = MOST_SESSIONS - len(self.rows)
        self.is_cut |= len(found) > room
        new = found[:room]
        rows = Session.objects.select_related("key").filter(workspace_id=self._workspace)
        self.rows |= rows.in_bulk(new)
        self._places |= {row.session_id: bytes(row.place_key) for row in _sources(new)}
        for mine, other, my_kind, their_kind, weight in shared:
            if self._is_link(mine, other, my_kind, their_kind):
                self._pairs[mine, other][TieKind(my_kind), TieKind(their_kind)] = weight
        return self._linked(new)

    def _is_link(self, mine: int, other: int, my_kind: int, their_kind: int) -> bool:
        """Generations of one place are no links."""
        is_known = mine in self.rows and other in self.rows
        is_same = self._places.get(mine, b"-") == self._places.get(other, b"--")
        return is_known and not is_same and threads.means_something(my_kind, their_kind)

    def _linked(self, new: list[int]) -> list[int]:
        """Sessions that share a key without a link are let go again."""
        ends = {other for _, other in self._pairs}
        for gone in [number for number in new if number not in ends]:
            self.rows.pop(gone, None)
        return [number for number in new if number in self.rows]

    def bonds(self) -> list[Bond]:
        seen = {tuple(sorted(pair)): pair for pair in sorted(self._pairs, reverse=True)}
        return [
            _bond(self.rows[mine], self.rows[other], self._pairs[mine, other])
            for mine, other in seen.values()
        ]


def _sources(numbers: Iterable[int]) -> list[Source]:
    return list(Source.objects.filter(session_id__in=list(numbers)).only("session", "place_key"))


def _shared(level: list[int]) -> list[tuple[int, int, int, int, int]]:
    values: dict[str, Any] = {
        "level": level,
        "record": TieKind.RECORD.value,
        "records": MOST_RECORDS,
        "others": MOST_OTHERS,
        "sharers": MOST_SHARERS,
        "rows": MOST_ROWS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, values)
        return list(cursor.fetchall())


_SHARED = """
    SELECT mine.session_id, other.session_id, mine.kind, other.kind, count(*)
    FROM unnest(%(level)s::bigint[]) AS session (id)
    CROSS JOIN LATERAL (
        (SELECT session_id, workspace_id, kind, key FROM sessions_app_tie
         WHERE session_id = session.id AND kind <> %(record)s LIMIT %(others)s)
        UNION ALL
        (SELECT session_id, workspace_id, kind, key FROM sessions_app_tie
         WHERE session_id = session.id AND kind = %(record)s ORDER BY key LIMIT %(records)s)
    ) mine
    CROSS JOIN LATERAL (
        SELECT session_id, kind FROM sessions_app_tie tie
        WHERE tie.workspace_id = mine.workspace_id AND tie.key = mine.key
          AND tie.session_id <> mine.session_id
        LIMIT %(sharers)s
    ) other
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT %(rows)s
"""


# Links --------------------------------------------------------------------------------------------

# Which of the two is the parent, what the child is to it, and how close the tie is.
_UP = {
    Relation.SUBAGENT_OF: ("subagent", 0),
    Relation.SIDE_FILE_OF: ("side file", 0),
    Relation.CONTINUES: ("continuation", 1),
    Relation.FORKED_FROM: ("fork", 2),
}
_DOWN = {
    Relation.SUBAGENT: ("subagent", 0),
    Relation.SIDE_FILE: ("side file", 0),
    Relation.CONTINUED_BY: ("continuation", 1),
    Relation.FORK: ("fork", 2),
}
_EQUAL = {Relation.COPY: ("copy", 3), Relation.SAME_ID: ("same id", 4)}
_GROUNDS = list(Evidence)


def _bond(mine: Session, other: Session, pairs: Pairs) -> Bond:
    relation, evidence, weight = threads.related(mine, other, pairs)
    kind, rank = (_UP | _DOWN | _EQUAL)[relation]
    is_up = relation in _UP or (relation in _EQUAL and _comes_first(other, mine))
    parent, child = (other, mine) if is_up else (mine, other)
    return Bond(
        parent=parent.id,
        child=child.id,
        kind=kind,
        evidence=evidence.value,
        weight=weight,
        rank=rank * len(_GROUNDS) + _GROUNDS.index(evidence),
        goes_on=kind == "continuation",
        is_copy=evidence is Evidence.UUID_OVERLAP,
    )


# Tokens -------------------------------------------------------------------------------------------


def _used(rows: list[Session]) -> dict[int, tuple[int, int | None]]:
    """Tokens and cost by session; nothing for a thread too large to sum up while one waits."""
    if sum(row.events for row in rows) > MOST_EVENTS_SUMMED:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_USED, [[row.id for row in rows]])
        return {
            number: (int(tokens), None if cost is None else int(cost))
            for number, tokens, cost in cursor.fetchall()
        }


# Each answer of a provider counts once in its session.
_USED = """
    WITH answers AS (
        SELECT session_id, max(input) + max(output) + max(cache_read) + max(cache_write) AS tokens,
               max(coalesce(cost, reported)) AS cost
        FROM sessions_app_usage WHERE session_id = ANY(%s) GROUP BY session_id, key
    )
    SELECT session_id, sum(tokens), sum(cost) FROM answers GROUP BY session_id
"""
