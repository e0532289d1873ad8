"""Pages about sessions: the greeting, one session's raw lines and record."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from sessions_app.domain import hostile
from sessions_app.models import Session
from sessions_app.models.people import Role
from sessions_app.renderings.pen import Pen
from sessions_app.store import read, sessions, verify
from sessions_app.web.access import current, may_ingest, person, signed_in
from sessions_app.web.enqueue import job
from sessions_app.web.query import number
from sessions_app.web.transcript import faces, hexadecimal
from sessions_app.web.transcript.desk import Desk, entry_of

RAW_TEXT = 64 * 1024
RAW_HEX = 4 * 1024
CHUNKS = 100
# Above this, verifying in the request would keep a person waiting: it becomes a job.
VERIFY_AT_ONCE = 64 * 1024 * 1024
INGEST_COMMAND = ".venv/bin/python manage.py ingest ~/.claude/projects"


def ways_in(request: HttpRequest) -> dict[str, object]:
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
    return render(request, "sessions/welcome.html", ways_in(request))


@require_safe
@signed_in
def raw(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    seq = number(request, "seq")
    line = read.event(found, seq, shown=RAW_TEXT)
    text = line.raw.decode("utf-8", "replace")
    link = reverse("sessions:raw", args=[uid])
    shown = faces.face(line, entry_of(line), Desk(base="", pen=Pen()))
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "event": {
            "seq": seq,
            "label": shown.label,
            "size": line.length,
            "at": line.at,
            "hidden_count": hostile.count(text),
        },
        "text": text,
        "truncated": line.is_cut,
        "hex_rows": hexadecimal.rows(line.raw[:RAW_HEX]),
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
