"""Search as pages and the API ask for it: results grouped by session, a page at a time.

The work of one request is bounded. What was not reached is said, with a cursor that goes on from
there.
"""

import base64
import binascii
import struct
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import log2
from uuid import UUID

from sessions_app.domain import matching, snippets
from sessions_app.domain.errors import BadInput
from sessions_app.domain.events import value
from sessions_app.domain.searchquery import Query
from sessions_app.domain.snippets import Piece
from sessions_app.models import Session
from sessions_app.store import candidates, known, narrowing, sessions, totals
from sessions_app.store.checked import Checked, Matches
from sessions_app.store.patterns import Patterns
from sessions_app.store.route import Position
from sessions_app.store.sessions import SessionRow
from sessions_app.store.totals import Totals
from sessions_app.store.walk import Limits, Reached, Sought, Walk

PAGE = 10
# Sessions the best ones are chosen from.
POOL = 60
SHOWN = 3
LOOKED_AT = 8
LIMITS = Limits()
_CURSOR = struct.Struct(">iqqiH")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@value
class Hit:
    seq: int
    at: datetime | None
    role: str
    tool: str
    is_error: bool
    # In what of the event: text, thinking, call, path, command, address, result, record, raw line.
    where: str
    pieces: tuple[Piece, ...]


@value
class Found:
    """A session and its best hits, in the order of its events."""

    session: SessionRow
    hits: tuple[Hit, ...]
    # Hits that were seen beside those; there may be more of them than that.
    more: int
    is_all: bool
    month: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    found: tuple[Found, ...]
    # Where the next page begins; None at the end.
    older: str | None
    # The work allowed was done before the page was full; it reached back to this month.
    is_cut: bool
    reached: str
    # Beginnings of words of which only the shortest were looked for.
    shortened: tuple[str, ...]
    # Events a regular expression took too long for.
    skipped: int
    # Sessions whose record does not open.
    broken: tuple[UUID, ...]
    has_results: bool
    chunks: int
    # Memory told where to look for all of it, and the index in the database for nothing.
    is_from_memory: bool


def page(
    workspace_id: UUID,
    query: Query,
    *,
    now: datetime,
    cursor: str = "",
    size: int = PAGE,
    limits: Limits = LIMITS,
) -> Results:
    """The newest first, or the best of a pool of the newest."""
    if query.sort == "best":
        return _best(workspace_id, query, now, cursor, size, limits)
    walk = _walk(workspace_id, query, now, size + 1, limits, position(cursor))
    with walk.patterns or nullcontext():
        reached = list(islice(walk.sessions(), size + 1))
    older = None
    if len(reached) > size:
        older = cursor_at(reached[size - 1].position)
    elif not walk.is_complete and walk.position is not None:
        older = cursor_at(walk.position)
    return _results(walk, found_of(reached[:size], now), older)


def _best(
    workspace_id: UUID, query: Query, now: datetime, cursor: str, size: int, limits: Limits
) -> Results:
    """A page of a pool. Each page of it walks through the pool again: nothing is kept between
    requests, and hits of the same score stay in the order of the walk."""
    start, offset = _place(cursor)
    walk = _walk(workspace_id, query, now, POOL, limits, start)
    with walk.patterns or nullcontext():
        pool = sorted(islice(walk.sessions(), POOL), key=_worth, reverse=True)
    older = None
    if offset + size < len(pool):
        older = cursor_at(start, offset + size)
    elif not walk.is_complete and walk.position is not None:
        older = cursor_at(walk.position)
    shown = pool[offset : offset + size]
    return _results(walk, found_of(shown, now), older)


def _worth(reached: Reached) -> float:
    """Its best hit; of two equal ones the session with more."""
    return max(hit.match.score for hit in reached.hits) + log2(len(reached.hits)) / 4


def session_ids(
    workspace_id: UUID, query: Query, *, now: datetime, limit: int, limits: Limits = LIMITS
) -> Matches:
    """For lists that are filtered by text."""
    question = matching.question(query)
    walk = Walk(
        sought=Sought(
            workspace_id=workspace_id,
            question=question,
            narrowing=narrowing.of(workspace_id, query, now=now),
            sessions=limit + 1,
            enough=1,
            most=1,
        ),
        limits=limits,
        patterns=Patterns(question.patterns) if question.patterns else None,
    )
    with walk.patterns or nullcontext():
        found = [each.session.id for each in islice(walk.sessions(), limit + 1)]
    is_cut = len(found) > limit or not walk.is_complete
    return Matches(ids=tuple(found[:limit]), is_cut=is_cut)


