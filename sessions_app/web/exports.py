"""Exports a person asks for: of one session, of a stretch of it, or of many sessions."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain.errors import BadInput
from sessions_app.exports import documents, subject
from sessions_app.exports.documents import OF_MANY, OF_ONE, WORDS, Document
from sessions_app.exports.subject import Cover
from sessions_app.models import Session
from sessions_app.store import read, selection, sessions
from sessions_app.store.selection import Selection
from sessions_app.web import respond
from sessions_app.web.access import current, person, signed_in

MOST_NAMED = 200
MOST_FOUND = 1000
LONGEST_QUERY = 2000


@require_safe
@signed_in
def of_session(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """Without `as` the bytes as they came. Streamed: a session may be larger than memory."""
    found = sessions.session_for(person(request), uid)
    if "as" not in request.GET:
        return _bytes(request, found)
    kind = documents.kind_of(request.GET["as"], OF_ONE)
    passage = subject.passage(found, _end(request, "from"), _end(request, "to"), now=timezone.now())
    return _sent(request, documents.of_one(kind, passage, _cover(request, found.workspace.name)))


def _bytes(request: HttpRequest, found: Session) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        respond.in_steps(request, read.stream(found)),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="session-{found.uid}.jsonl"',
            "Content-Length": str(found.raw_bytes),
        },
    )


@require_safe
@signed_in
def of_many(request: HttpRequest) -> HttpResponseBase:
    """Sessions that are named, else those that the text finds. Without `as` a page that asks."""
    text = request.GET.get("q", "")[:LONGEST_QUERY].strip()
    chosen = _named(request) or selection.found(
        current(request).workspace, text, most=MOST_FOUND, now=timezone.now()
    )
    if "as" not in request.GET:
        return _page(request, chosen)
    kind = documents.kind_of(request.GET["as"], OF_MANY)
    if not chosen.rows:
        raise BadInput("There is no such session to export. Try other words.")
    cover = _cover(request, current(request).workspace.name, query=chosen.told)
    return _sent(request, documents.of_many(kind, chosen.rows, cover))


def _named(request: HttpRequest) -> Selection | None:
    texts = request.GET.getlist("session")
    if not texts:
        return None
    if len(texts) > MOST_NAMED:
        raise BadInput(f"At most {MOST_NAMED} sessions can be named at once.")
    try:
        uids = [UUID(text) for text in dict.fromkeys(texts)]
    except ValueError:
        raise BadInput("“session” must be the id of a session.") from None
    rows = [sessions.session_for(person(request), uid) for uid in uids]
    return Selection(text="", rows=rows, is_cut=False, left_out=())


def _page(request: HttpRequest, chosen: Selection) -> HttpResponse:
    context = {
        "chosen": chosen,
        "query": chosen.text,
        "named": request.GET.getlist("session"),
        "count": len(chosen.rows),
        "kinds": [(kind.value, WORDS[kind]) for kind in OF_MANY],
        "url": reverse("sessions:exports"),
    }
    return render(request, "exports/page.html", context)


def _end(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadInput(f"“{name}” must be the number of an event.")
    return int(text)


def _cover(request: HttpRequest, workspace: str, *, query: str = "") -> Cover:
    return Cover(made_at=timezone.now(), by=str(person(request)), workspace=workspace, query=query)


def _sent(request: HttpRequest, document: Document) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        respond.in_steps(request, document.pieces),
        content_type=document.media,
        headers=document.headers,
    )
