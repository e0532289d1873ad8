"""Sessions over HTTP: list, one, its events, its verdict."""

from datetime import datetime
from typing import Annotated, cast
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.answers import Trouble
from sessions_app.domain.events import Flag
from sessions_app.models import User
from sessions_app.store import people, read, sessions, verify

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


class SessionsOut(Schema):
    sessions: list[SessionOut]
    older: str | None
    newer: str | None


class EventOut(Schema):
    seq: int
    at: datetime | None
    kind: str
    is_error: bool
    is_incomplete: bool
    length: int
    is_cut: bool
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
    after: str = "",
    before: str = "",
    size: Size = 50,
) -> sessions.Page | dict[str, object]:
    """Newest first. Pass `older` as `after`, or `newer` as `before`, to go on."""
    workspace = people.membership_for(_user(request), workspace_id).workspace
    page = sessions.page(workspace, after=after, before=before, size=size)
    return {"sessions": list(page.rows), "older": page.older, "newer": page.newer}


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
