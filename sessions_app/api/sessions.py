"""Sessions over HTTP: list, one, its events, its verdict."""

from datetime import date, datetime
from typing import Annotated, cast
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.answers import Trouble
from sessions_app.domain import searchquery
from sessions_app.domain.events import Flag, Kind
from sessions_app.domain.searchquery import LONGEST
from sessions_app.models import User
from sessions_app.store import (
    listing,
    people,
    read,
    selection,
    sessions,
    threads,
    usage,
    verify,
)
from sessions_app.store.conditions import Asked

router = Router(tags=["sessions"])

MOST = 200
Size = Annotated[int, Field(ge=1, le=MOST)]


class WorkspaceOut(Schema):
    id: UUID
    name: str
    role: str


class SessionOut(Schema):
    id: UUID
    title: str
    agent: str
    format: str
    project: str
    machine: str
    source_path: str
    status: str
    started_at: datetime | None
    last_at: datetime | None
    ingested_at: datetime
    events: int
    prompts: int
    errors: int
    unreadable: int
    raw_bytes: int
    chunks: int
    generation: int
    is_incomplete: bool
    head_hash: str
    part: str
    cwd: str
    branch: str
    version: str
    model: str
    models: list[str]
    seconds: int | None
    tokens: int | None
    cost: float | None
    unpriced: int
    calls: int
    held: bool
    expires_at: datetime | None
    archived_at: datetime | None

    @staticmethod
    def resolve_cost(row: sessions.SessionRow | dict[str, float | None]) -> float | None:
        """Results of a search come told already."""
        return row["cost"] if isinstance(row, dict) else _dollars(row.cost)


class UsageOut(Schema):
    """Costs in US dollars; null where no price is known. Each answer counts once."""

    model: str
    answers: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    cost: float | None
    unpriced: int
    reported: float | None
    priced_on: date | None


class LinkOut(Schema):
    relation: str
    evidence: str
    weight: int
    session: UUID


class ThreadOut(Schema):
    links: list[LinkOut]


class BadOut(Schema):
    """A part of the query that was left out, and why."""

    text: str
    message: str


class SessionsOut(Schema):
    sessions: list[SessionOut]
    older: str | None
    newer: str | None
    # The text of the query was not looked for everywhere: there may be more.
    is_cut: bool
    bad: list[BadOut]


class EventOut(Schema):
    seq: int
    at: datetime | None
    kind: str
    is_error: bool
    is_incomplete: bool
    length: int
    is_cut: bool
    is_lossy: bool
    text: str


class EventsOut(Schema):
    events: list[EventOut]
    total: int


class VerdictOut(Schema):
    id: UUID
    is_sound: bool
    problem: str
    bad_chunk: int | None
    chunks: int
    raw_bytes: int
    head_hash: str


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


@router.get(
    "/workspaces/{workspace_id}/sessions", response={200: SessionsOut, 400: Trouble, 404: Trouble}
)
def list_sessions(
    request: HttpRequest,
    workspace_id: UUID,
    q: Annotated[str, Field(max_length=LONGEST)] = "",
    after: str = "",
    before: str = "",
    size: Size = 50,
) -> dict[str, object]:
    """What `q` asks for, as in the list; newest first unless it says `sort:`. Pass `older` as
    `after`, or `newer` as `before`, to go on."""
    workspace = people.membership_for(_user(request), workspace_id).workspace
    asked = listing.asked(workspace, searchquery.parse(q), now=timezone.now())
    page = listing.page(asked, after=after, before=before, size=size)
    return {
        "sessions": page.rows(),
        "older": page.older,
        "newer": page.newer,
        "is_cut": asked.is_cut,
        "bad": _bad(asked),
    }


def _bad(asked: Asked) -> list[dict[str, str]]:
    left = selection.left_out(asked)
    return [{"text": said, "message": message} for said, message in left]