def _walk(
    workspace_id: UUID,
    query: Query,
    now: datetime,
    number: int,
    limits: Limits,
    start: Position | None,
) -> Walk:
    question = matching.question(query)
    return Walk(
        sought=Sought(
            workspace_id=workspace_id,
            question=question,
            narrowing=narrowing.of(workspace_id, query, now=now),
            sessions=number,
            enough=SHOWN,
            most=LOOKED_AT,
        ),
        limits=limits,
        start=start,
        patterns=Patterns(question.patterns) if question.patterns else None,
    )


# What is shown ------------------------------------------------------------------------------


def _results(walk: Walk, found: list[Found], older: str | None) -> Results:
    position = walk.position
    return Results(
        found=tuple(found),
        older=older,
        is_cut=walk.is_spent and not walk.is_complete,
        reached=month_label(position.month) if position else "",
        shortened=tuple(sorted(walk.cut)),
        skipped=walk.work.skipped,
        broken=tuple(walk.broken),
        has_results=walk.sought.question.has_results,
        chunks=walk.work.chunks,
        is_from_memory=walk.is_from_memory,
    )


def found_of(reached: Sequence[Reached], now: datetime) -> list[Found]:
    rows = [each.session for each in reached]
    grown = totals.of([row.id for row in rows if row.totals_events < row.events])
    return [_found(each, grown.get(each.session.id), now) for each in reached]


def _found(reached: Reached, used: Totals | None, now: datetime) -> Found:
    best = _different(reached.hits)
    return Found(
        session=_shown(reached.session, used, now),
        hits=tuple(sorted(best, key=lambda hit: hit.seq)),
        more=len(reached.hits) - len(best),
        is_all=reached.is_all,
        month=month_label(reached.position.month),
    )


def _shown(row: Session, used: Totals | None, now: datetime) -> SessionRow:
    """A row that is held in memory remembers how it was shown last."""
    kept: SessionRow | None = row.__dict__.get(_SHOWN)
    if used is None and kept is not None and kept.status == sessions.status(row, now):
        return kept
    made = sessions.shown(row, now=now, used=used, told=known.of(row).facts)
    if used is None:
        row.__dict__[_SHOWN] = made
    return made


_SHOWN = "_shown"


def _different(hits: Sequence[Checked]) -> list[Hit]:
    """The best few that do not read the same: some logs say everything twice."""
    if len(hits) == 1:
        return [hit_of(hits[0])]
    out: dict[tuple[Piece, ...], Hit] = {}
    for each in map(hit_of, sorted(hits, key=lambda hit: hit.match.score, reverse=True)):
        out.setdefault(each.pieces, each)
        if len(out) == SHOWN:
            break
    return list(out.values())


def hit_of(checked: Checked) -> Hit:
    snippet = snippets.of(checked.match)
    return Hit(
        seq=checked.seq,
        at=checked.at,
        role=checked.role,
        tool=checked.tool,
        is_error=checked.match.event.is_error,
        where=snippet.where.value,
        pieces=snippet.pieces,
    )


def month_label(number: int) -> str:
    return "" if number == candidates.NO_MONTH else candidates.month_name(number)


# Cursors ------------------------------------------------------------------------------------

_FROM_THE_START = -2


def cursor_at(position: Position | None, offset: int = 0) -> str:
    if position is None:
        values = (_FROM_THE_START, 0, 0, 0, offset)
    else:
        micros = (position.sort_at - _EPOCH) // timedelta(microseconds=1)
        values = (position.month, micros, position.session_id, position.chunk, offset)
    return base64.urlsafe_b64encode(_CURSOR.pack(*values)).decode().rstrip("=")


def position(cursor: str) -> Position | None:
    return _place(cursor)[0]


def _place(cursor: str) -> tuple[Position | None, int]:
    if not cursor:
        return None, 0
    try:
        packed = base64.urlsafe_b64decode(cursor + "==")
        month, micros, number, chunk, offset = _CURSOR.unpack(packed)
        at = _EPOCH + timedelta(microseconds=micros)
    except (ValueError, binascii.Error, struct.error, OverflowError):
        raise BadInput("That page marker is damaged: search again from the start.") from None
    if month == _FROM_THE_START:
        return None, offset
    return Position(month=month, sort_at=at, session_id=number, chunk=chunk), offset
