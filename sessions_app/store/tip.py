"""The end of a session's record: everything an appender must know to go on from there."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection

from sessions_app.domain.errors import BrokenRecord, NotFound
from sessions_app.domain.events import Flag
from sessions_app.models import Chunk, Event, Session, SessionKey
from sessions_app.store import chunks, facts, keys
from sessions_app.store.chunks import Owner
from sessions_app.store.facts import Facts
from sessions_app.vault import chain
from sessions_app.vault.seal import Key
from sessions_app.vault.terms import from_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    events: int = 0
    prompts: int = 0
    errors: int = 0
    unreadable: int = 0
    started_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChunk:
    """The last chunk, while it may still grow."""

    no: int
    first_seq: int
    first_byte: int
    raw: bytes
    terms: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """Rows to be written together with the first bytes."""

    wrapped: bytes
    version: int
    place_key: bytes
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    session_id: int
    owner: Owner
    agent: str
    format: str
    facts: Facts
    counts: Counts = field(default_factory=Counts)
    # What the session row must still say when the next batch is written.
    stored_bytes: int = 0
    stored_head: bytes = chain.GENESIS
    # Whole lines only: where the next byte goes.
    raw_bytes: int = 0
    chunks: int = 0
    previous: bytes = chain.GENESIS
    open: OpenChunk | None = None
    new: NewSession | None = None

    @property
    def uid(self) -> UUID:
        return self.owner.uid

    @property
    def workspace_id(self) -> UUID:
        return self.owner.workspace_id


def numbers(count: int) -> list[int]:
    """For so many sessions to come, with one question; what is not used is left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('sessions_app_session', 'id'))"
            " FROM generate_series(1, %s)",
            [count],
        )
        return [row[0] for row in cursor.fetchall()]


def start(
    *,
    session_id: int,
    workspace_id: UUID,
    fmt: str,
    agent: str,
    known: Facts,
    place_key: bytes,
    generation: int,
) -> Tip:
    """The tip of a session that does not exist yet. Nothing is written until its first batch."""
    uid = uuid4()
    made = keys.new_session_key(workspace_id, uid)
    return Tip(
        session_id=session_id,
        owner=Owner(workspace_id=workspace_id, uid=uid, key=made.key),
        agent=agent,
        format=fmt,
        facts=known,
        new=NewSession(
            wrapped=made.wrapped,
            version=made.version,
            place_key=place_key,
            generation=generation,
        ),
    )


def load(session_id: int) -> Tip:
    """The tip as stored, with an incomplete last line cut off: it will come again, whole."""
    row = Session.objects.select_related("key").filter(id=session_id).first()
    if row is None:
        raise NotFound("no such session")
    owner = vouched(row)
    tip = Tip(
        session_id=row.id,
        owner=owner,
        agent=row.agent,
        format=row.format,
        facts=facts.opened(owner.key, row),
        counts=_counts(row),
        stored_bytes=row.raw_bytes,
        stored_head=bytes(row.head_hash),
        raw_bytes=row.raw_bytes - row.tail_bytes,
        chunks=row.chunks,
        previous=bytes(row.head_hash),
    )
    if row.tail_bytes:
        counts = _without_tail(tip.counts, row.id)
        tip = replace(tip, counts=counts, facts=tip.facts.before_tail())
    return _reopened(tip)


def owner_of(row: Session) -> Owner:
    key = keys.session_key(key_row(row), workspace_id=row.workspace_id, uid=row.uid)
    return Owner(workspace_id=row.workspace_id, uid=row.uid, key=key)


def vouched(row: Session) -> Owner:
    """The owner of a record whose row is as it was last written. Whoever cut the record short
    without its key could not mark the new end, and nothing is read or added behind a false one."""
    owner = owner_of(row)
    if not chain.same(mark_of(row, owner.key), bytes(row.head_mark)):
        raise BrokenRecord(f"the head of session {row.uid} was changed: its mark does not fit")
    return owner


def mark_of(row: Session, key: Key) -> bytes:
    return chain.head_mark(
        key,
        str(row.workspace_id),
        str(row.uid),
        row.chunks,
        row.events,
        row.raw_bytes,
        row.tail_bytes,
        bytes(row.head_hash),
    )


def key_row(row: Session) -> SessionKey:
    try:
        return row.key
    except SessionKey.DoesNotExist:
        raise BrokenRecord(f"session {row.uid}: its key is gone, the record is shredded") from None


def seconds_of(counts: Counts) -> int | None:
    """From the first to the last time a log names."""
    if counts.started_at is None or counts.last_at is None:
        return None
    return int((counts.last_at - counts.started_at).total_seconds())


def _counts(row: Session) -> Counts:
    return Counts(
        events=row.events,
        prompts=row.prompts,
        errors=row.errors,
        unreadable=row.unreadable,
        started_at=row.started_at,
        last_at=row.last_at,
    )


def _without_tail(counts: Counts, session_id: int) -> Counts:
    last = Event.objects.filter(session_id=session_id, seq=counts.events - 1).first()
    if last is None:
        raise BrokenRecord("its event rows are damaged: run `manage.py reproject` on the session")
    return replace(
        counts,
        events=counts.events - 1,
        prompts=counts.prompts - bool(last.flags & Flag.PROMPT),
        errors=counts.errors - bool(last.flags & Flag.ERROR),
    )


def _reopened(tip: Tip) -> Tip:
    """Take the last chunk that holds whole lines back as open, if it still has room."""
    kept = (
        Chunk.objects.filter(session_id=tip.session_id, first_byte__lt=tip.raw_bytes)
        .order_by("-no")
        .first()
    )
    if kept is None:
        return replace(tip, chunks=0, previous=chain.GENESIS)
    whole = tip.raw_bytes - kept.first_byte
    if whole == kept.raw_len and kept.raw_len >= chunks.CHUNK_BYTES:
        return replace(tip, chunks=kept.no + 1, previous=bytes(kept.hash), open=None)
    raw = chunks.opened(tip.owner, place_of(kept), bytes(kept.sealed))
    opened = OpenChunk(
        no=kept.no,
        first_seq=kept.first_seq,
        first_byte=kept.first_byte,
        raw=raw[:whole],
        terms=from_values(kept.terms),
    )
    return replace(tip, chunks=kept.no, previous=bytes(kept.previous), open=opened)


def place_of(row: Chunk) -> chunks.Place:
    return chunks.Place(
        no=row.no,
        first_seq=row.first_seq,
        lines=row.lines,
        first_byte=row.first_byte,
        raw_len=row.raw_len,
        previous=bytes(row.previous),
    )
