"""Derive a session's meaning anew from its bytes: event rows, terms, counts, title, format.

The sealed chunks stay as they are; only what was read out of them is replaced.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import connection, transaction

from sessions_app import formats
from sessions_app.domain.events import Flag
from sessions_app.models import Event, Session
from sessions_app.store import facts, keys, read, tip, verify, write
from sessions_app.store.append import oversized
from sessions_app.store.chunks import Owner
from sessions_app.store.project import Projector
from sessions_app.store.tip import Counts
from sessions_app.vault.terms import as_values

HEAD_BYTES = 256 * 1024
FLUSH_ROWS = 4 * 1024 * 1024


@transaction.atomic
def session(session_id: int, *, now: datetime) -> Counts:
    """Under the session's lock, so that an appender waits and then sees the new rows."""
    row = Session.objects.select_for_update(no_key=True).get(id=session_id)
    held = tip.vouched(row)
    fmt = _recognised(sessions_head(row))
    lines = Projector(
        session_id=session_id,
        fmt=fmt.name,
        blinder=keys.blinder(row.workspace_id),
        counts=Counts(),
        facts=replace(facts.opened(held.key, row), title=""),
        agent=fmt.agent,
        now=now,
    )
    Event.objects.filter(session_id=session_id).delete()
    _project(row, held, lines)
    return _kept(row, held, fmt, lines)


def sessions_head(row: Session) -> bytes:
    out = bytearray()
    for piece in read.stream(row):
        out += piece
        if len(out) >= HEAD_BYTES:
            break
    return bytes(out[:HEAD_BYTES])


def _recognised(head: bytes) -> formats.Format:
    return formats.recognise(head.split(b"\n")[: formats.HEAD_LINES])


@dataclass(slots=True)
class _Open:
    """A line that began in an earlier chunk."""

    chunk: int = 0
    start: int = 0
    length: int = 0
    held: bytearray | None = field(default_factory=bytearray)


def _project(row: Session, held: Owner, lines: Projector) -> None:
    waiting: _Open | None = None
    rows = bytearray()
    # Only what verifies is read: new rows over a forged record would lend it a fresh mark.
    for no, raw in verify.sound_chunks(row, held):
        lines.begin_chunk()
        is_last = no == row.chunks - 1
        waiting = _chunk(lines, no, raw, waiting, is_last)
        if waiting is not None and is_last:
            text = bytes(waiting.held or b"") if waiting.chunk == no else None
            _ended(lines, waiting, text, Flag.INCOMPLETE.value)
        _put_terms(row, no, lines.chunk_terms())
        rows += lines.take_rows()
        if len(rows) >= FLUSH_ROWS:
            write.event_rows(bytes(rows))
            rows.clear()
    write.event_rows(bytes(rows))


def _chunk(
    lines: Projector, no: int, raw: bytes, waiting: _Open | None, is_last: bool
) -> _Open | None:
    at = 0
    while at < len(raw):
        cut = raw.find(b"\n", at) + 1
        piece = raw[at : cut or len(raw)]
        if waiting is None and cut:
            lines.line(piece[:-1], no, at, len(piece))
        else:
            waiting = waiting or _Open(chunk=no, start=at)
            _grown(waiting, piece)
            # A line over several chunks is indexed as it passes, one that waits for its end not.
            if waiting.chunk < no or not is_last:
                lines.text(piece)
            if cut:
                _ended(lines, waiting, b"", 0)
                waiting = None
        at += len(piece)
    return waiting


def _grown(waiting: _Open, piece: bytes) -> None:
    waiting.length += len(piece)
    if waiting.held is not None:
        waiting.held += piece
        if waiting.length > formats.PARSE_LIMIT:
            waiting.held = None


def _ended(lines: Projector, waiting: _Open, text: bytes | None, flags: int) -> None:
    if waiting.held is None:
        reading, flags = oversized(), flags | Flag.OVERSIZED.value
    else:
        reading = lines.read(bytes(waiting.held))
    lines.reading(reading, text, waiting.chunk, waiting.start, waiting.length, flags)


def _put_terms(row: Session, no: int, terms: bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET terms = %s WHERE session_id = %s AND no = %s",
            [as_values(terms), row.id, no],
        )


def _kept(row: Session, held: Owner, fmt: formats.Format, lines: Projector) -> Counts:
    counts = lines.counts.frozen()
    row.events = counts.events
    sealed = facts.sealed(held.key, lines.facts, workspace_id=row.workspace_id, uid=row.uid)
    Session.objects.filter(id=row.id).update(
        format=fmt.name,
        agent=fmt.agent,
        sealed_facts=sealed,
        started_at=counts.started_at,
        last_at=counts.last_at,
        sort_at=counts.last_at or row.sort_at,
        events=counts.events,
        prompts=counts.prompts,
        errors=counts.errors,
        unreadable=counts.unreadable,
        head_mark=tip.mark_of(row, held.key),
    )
    return counts
