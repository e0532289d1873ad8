"""A prepared batch into the database: one transaction, under the lock of its session."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from psycopg.errors import ForeignKeyViolation

from sessions_app.domain.errors import NotFound
from sessions_app.models import Chunk, Event, Session, SessionKey, Source
from sessions_app.store import chunks, facts
from sessions_app.store.append import Batch
from sessions_app.store.chunks import SealedChunk
from sessions_app.store.tip import Tip
from sessions_app.vault import chain
from sessions_app.vault.terms import number_of

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_CHUNK_HEAD = struct.Struct(">hiqiiiiiiiqii")
_CHUNK_FIELDS = 10
_INT4 = 23


class Moved(Exception):
    """Somebody else appended first. Load the tip again and go on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """How far a source was read, and by what it will be known again."""

    size: int
    mtime_ns: int
    head_len: int
    head_key: bytes
    tail_len: int
    tail_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A batch and how far its source was read with it."""

    batch: Batch
    source: SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sealed:
    entry: Entry
    chunks: list[SealedChunk]
    # The hash of the last chunk that will not grow any more.
    full: bytes

    @property
    def batch(self) -> Batch:
        return self.entry.batch

    @property
    def head(self) -> bytes:
        return self.chunks[-1].hash


def write(batch: Batch, source: SourceState, *, now: datetime) -> None:
    """Everything or nothing. Raises `Moved` if the session is not where the batch began."""
    if together([Entry(batch=batch, source=source)], now=now):
        raise Moved


def together(entries: list[Entry], *, now: datetime) -> list[Entry]:
    """Batches of different sessions in one transaction, because many logs are small. Returns
    those whose session somebody else moved: the others are written all the same."""
    sealed = [_sealed(entry) for entry in entries]
    try:
        _commit(sealed, now)
    except Moved:
        if len(sealed) == 1:
            return entries
        return [one.entry for one in sealed if not _is_written(one, now)]
    return []


def _is_written(sealed: _Sealed, now: datetime) -> bool:
    try:
        _commit([sealed], now)
    except Moved:
        return False
    return True


def _commit(sealed: list[_Sealed], now: datetime) -> None:
    new = [one for one in sealed if one.batch.before.new is not None]
    try:
        with transaction.atomic():
            _room_to_merge()
            _create(new, now)
            for one in sealed:
                if one.batch.before.new is None:
                    _grow(one, now)
            _put(sealed)
    except IntegrityError as error:
        if isinstance(error.__cause__, ForeignKeyViolation):
            raise NotFound("the workspace of this session is gone") from None
        # Only a new session can meet one: another appender created the same source first.
        if not new:
            raise
        raise Moved from None
    for one in sealed:
        one.batch.links.full, one.batch.links.head = one.full, one.head


def _room_to_merge() -> None:
    """Merging the pending list of the index goes over it in steps of this size."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64MB'")


def _sealed(entry: Entry) -> _Sealed:
    """Here and not where the batch is prepared: compressing and sealing run beside the next
    batch's parsing, because they do not hold the interpreter."""
    batch = entry.batch
    previous = batch.links.full
    sealed = []
    for raw in batch.chunks:
        place = raw.after(previous)
        sealed.append(chunks.sealed(batch.tip.owner, place, raw.raw, raw.terms))
        if raw.is_full:
            previous = sealed[-1].hash
    return _Sealed(entry=entry, chunks=sealed, full=previous)


def _create(sealed: list[_Sealed], now: datetime) -> None:
    Session.objects.bulk_create([_session_row(one, now) for one in sealed])
    made = [(one, one.batch.before.new) for one in sealed]
    SessionKey.objects.bulk_create(
        SessionKey(session_id=one.batch.tip.session_id, version=new.version, wrapped=new.wrapped)
        for one, new in made
        if new is not None
    )
    Source.objects.bulk_create(
        Source(
            session_id=one.batch.tip.session_id,
            workspace_id=one.batch.tip.workspace_id,
            place_key=new.place_key,
            generation=new.generation,
            **_source_values(one.entry.source, now),
        )
        for one, new in made
        if new is not None
    )


def _session_row(sealed: _Sealed, now: datetime) -> Session:
    tip, new = sealed.batch.tip, sealed.batch.before.new
    return Session(
        id=tip.session_id,
        uid=tip.uid,
        workspace_id=tip.workspace_id,
        agent=tip.agent,
        generation=new.generation if new else 1,
        ingested_at=now,
        **{"sort_at": now, **_session_values(sealed, now)},
    )


