"""A prepared batch into the database: one transaction, under the lock of its session."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from psycopg import Copy
from psycopg.errors import ForeignKeyViolation

from sessions_app import formats
from sessions_app.domain import failpoints
from sessions_app.domain.errors import NotFound
from sessions_app.models import Call, Chunk, Event, Session, SessionKey, Source
from sessions_app.models.record import Part
from sessions_app.store import browse, chunks, facets, facts, keys, live, tally, vocabulary
from sessions_app.store.append import Batch
from sessions_app.store.browse import Changed, Stored
from sessions_app.store.chunks import SealedChunk
from sessions_app.store.facets import Facets
from sessions_app.store.facts import Facts
from sessions_app.store.tip import Tip, seconds_of
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
    facets: Facets
    # The hash of the last chunk that will not grow any more.
    full: bytes

    @property
    def batch(self) -> Batch:
        return self.entry.batch

    @property
    def head(self) -> bytes:
        return self.chunks[-1].hash

    @property
    def session_id(self) -> int:
        return self.batch.before.session_id


def write(batch: Batch, source: SourceState, *, now: datetime) -> None:
    """Everything or nothing. Raises `Moved` if the session is not where the batch began."""
    if together([Entry(batch=batch, source=source)], now=now):
        raise Moved


def together(entries: list[Entry], *, now: datetime) -> list[Entry]:
    """Batches of different sessions in one transaction, because many logs are small. Returns
    those whose session somebody else moved: the others are written all the same."""
    sealed = [_sealed(entry) for entry in entries]
    failpoints.hit("write.sealed")
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
            learned = _learned(sealed)
            _create(new, now)
            stored = {
                one.session_id: _grow(one, now) for one in sealed if one.batch.before.new is None
            }
            failpoints.hit("write.placed")
            _put(sealed)
            browse.keep([_changed(one, stored) for one in sealed])
            grown = [place for place, words in learned.items() if vocabulary.add(place, words)]
            live.tell(_grown(sealed))
            failpoints.hit("write.complete")
    except IntegrityError as error:
        if isinstance(error.__cause__, ForeignKeyViolation):
            raise NotFound("the workspace of this session is gone") from None
        # Only a new session can meet one: another appender created the same source first.
        if not new:
            raise
        raise Moved from None
    failpoints.hit("write.committed")
    for one in sealed:
        one.batch.links.full, one.batch.links.head = one.full, one.head
        one.batch.learned.blinder.keep(one.batch.learned.upto)
    for workspace_id in grown:
        vocabulary.join(workspace_id)


def _learned(sealed: list[_Sealed]) -> dict[UUID, list[bytes]]:
    """Words nobody has kept yet. Those of an outdated vocabulary were learned too early: what it
    lost since would be missing, so their batches are prepared again."""
    last = {
        (one.batch.tip.workspace_id, one.batch.learned.blinder): one.batch.learned.upto
        for one in sorted(sealed, key=lambda one: one.batch.learned.upto)
    }
    out: dict[UUID, list[bytes]] = {}
    for (workspace_id, blinder), upto in last.items():
        if vocabulary.lock(workspace_id) != blinder.generation:
            keys.forget_blinders()
            raise Moved
        out.setdefault(workspace_id, []).extend(blinder.not_kept(upto))
    return out


def _changed(sealed: _Sealed, stored: dict[int, Stored]) -> Changed:
    return Changed(
        session_id=sealed.session_id,
        workspace_id=sealed.batch.tip.workspace_id,
        events=sealed.batch.tip.counts.events,
        facets=sealed.facets,
        before=stored.get(sealed.session_id, browse.NEW),
        is_last=sealed.batch.is_last,
    )


def _grown(sealed: list[_Sealed]) -> list[live.Grown]:
    """Those that somebody may be looking at: a new one nobody has open yet."""
    tips = [one.batch.tip for one in sealed if one.batch.before.new is None]
    return [live.Grown(uid=tip.uid, events=tip.counts.events) for tip in tips]


def _room_to_merge() -> None:
    """Merging the pending list of the index goes over it in steps of this size."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64MB'")


def merge_index() -> None:
    """What came lately waits beside the index, and every search reads through all of it: a few
    megabytes there cost more than the search. Without anything waiting this takes no time."""
    with transaction.atomic():
        _room_to_merge()
        with connection.cursor() as cursor:
            cursor.execute("SELECT gin_clean_pending_list('chunk_terms')")


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
    return _Sealed(entry=entry, chunks=sealed, full=previous, facets=_facets(batch))


def _facets(batch: Batch) -> Facets:
    tip = batch.tip
    return facets.of_session(
        tip.workspace_id,
        agent=tip.agent,
        fmt=tip.format,
        part=part_of(tip.format, tip.facts),
        counts=tip.counts,
        told=tip.facts,
        tail_bytes=batch.tail_bytes,
    )


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


