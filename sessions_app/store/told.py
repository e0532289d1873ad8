"""Results of a search as plain values: what the API and the command give, word for word."""

from dataclasses import fields
from operator import attrgetter
from uuid import UUID

from sessions_app.domain.searchquery import Query
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
        "hits": [_hit(str(uid), hit) for hit in found.shown()],
        "next": found.next,
        "skipped": found.skipped,
        "bad": bad(query),
    }


def bad(query: Query) -> list[dict[str, str]]:
    return [{"text": each.text, "message": each.message} for each in query.bad]


def _session(each: Found) -> dict[str, object]:
    row = each.session
    uid = str(row.id)
    session: dict[str, object] = dict(zip(_NAMES, _VALUES(row), strict=True))
    # In dollars, as everywhere outside.
    session["cost"] = None if row.cost is None else row.cost / 10**12
    return {
        "session": session,
        "hits": [_hit(uid, hit) for hit in each.hits],
        "more": each.more,
        "is_all": each.is_all,
    }


# All of a row as it is: `asdict` would copy everything inside it.
_NAMES = tuple(each.name for each in fields(SessionRow))
_VALUES = attrgetter(*_NAMES)


def _hit(uid: str, hit: Hit) -> dict[str, object]:
    return {
        "seq": hit.seq,
        "at": hit.at,
        "role": hit.role,
        "tool": hit.tool,
        "is_error": hit.is_error,
        "where": hit.where,
        "url": f"/sessions/{uid}/?seq={hit.seq}#e{hit.seq}",
        "pieces": [{"text": each.text, "is_hit": each.is_hit} for each in hit.pieces],
    }