@router.get("/workspaces", response=list[WorkspaceOut])
def list_workspaces(request: HttpRequest) -> list[dict[str, object]]:
    """The workspaces you are in, and your role in each."""
    return [
        {"id": m.workspace_id, "name": m.workspace.name, "role": m.role}
        for m in people.memberships_of(_user(request))
    ]


@router.get("/sessions/{session_id}", response={200: SessionOut, 404: Trouble})
def get_session(request: HttpRequest, session_id: UUID) -> sessions.SessionRow:
    found = sessions.session_for(_user(request), session_id)
    return sessions.shown(found, now=timezone.now())


@router.get("/sessions/{session_id}/events", response={200: EventsOut, 404: Trouble})
def list_events(
    request: HttpRequest,
    session_id: UUID,
    lo: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0,
    size: Size = 50,
) -> dict[str, object]:
    """Lines `lo` to `lo + size` as they came; a long line is cut and says so."""
    found = sessions.session_for(_user(request), session_id)
    lines = read.window(found, lo, lo + size, shown=64 * 1024)
    return {"events": [_event(line) for line in lines], "total": found.events}


def _event(line: read.Line) -> dict[str, object]:
    return {
        "seq": line.seq,
        "at": line.at,
        "kind": line.kind.name.lower(),
        "is_error": bool(line.flags & Flag.ERROR),
        "is_incomplete": bool(line.flags & Flag.INCOMPLETE),
        "length": line.length,
        "is_cut": line.is_cut,
        "is_lossy": line.kind is Kind.UNREADABLE or bool(line.loss),
        "text": line.raw.decode("utf-8", "replace"),
    }


@router.get("/sessions/{session_id}/verdict", response={200: VerdictOut, 404: Trouble})
def get_verdict(request: HttpRequest, session_id: UUID) -> dict[str, object]:
    """Opens every chunk and walks the chain; says what is wrong, and where first."""
    found = sessions.session_for(_user(request), session_id)
    verdict = verify.session(found)
    return {
        "id": found.uid,
        "is_sound": verdict.is_sound,
        "problem": verdict.problem,
        "bad_chunk": verdict.bad_chunk,
        "chunks": verdict.chunks,
        "raw_bytes": verdict.raw_bytes,
        "head_hash": verdict.head,
    }


@router.get("/sessions/{session_id}/usage", response={200: list[UsageOut], 404: Trouble})
def session_usage(request: HttpRequest, session_id: UUID) -> list[dict[str, object]]:
    """Tokens and cost by model, as the session's own lines tell them."""
    found = sessions.session_for(_user(request), session_id)
    return [_used(row) for row in usage.of_session(found.id)]


@router.get("/workspaces/{workspace_id}/usage", response={200: list[UsageOut], 404: Trouble})
def workspace_usage(request: HttpRequest, workspace_id: UUID) -> list[dict[str, object]]:
    """Tokens and cost by model over all sessions; an answer that several sessions hold copies of
    counts once."""
    workspace = people.membership_for(_user(request), workspace_id).workspace
    return [_used(row) for row in usage.of_workspace(workspace.id)]


def _used(row: usage.ModelUsage) -> dict[str, object]:
    numbers = ("answers", "input", "output", "cache_read", "cache_write", "reasoning", "unpriced")
    return {
        "model": row.model,
        **{name: getattr(row, name) for name in numbers},
        "cost": _dollars(row.cost),
        "reported": _dollars(row.reported),
        "priced_on": row.priced_on,
    }


def _dollars(picodollars: int | None) -> float | None:
    return None if picodollars is None else picodollars / 10**12


@router.get("/sessions/{session_id}/thread", response={200: ThreadOut, 404: Trouble})
def session_thread(request: HttpRequest, session_id: UUID) -> dict[str, object]:
    """Sessions this one belongs together with, each with what that rests on."""
    found = sessions.session_for(_user(request), session_id)
    return {
        "links": [
            {
                "relation": link.relation.value,
                "evidence": link.evidence.value,
                "weight": link.weight,
                "session": link.uid,
            }
            for link in threads.of(found)
        ]
    }
