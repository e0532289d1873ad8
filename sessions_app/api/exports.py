"""Sessions on their way out over HTTP: the bytes that came in, or documents made of them."""

from collections.abc import Iterator
from typing import Annotated, cast
from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from ninja import Query, Router
from pydantic import Field

from sessions_app.api.answers import Trouble
from sessions_app.domain import steps
from sessions_app.domain.errors import BadInput
from sessions_app.exports import documents, subject
from sessions_app.models import Session, User
from sessions_app.store import export, people, read, selection, sessions

MOST_IDS = 200
MOST_FOUND = 1000
router = Router(tags=["sessions"])


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


@router.get("/sessions/{session_id}/raw", response={200: None, 404: Trouble})
def get_raw(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """The bytes that came in."""
    found = sessions.session_for(_user(request), session_id)
    answer = _streamed(request, read.stream(found), f"session-{found.uid}.jsonl")
    answer["Content-Length"] = str(found.raw_bytes)
    return answer


@router.get("/sessions/{session_id}/export", response={200: None, 400: Trouble, 404: Trouble})
def get_session_export(
    request: HttpRequest,
    session_id: UUID,
    kind: Annotated[documents.Kind, Query(alias="as")] = documents.Kind.JSONL,
    first: Annotated[int | None, Query(alias="from", ge=0, le=2**31 - 1)] = None,
    last: Annotated[int | None, Query(alias="to", ge=0, le=2**31 - 1)] = None,
) -> StreamingHttpResponse:
    """A session, or its events `from` to `to`, as `html`, `md`, `csv` or `jsonl`."""
    found = sessions.session_for(_user(request), session_id)
    documents.kind_of(kind, documents.OF_ONE)
    passage = subject.passage(found, first, last, now=timezone.now())
    cover = _cover(request, found.workspace.name)
    return _sent(request, documents.of_one(kind, passage, cover))


@router.get("/export", response={200: None, 400: Trouble, 404: Trouble})
def get_export(
    request: HttpRequest,
    ids: str = "",
    workspace: UUID | None = None,
    layout: str = "path",
    q: Annotated[str, Field(max_length=2000)] = "",
    kind: Annotated[documents.Kind | None, Query(alias="as")] = None,
) -> StreamingHttpResponse:
    """Sessions of `ids`, with commas between, or of a `workspace`: all, or those that `q` finds.
    One tar of the bytes that came in, or one document of the kind `as`."""
    if layout not in export.LAYOUTS:
        raise BadInput(f"layout is one of {', '.join(export.LAYOUTS)}")
    if workspace is None or ids:
        rows = [sessions.session_for(_user(request), each) for each in _uuids(ids)]
        return _of_many(request, rows, kind, layout)
    place = people.membership_for(_user(request), workspace).workspace
    if kind is None and not q:
        pieces = export.tar(sessions.in_workspace(place.id), layout)
        return _streamed(request, pieces, "sessions.tar")
    chosen = selection.found(place, q, most=MOST_FOUND, now=timezone.now())
    return _of_many(request, chosen.rows, kind, layout, place=place.name, query=chosen.told)


def _of_many(
    request: HttpRequest,
    rows: list[Session],
    kind: documents.Kind | None,
    layout: str,
    *,
    place: str = "",
    query: str = "",
) -> StreamingHttpResponse:
    if kind is None:
        return _streamed(request, export.tar(rows, layout), "sessions.tar")
    cover = _cover(request, place or ", ".join({row.workspace.name for row in rows}), query)
    return _sent(request, documents.of_many(kind, rows, cover))


def _cover(request: HttpRequest, workspace: str, query: str = "") -> subject.Cover:
    by = str(_user(request))
    return subject.Cover(made_at=timezone.now(), by=by, workspace=workspace, query=query)


def _sent(request: HttpRequest, document: documents.Document) -> StreamingHttpResponse:
    answer = _streamed(request, document.pieces, document.name)
    answer["Content-Type"] = document.media
    return answer


def _uuids(ids: str) -> list[UUID]:
    try:
        found = [UUID(each) for each in ids.split(",")]
    except ValueError:
        raise BadInput("give ids=ID,ID or workspace=ID") from None
    if len(found) > MOST_IDS:
        raise BadInput(f"at most {MOST_IDS} ids at once; workspace=ID gives all")
    return found


def _streamed(request: HttpRequest, pieces: Iterator[bytes], name: str) -> StreamingHttpResponse:
    body = steps.in_steps(pieces) if isinstance(request, ASGIRequest) else pieces
    return StreamingHttpResponse(
        body,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
