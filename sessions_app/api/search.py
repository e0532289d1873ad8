"""The search over HTTP: the same results as the page, and the same cursors."""

from datetime import datetime
from typing import Annotated, cast
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.answers import Trouble
from sessions_app.api.sessions import SessionOut
from sessions_app.domain import searchquery
from sessions_app.domain.errors import BadInput, NotFound
from sessions_app.models import User
from sessions_app.store import answers, find, people, search, sessions, told

router = Router(tags=["search"])

MOST = 50


class PieceOut(Schema):
    text: str
    is_hit: bool


class HitOut(Schema):
    seq: int
    at: datetime | None
    role: str
    tool: str
    is_error: bool
    where: str
    url: str
    pieces: list[PieceOut]


class FoundOut(Schema):
    session: SessionOut
    hits: list[HitOut]
    more: int
    is_all: bool


class BadOut(Schema):
    text: str
    message: str


class SearchOut(Schema):
    found: list[FoundOut]
    older: str | None
    is_cut: bool
    reached: str
    shortened: list[str]
    skipped: int
    broken: list[UUID]
    has_results: bool
    bad: list[BadOut]


class InsideOut(Schema):
    hits: list[HitOut]
    next: int | None
    skipped: int
    bad: list[BadOut]


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


@router.get("/search", response={200: SearchOut, 400: Trouble, 404: Trouble})
def search_sessions(
    request: HttpRequest,
    q: Annotated[str, Field(max_length=2000)] = "",
    workspace: UUID | None = None,
    after: str = "",
    size: Annotated[int, Field(ge=1, le=MOST)] = search.PAGE,
) -> HttpResponse:
    """Events of a workspace that fit a query, grouped by session, the newest first. A query that
    says nothing of events finds sessions, without hits. Pass `older` as `after` to go on."""
    place = _workspace(_user(request), workspace)
    query = searchquery.parse(q.replace("\0", " "))
    found = answers.page(place, query, now=timezone.now(), cursor=after, size=size)
    answer = _sent(told.results(found, query))
    # For whoever measures: a process that was just started still asks the database.
    answer["Server-Timing"] = f'index;desc="{"memory" if found.is_from_memory else "database"}"'
    return answer


@router.get("/sessions/{session_id}/find", response={200: InsideOut, 404: Trouble})
def find_in_session(
    request: HttpRequest,
    session_id: UUID,
    q: Annotated[str, Field(max_length=2000)] = "",
    chunk: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0,
) -> HttpResponse:
    """Events of one session that fit a query, in order. Pass `next` as `chunk` to go on."""
    session = sessions.session_for(_user(request), session_id)
    query = searchquery.parse(q.replace("\0", " "))
    found = find.in_session(session, query, chunk=chunk)
    return _sent(told.inside(session.uid, found, query))


def _sent(answer: dict[str, object]) -> HttpResponse:
    """As the schema says, which a test compares: building it from models would take longer than
    the search."""
    return HttpResponse(
        orjson.dumps(answer, default=str, option=orjson.OPT_UTC_Z), content_type="application/json"
    )


def _workspace(user: User, asked: UUID | None) -> UUID:
    mine = people.workspaces_of(user)
    if asked is not None:
        if asked not in mine:
            raise NotFound("There is no such workspace, or you are not in it.")
        return asked
    if not mine:
        raise NotFound("You are not a member of any workspace yet: ask an admin to add you.")
    if len(mine) > 1:
        raise BadInput("You are in several workspaces: say which with workspace=ID.")
    return mine[0]
