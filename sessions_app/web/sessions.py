"""Pages about sessions: the list, the greeting, one session's transcript, raw lines and record."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from sessions_app.domain import hostile
from sessions_app.domain.errors import BadInput
from sessions_app.models import Session
from sessions_app.models.people import Role
from sessions_app.store import read, sessions, verify
from sessions_app.web import respond, transcript
from sessions_app.web.access import current, may_ingest, person, signed_in
from sessions_app.web.enqueue import job
from sessions_app.web.transcript import SECTION

RAW_TEXT = 64 * 1024
RAW_HEX = 4 * 1024
CHUNKS = 100
# Above this, verifying in the request would keep a person waiting: it becomes a job.
VERIFY_AT_ONCE = 64 * 1024 * 1024
INGEST_COMMAND = ".venv/bin/python manage.py ingest ~/.claude/projects"


def number(request: HttpRequest, name: str, default: int = 0) -> int:
    """A whole number from the query, or a sentence about it."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadInput(f"“{name}” must be a whole number.")
    return int(text)


@require_safe
@signed_in
def listing(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    if not after and not before and not sessions.has_any(membership.workspace):
        return greeting(request)
    page = sessions.page(membership.workspace, after=after, before=before)
    shown = {
        "rows": [_with_url(row) for row in page.rows],
        "older": f"?after={page.older}" if page.older else None,
        "newer": f"?before={page.newer}" if page.newer else None,
        "total_label": sessions.count_label(membership.workspace),
    }
    context = {"page": shown, **_ways_in(request)}
    return respond.either(request, "sessions/list.html", "sessions/_rows.html", context)


def _with_url(row: sessions.SessionRow) -> dict[str, object]:
    facts = {name: getattr(row, name) for name in row.__slots__}
    return {**facts, "url": reverse("sessions:session", args=[row.id])}


def _ways_in(request: HttpRequest) -> dict[str, object]:
    return {
        "can_ingest": may_ingest(current(request)),
        "can_demo": current(request).role == Role.ADMIN,
        "ingest_command": INGEST_COMMAND,
        "upload_url": reverse("sessions:upload"),
    }


@require_safe
@signed_in
def welcome(request: HttpRequest) -> HttpResponse:
    return greeting(request)


def greeting(request: HttpRequest) -> HttpResponse:
    return render(request, "sessions/welcome.html", _ways_in(request))


@require_safe
@signed_in
def session(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The transcript. The section that holds `?seq=` comes filled, so that a deep link works
    without a script; the others fill themselves when they come into view."""
    found = sessions.session_for(person(request), uid)
    lo = min(number(request, "seq"), max(found.events - 1, 0)) // SECTION * SECTION
    here = transcript.events(found, read.window(found, lo, lo + SECTION))
    link = reverse("sessions:session", args=[uid])
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "sections": transcript.sections(found, {lo: here}),
        "total": found.events,
        "previous_url": f"{link}?seq={lo - SECTION}" if lo else None,
        "next_url": f"{link}?seq={lo + SECTION}" if lo + SECTION < found.events else None,
    }
    return render(request, "sessions/session.html", context)


@require_safe
@signed_in
def events(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One section of the transcript; opened as a page it is the transcript at that place."""
    lo = number(request, "lo")
    if not respond.is_fragment(request):
        return redirect(f"{reverse('sessions:session', args=[uid])}?seq={lo}")
    found = sessions.session_for(person(request), uid)
    lines = read.window(found, lo, lo + SECTION)
    context = {"events": transcript.events(found, lines), "total": found.events}
    return render(request, "sessions/_events.html", context)


@require_safe
@signed_in
def raw(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    seq = number(request, "seq")
    line = read.event(found, seq, shown=RAW_TEXT)
    text = line.raw.decode("utf-8", "replace")
    link = reverse("sessions:raw", args=[uid])
    shown = replace(transcript.event(found, line), hidden_count=hostile.count(text))
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "event": shown,
        "text": text,
        "truncated": line.is_cut,
        "hex_rows": transcript.hex_rows(line.raw[:RAW_HEX]),
        "hex_truncated": line.length > RAW_HEX,
        "previous_url": f"{link}?seq={seq - 1}" if seq else None,
        "next_url": f"{link}?seq={seq + 1}" if seq + 1 < found.events else None,
    }
    return render(request, "sessions/raw.html", context)


@require_safe
@signed_in
def record(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    start = number(request, "chunk") // CHUNKS * CHUNKS
    link = reverse("sessions:record", args=[uid])
    generations = sessions.generations(found)
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "record": _record_facts(found),
        "generations": [_generation(g) for g in generations] if len(generations) > 1 else [],
        "chunks": sessions.chunk_rows(found, start=start, size=CHUNKS),
        "chunks_newer": f"{link}?chunk={start - CHUNKS}" if start else None,
        "chunks_older": f"{link}?chunk={start + CHUNKS}" if start + CHUNKS < found.chunks else None,
        "chunks_label": "1 chunk" if found.chunks == 1 else f"{found.chunks:,} chunks",
    }
    return render(request, "sessions/record.html", context)


def _record_facts(found: Session) -> dict[str, object]:
    verdict = "" if found.verified_at is None else "broken" if found.problem else "verified"
    sound = "Every chunk opens, the chain is unbroken and ends at the stored head."
    return {
        "verified": verdict,
        "message": found.problem or (sound if verdict else ""),
        "verified_at": found.verified_at,
        "first_bad": found.bad_chunk,
        "key_id": found.workspace_id,
        "key_version": found.key.version,
        "chunk_count": found.chunks,
        "sealed_bytes": sessions.sealed_bytes(found),
    }


def _generation(generation: sessions.Generation) -> dict[str, object]:
    first = generation.number == 1
    return {
        "number": generation.number,
        "ingested_at": generation.ingested_at,
        "events": generation.events,
        "raw_bytes": generation.raw_bytes,
        "head_hash": generation.head_hash,
        "is_current": generation.is_current,
        "url": reverse("sessions:session", args=[generation.uid]),
        "reason": "first reading" if first else "the source was rewritten",
    }


@require_POST
@signed_in
def verify_now(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    if found.raw_bytes > VERIFY_AT_ONCE:
        arguments: dict[str, object] = {"session": str(uid)}
        job(
            "verify.session",
            user=person(request),
            workspace_id=found.workspace_id,
            arguments=arguments,
        )
        messages.info(request, "This session is large: it is being verified as a job.")
        return redirect("jobs:list")
    verdict = verify.session(found)
    sessions.keep_verdict(found, verdict.problem, verdict.bad_chunk, timezone.now())
    if verdict.is_sound:
        messages.success(request, "Verified: the record is what was written.")
    else:
        messages.error(request, f"Verification failed: {verdict.problem}.")
    return redirect("sessions:record", uid)


@require_safe
@signed_in
def export(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """The bytes as they came. Streamed: a session may be larger than memory."""
    found = sessions.session_for(person(request), uid)
    pieces = read.stream(found)
    body = _async(pieces) if isinstance(request, ASGIRequest) else pieces
    return StreamingHttpResponse(
        body,
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="session-{found.uid}.jsonl"',
            "Content-Length": str(found.raw_bytes),
        },
    )


async def _async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Django would read a plain iterator to its end before it sends the first byte."""
    step = sync_to_async(lambda: next(pieces, None))
    while (piece := await step()) is not None:
        yield piece
