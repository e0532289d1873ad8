"""Results of a search as plain values: what the API and the command give, word for word."""

from dataclasses import fields
from operator import attrgetter
from uuid import UUID

from sessions_app.domain.searchquery import Query
from sessions_app.domain.snippets import Piece
from sessions_app.store.find import Inside
from sessions_app.store.search import Found, Hit, Results
from sessions_app.store.sessions import SessionRow


def results(found: Results, query: Query) -> dict[str, object]:
    return {
        "found": [_session(each) for each in found.found],
        "older": found.older,
        "is_cut": found.is_cut,
        "reached": found.reached,
        "shortened": list(found.shortened),
        "skipped": found.skipped,
        "broken": list(found.broken),
        "has_results": found.has_results,
        "bad": bad(query),
    }


def inside(uid: UUID, found: Inside, query: Query) -> dict[str, object]:
    return {
        "hits": [_hit(uid, hit) for hit in found.shown()],
        "next": found.next,
        "skipped": found.skipped,
        "bad": bad(query),
    }


def bad(query: Query) -> list[dict[str, str]]:
    return [{"text": each.text, "message": each.message} for each in query.bad]


def _session(each: Found) -> dict[str, object]:
    cost = each.session.cost
    return {
        # In dollars, as everywhere outside.
        "session": {**_flat(each.session), "cost": None if cost is None else cost / 10**12},
        "hits": [_hit(each.session.id, hit) for hit in each.hits],
        "more": each.more,
        "is_all": each.is_all,
    }


def _hit(uid: UUID, hit: Hit) -> dict[str, object]:
    return {
        **_flat(hit),
        "pieces": [_flat(piece) for piece in hit.pieces],
        "url": f"/sessions/{uid}/?seq={hit.seq}#e{hit.seq}",
    }


def _flat(row: SessionRow | Hit | Piece) -> dict[str, object]:
    """Its fields as they are: `asdict` would copy everything inside them."""
    names, values = _FIELDS[type(row)]
    return dict(zip(names, values(row), strict=True))


_NAMES = {row: tuple(each.name for each in fields(row)) for row in (SessionRow, Hit, Piece)}
_FIELDS = {row: (names, attrgetter(*names)) for row, names in _NAMES.items()}