def _grow(sealed: _Sealed, now: datetime) -> Stored:
    """Under the lock of the session: its last chunk and an incomplete last line are replaced."""
    batch = sealed.batch
    session_id = batch.before.session_id
    stored = _lock(batch)
    Session.objects.filter(id=session_id).update(**_session_values(sealed, now))
    Source.objects.filter(session_id=session_id).update(**_source_values(sealed.entry.source, now))
    failpoints.hit("write.source")
    Chunk.objects.filter(session_id=session_id, no__gte=sealed.chunks[0].place.no).delete()
    for table in (Event, Call):
        table.objects.filter(session_id=session_id, seq__gte=batch.first_seq).delete()
    tally.drop_usage(_change(sealed))
    return stored


def _change(sealed: _Sealed) -> tally.Change:
    return tally.Change(
        workspace_id=sealed.batch.tip.workspace_id,
        session_id=sealed.session_id,
        since=sealed.batch.first_seq,
    )


def _lock(batch: Batch) -> Stored:
    before = batch.before
    row = (
        Session.objects.select_for_update(no_key=True)
        .filter(id=before.session_id)
        .values_list("raw_bytes", "head_hash", "facets", "totals_events")
        .first()
    )
    if row is None or row[0] != before.stored_bytes or bytes(row[1]) != batch.links.head:
        raise Moved
    return Stored(facets=row[2], totals_events=row[3])


def _put(sealed: list[_Sealed]) -> None:
    with _copying(_CHUNK_COPY) as copy:
        copy.write(_SIGNATURE)
        for one in sealed:
            for chunk in one.chunks:
                for part in _chunk_row(one.batch.before.session_id, chunk):
                    copy.write(part)
        copy.write(_TRAILER)
    failpoints.hit("write.chunks")
    event_rows(b"".join(one.batch.event_rows for one in sealed))
    usage_rows(b"".join(one.batch.usage_rows for one in sealed))
    call_rows(b"".join(one.batch.call_rows for one in sealed))
    ties(
        [
            (one.batch.before.session_id, kind, key, one.batch.tip.workspace_id)
            for one in sealed
            for kind, key in one.batch.ties
        ]
    )
    tally.note(_change(one) for one in sealed)
    for one in sealed:
        tally.settle(one.batch.tip.workspace_id, one.batch.ties)


@contextmanager
def _copying(statement: str) -> Iterator[Copy]:
    """Django turns the driver's errors into its own everywhere but here: a full disk is met by a
    copy first, and must be known for one."""
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        yield copy


def event_rows(rows: bytes) -> None:
    """Rows as the projector packs them."""
    _copy(_EVENT_COPY, rows)


def usage_rows(rows: bytes) -> None:
    _copy(_USAGE_COPY, rows)


def call_rows(rows: bytes) -> None:
    _copy(_CALL_COPY, rows)


def _copy(statement: str, rows: bytes) -> None:
    if rows:
        with _copying(statement) as copy:
            copy.write(_SIGNATURE + rows + _TRAILER)


def ties(rows: list[tuple[int, int, int, UUID]]) -> None:
    """A log names the same ids over and over: each is kept once."""
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_tie (session_id, kind, key, workspace_id)"
            " SELECT * FROM unnest(%s::bigint[], %s::smallint[], %s::bigint[], %s::uuid[])"
            " ON CONFLICT DO NOTHING",
            columns,
        )


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
        "seconds": seconds_of(counts),
        "ending": tip.facts.ending,
        **sealed.facets.columns(),
        "raw_bytes": tip.stored_bytes,
        "tail_bytes": batch.tail_bytes,
        "chunks": tip.chunks,
        "head_hash": tip.stored_head,
        "head_mark": head_mark(tip, batch.tail_bytes),
        "part": part_of(tip.format, tip.facts),
    }
    # A log without times is as old as its file says; without that, as old as its arrival.
    if counts.last_at is not None or source.mtime_ns:
        values["sort_at"] = counts.last_at or min(_moment(source.mtime_ns), now)
    return values


def part_of(fmt: str, told: Facts) -> Part:
    if formats.BY_NAME[fmt].is_side:
        return Part.SIDE
    return Part.SUBAGENT if told.is_subagent else Part.MAIN


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
_USAGE_COPY = (
    'COPY sessions_app_usage (session_id, seq, no, key, "at", model, provider, input, output,'
    " cache_read, cache_write, cache_write_1h, reasoning, cost, reported, priced_on)"
    " FROM STDIN WITH (FORMAT BINARY)"
)
_CALL_COPY = (
    "COPY sessions_app_call (session_id, seq, no, key, tool, is_result, is_error)"
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