def _grow(sealed: _Sealed, now: datetime) -> None:
    """Under the lock of the session: its last chunk and an incomplete last line are replaced."""
    batch = sealed.batch
    session_id = batch.before.session_id
    _lock(batch)
    Session.objects.filter(id=session_id).update(**_session_values(sealed, now))
    Source.objects.filter(session_id=session_id).update(**_source_values(sealed.entry.source, now))
    Chunk.objects.filter(session_id=session_id, no__gte=sealed.chunks[0].place.no).delete()
    Event.objects.filter(session_id=session_id, seq__gte=batch.first_seq).delete()


def _lock(batch: Batch) -> None:
    before = batch.before
    row = (
        Session.objects.select_for_update(no_key=True)
        .filter(id=before.session_id)
        .values_list("raw_bytes", "head_hash")
        .first()
    )
    if row is None or row[0] != before.stored_bytes or bytes(row[1]) != batch.links.head:
        raise Moved


def _put(sealed: list[_Sealed]) -> None:
    with connection.cursor() as cursor, cursor.copy(_CHUNK_COPY) as copy:
        copy.write(_SIGNATURE)
        for one in sealed:
            for chunk in one.chunks:
                for part in _chunk_row(one.batch.before.session_id, chunk):
                    copy.write(part)
        copy.write(_TRAILER)
    event_rows(b"".join(one.batch.event_rows for one in sealed))


def event_rows(rows: bytes) -> None:
    """Rows as the projector packs them."""
    with connection.cursor() as cursor, cursor.copy(_EVENT_COPY) as copy:
        copy.write(_SIGNATURE + rows + _TRAILER)


def _session_values(sealed: _Sealed, now: datetime) -> dict[str, Any]:
    batch, source = sealed.batch, sealed.entry.source
    tip = replace(batch.tip, stored_head=sealed.head)
    counts = tip.counts
    values: dict[str, Any] = {
        "format": tip.format,
        "sealed_facts": facts.sealed(
            tip.owner.key, tip.facts, workspace_id=tip.workspace_id, uid=tip.uid
        ),
        "started_at": counts.started_at,
        "last_at": counts.last_at,
        "events": counts.events,
        "prompts": counts.prompts,
        "errors": counts.errors,
        "unreadable": counts.unreadable,
        "raw_bytes": tip.stored_bytes,
        "tail_bytes": batch.tail_bytes,
        "chunks": tip.chunks,
        "head_hash": tip.stored_head,
        "head_mark": head_mark(tip, batch.tail_bytes),
    }
    # A log without times is as old as its file says; without that, as old as its arrival.
    if counts.last_at is not None or source.mtime_ns:
        values["sort_at"] = counts.last_at or min(_moment(source.mtime_ns), now)
    return values


def _source_values(source: SourceState, now: datetime) -> dict[str, Any]:
    return {
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "head_len": source.head_len,
        "head_key": source.head_key,
        "tail_len": source.tail_len,
        "tail_key": source.tail_key,
        "seen_at": now,
    }


def _moment(mtime_ns: int) -> datetime:
    return datetime.fromtimestamp(max(mtime_ns, 0) // 1_000_000_000, tz=UTC)


def head_mark(tip: Tip, tail_bytes: int) -> bytes:
    return chain.head_mark(
        tip.owner.key,
        str(tip.workspace_id),
        str(tip.uid),
        tip.chunks,
        tip.counts.events,
        tip.stored_bytes,
        tail_bytes,
        tip.stored_head,
    )


_CHUNK_COPY = (
    "COPY sessions_app_chunk (session_id, no, first_seq, lines, first_byte, raw_len, previous,"
    " hash, sealed, terms) FROM STDIN WITH (FORMAT BINARY)"
)
_EVENT_COPY = (
    'COPY sessions_app_event (session_id, seq, chunk, start, length, "at", kind, flags, tool)'
    " FROM STDIN WITH (FORMAT BINARY)"
)


def _chunk_row(session_id: int, chunk: SealedChunk) -> Iterator[bytes]:
    place = chunk.place
    yield _CHUNK_HEAD.pack(
        _CHUNK_FIELDS, 8, session_id, 4, place.no, 4, place.first_seq, 4, place.lines,
        8, place.first_byte, 4, place.raw_len,
    )  # fmt: skip
    yield _bytea(place.previous) + _bytea(chunk.hash)
    yield len(chunk.sealed).to_bytes(4, "big")
    yield chunk.sealed
    yield _terms(chunk.terms)


def _bytea(raw: bytes) -> bytes:
    return len(raw).to_bytes(4, "big") + raw


def _terms(terms: bytes) -> bytes:
    """A one-dimensional int4[] in its binary form; the elements are already in theirs."""
    if not terms:
        return struct.pack(">iiii", 12, 0, 0, _INT4)
    return struct.pack(">iiiiii", 20 + len(terms), 1, 0, _INT4, number_of(terms), 1) + terms
