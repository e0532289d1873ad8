"""How sessions hang together: each link with what it rests on.

Links are found when they are asked for, from ids that every session keeps. So it does not matter
which of two sessions came first, and nothing has to be repaired when one is erased.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import connection

from sessions_app.domain.events import TieKind
from sessions_app.models import Session, Tie
from sessions_app.models.record import Part
from sessions_app.store import sessions
from sessions_app.store.facts import Facts
from sessions_app.store.sources import Fingerprints, known_many

MOST = 200


class Relation(StrEnum):
    """What the other session is to this one."""

    FORKED_FROM = "forked from"
    FORK = "fork"
    SUBAGENT_OF = "subagent of"
    SUBAGENT = "subagent"
    CONTINUES = "continues"
    CONTINUED_BY = "continued by"
    SIDE_FILE_OF = "side file of"
    SIDE_FILE = "side file"
    COPY = "copy"
    SAME_ID = "same id"


class Evidence(StrEnum):
    EXPLICIT_ID = "explicit id"
    UUID_OVERLAP = "uuid overlap"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    relation: Relation
    evidence: Evidence
    # How many ids speak for it.
    weight: int
    uid: UUID
    title: str
    agent: str
    machine: str


_ID, _FOLDER = Evidence.EXPLICIT_ID, Evidence.DIRECTORY
# What my tie and the other's tie with the same key mean together, the strongest first.
_MEANINGS = {
    (TieKind.SUBAGENT_OF, TieKind.SELF): (Relation.SUBAGENT_OF, _ID),
    (TieKind.SELF, TieKind.SUBAGENT_OF): (Relation.SUBAGENT, _ID),
    (TieKind.STARTED, TieKind.SELF): (Relation.SUBAGENT, _ID),
    (TieKind.SELF, TieKind.STARTED): (Relation.SUBAGENT_OF, _ID),
    (TieKind.FORK_OF, TieKind.SELF): (Relation.FORKED_FROM, _ID),
    (TieKind.SELF, TieKind.FORK_OF): (Relation.FORK, _ID),
    (TieKind.CONTINUES, TieKind.SELF): (Relation.CONTINUES, _ID),
    (TieKind.SELF, TieKind.CONTINUES): (Relation.CONTINUED_BY, _ID),
    (TieKind.RECORD, TieKind.RECORD): (Relation.COPY, Evidence.UUID_OVERLAP),
    (TieKind.BELOW_FOLDER, TieKind.FOLDER): (Relation.SUBAGENT_OF, _FOLDER),
    (TieKind.FOLDER, TieKind.BELOW_FOLDER): (Relation.SUBAGENT, _FOLDER),
    (TieKind.SELF, TieKind.SELF): (Relation.SAME_ID, _ID),
}
_ORDER = list(_MEANINGS)

# Kinds of ties that two sessions share, mine first, and how many keys there are of each.
Pairs = dict[tuple[TieKind, TieKind], int]


def means_something(mine: int, theirs: int) -> bool:
    return (TieKind(mine), TieKind(theirs)) in _MEANINGS


def of(session: Session) -> list[Link]:
    """One link per other session, the strongest; generations of the same place are not links."""
    found: dict[int, Pairs] = defaultdict(dict)
    for other, mine, theirs, weight in _shared(session):
        if means_something(mine, theirs):
            found[other][TieKind(mine), TieKind(theirs)] = weight
    rows = Session.objects.select_related("key").in_bulk(list(found)[:MOST])
    links = [_link(session, rows[other], pairs) for other, pairs in found.items() if other in rows]
    return sorted(links, key=lambda link: (list(Relation).index(link.relation), str(link.uid)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A session that a line of another one started."""

    uid: UUID
    title: str
    agent: str
    events: int


def started(session: Session, ids: set[str]) -> dict[str, Started]:
    """The sessions that go by these ids, as the lines that started them name them."""
    if not ids:
        return {}
    marks = Fingerprints(session.workspace_id)
    keys = {marks.of_id(b"session", name): name for name in ids}
    found = Tie.objects.filter(
        workspace_id=session.workspace_id, kind=TieKind.SELF.value, key__in=list(keys)
    ).exclude(session_id=session.id)
    named = dict(found.values_list("session_id", "key")[:MOST])
    rows = Session.objects.select_related("key").filter(id__in=named).exclude(part=Part.SIDE)
    return {keys[named[row.id]]: _started(row) for row in rows.order_by("generation", "id")}


def _started(row: Session) -> Started:
    title = title_of(sessions.facts_of(row))
    return Started(uid=row.uid, title=title, agent=row.agent, events=row.events)


def outputs(session: Session, names: set[str]) -> dict[str, UUID]:
    """The files beside a log that hold what its lines leave to them, by their names."""
    if not names:
        return {}
    marks, told = Fingerprints(session.workspace_id), sessions.facts_of(session)
    above = told.path.partition("/subagents/")[0].removesuffix(".zst").removesuffix(".jsonl")
    places = {
        marks.of_place(told.machine, f"{above}/tool-results/{name}"): name for name in sorted(names)
    }
    found = known_many(session.workspace_id, list(places))
    return {places[place]: generations[0].uid for place, generations in found.items()}


def _shared(session: Session) -> list[tuple[int, int, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, [session.id, session.id, session.id, MOST * 4])
        return list(cursor.fetchall())


_SHARED = """
    SELECT b.session_id, a.kind, b.kind, count(*)
    FROM sessions_app_tie a
    JOIN sessions_app_tie b ON b.workspace_id = a.workspace_id AND b.key = a.key
    WHERE a.session_id = %s AND b.session_id <> %s
      AND NOT EXISTS (
        SELECT FROM sessions_app_source s JOIN sessions_app_source t
          ON t.workspace_id = s.workspace_id AND t.place_key = s.place_key
        WHERE s.session_id = %s AND t.session_id = b.session_id
      )
    GROUP BY 1, 2, 3 ORDER BY 1 LIMIT %s
"""


def related(mine: Session, other: Session, pairs: Pairs) -> tuple[Relation, Evidence, int]:
    """What the other session is to this one, on what ground, and how many ids say so."""
    relation, evidence = _MEANINGS[min(pairs, key=_ORDER.index)]
    return _refined(relation, mine, other, pairs), evidence, max(pairs.values())


def _link(mine: Session, other: Session, pairs: Pairs) -> Link:
    relation, evidence, weight = related(mine, other, pairs)
    told = sessions.facts_of(other)
    return Link(
        relation=relation,
        evidence=evidence,
        weight=weight,
        uid=other.uid,
        title=title_of(told),
        agent=other.agent,
        machine=told.machine,
    )


def title_of(told: Facts) -> str:
    return told.title or told.path.rpartition("/")[2] or "Untitled session"


def _refined(relation: Relation, mine: Session, other: Session, pairs: Pairs) -> Relation:
    """What kind of files the two are says more than the ids alone."""
    if relation is Relation.SUBAGENT_OF and mine.part == Part.SIDE:
        return Relation.SIDE_FILE_OF
    if relation is Relation.SUBAGENT and other.part == Part.SIDE:
        return Relation.SIDE_FILE
    is_other_id = (TieKind.SELF, TieKind.SELF) not in pairs
    if relation is Relation.COPY and is_other_id and mine.part == other.part == Part.MAIN:
        # Another id, but the same records: one goes on from a copy of the other.
        return Relation.FORKED_FROM if _is_younger(mine, other) else Relation.FORK
    return relation


def _is_younger(mine: Session, other: Session) -> bool:
    return (mine.last_at or mine.sort_at, mine.id) > (other.last_at or other.sort_at, other.id)
