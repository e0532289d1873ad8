"""What sessions are filtered by: blind terms on the session, and the names behind them, sealed.

A term is a keyed hash, so that the database can count and compare what it cannot read. Names are
compared without regard to case and kept as they were first spelled.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from sessions_app.domain.errors import RecountError
from sessions_app.domain.events import Flag
from sessions_app.domain.facets import Facet, words
from sessions_app.domain.lifecycle import Ending, turn
from sessions_app.models import FacetValue
from sessions_app.models.record import Part
from sessions_app.store import keys
from sessions_app.store.facts import Facts, project_of, user_of
from sessions_app.store.tip import Counts
from sessions_app.vault import seal

LONGEST_NAME = 200
# What a pattern or a suggestion is looked for in; more names of one kind nobody looks through.
MOST_NAMES = 5_000

_MARKS = {
    Flag.PICTURE: "picture",
    Flag.THINKING: "thinking",
    Flag.COMPACTION: "compaction",
}


class Name(NamedTuple):
    kind: Facet
    term: int
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    names: tuple[Name, ...]
    terms: list[int]

    def columns(self) -> dict[str, object]:
        """As the session row keeps them."""
        first = {name.kind: name.term for name in reversed(self.names)}
        return {
            "facets": self.terms,
            "project_term": first.get(Facet.PROJECT, 0),
            "machine_term": first.get(Facet.MACHINE, 0),
            "user_term": first.get(Facet.USER, 0),
        }


class Blind:
    """Terms of one workspace."""

    def __init__(self, workspace_id: UUID) -> None:
        self._blinder = keys.blinder(workspace_id)

    def term(self, key: str, value: str) -> int:
        return self._blinder.number_of_facet(key, value.casefold())


def of_session(
    workspace_id: UUID,
    *,
    agent: str,
    fmt: str,
    part: Part,
    counts: Counts,
    told: Facts,
    tail_bytes: int,
) -> Facets:
    blind = Blind(workspace_id)
    names = [
        Name(kind, blind.term(kind.key, value), value[:LONGEST_NAME])
        for kind, values in _names(agent, fmt, told).items()
        for value in values
        if value
    ]
    whose = turn(Ending(told.ending), is_timed=counts.last_at is not None)
    terms = {name.term for name in names}
    terms.update(blind.term("title", word) for word in words(told.title))
    terms.update(blind.term("has", mark) for mark in _contents(counts, told))
    terms.update(blind.term("is", mark) for mark in _states(part, told, tail_bytes))
    terms.add(blind.term("turn", whose))
    return Facets(names=tuple(names), terms=sorted(terms))


def _names(agent: str, fmt: str, told: Facts) -> dict[Facet, Collection[str]]:
    return {
        Facet.AGENT: (agent,),
        Facet.PROJECT: (project_of(told),),
        Facet.MACHINE: (told.machine,),
        Facet.MODEL: told.models,
        Facet.TOOL: told.tools,
        Facet.BRANCH: told.branches,
        Facet.FORMAT: (fmt,),
        Facet.USER: (user_of(told),),
    }


def _contents(counts: Counts, told: Facts) -> list[str]:
    out = [name for flag, name in _MARKS.items() if told.seen & flag]
    out += ["error"] * bool(counts.errors) + ["unreadable"] * bool(counts.unreadable)
    return out


def _states(part: Part, told: Facts, tail_bytes: int) -> list[str]:
    kinds = {"subagent": part is Part.SUBAGENT, "forked": told.is_forked, "incomplete": tail_bytes}
    return [name for name, holds in kinds.items() if holds]


# The names ------------------------------------------------------------------------------------


def keep(workspace_id: UUID, names: Iterable[Name]) -> None:
    """In one order everywhere, so that two writers wait for each other and never in a circle."""
    key = keys.key_for(workspace_id, "facet")
    known = {(name.kind, name.term): name.value for name in names}
    rows = [
        (kind, term, seal.seal(key, _place(workspace_id, kind, term), _raw(value)))
        for (kind, term), value in sorted(known.items())
    ]
    if not rows:
        return
    kinds, terms, sealed = (list(column) for column in zip(*rows, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [workspace_id, kinds, terms, sealed])


_KEEP = """
    INSERT INTO sessions_app_facetvalue (workspace_id, kind, term, sealed)
    SELECT %s, * FROM unnest(%s::smallint[], %s::integer[], %s::bytea[])
    ON CONFLICT DO NOTHING
"""


def drop_unused(workspace_id: UUID, terms: Collection[int]) -> None:
    """Names that no session has any more: no name outlives its sessions."""
    if terms:
        with connection.cursor() as cursor:
            cursor.execute(_DROP, [workspace_id, list(terms)])


_DROP = """
    DELETE FROM sessions_app_facetvalue v
    WHERE v.workspace_id = %s AND v.term = ANY(%s::integer[])
      AND NOT EXISTS (
        SELECT FROM sessions_app_session s
        WHERE s.workspace_id = v.workspace_id AND s.facets @> ARRAY[v.term]
      )
"""


def all_of(workspace_id: UUID, kind: Facet) -> list[Name]:
    rows = FacetValue.objects.filter(workspace_id=workspace_id, kind=kind).order_by("term")
    found = rows.values_list("term", "sealed")[:MOST_NAMES]
    return [
        Name(kind, term, opened(workspace_id, kind, term, bytes(sealed))) for term, sealed in found
    ]


def opened(workspace_id: UUID, kind: int, term: int, sealed: bytes) -> str:
    """A damaged row must not hide the others."""
    where = _place(workspace_id, kind, term)
    key = keys.key_for(workspace_id, "facet")
    try:
        raw = seal.unseal(key, where, sealed, name="a name of a facet")
    except RecountError:
        return "(a name that cannot be opened)"
    return raw.decode("utf-8", "surrogatepass")


def _place(workspace_id: UUID, kind: int, term: int) -> bytes:
    return seal.place("facet", str(workspace_id), int(kind), term)


def _raw(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
