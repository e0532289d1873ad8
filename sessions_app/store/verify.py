"""Is the record what was written? Walks a session's chain and names the first thing that is not."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from sessions_app.domain.errors import BrokenRecord, IntegrityError, KeyUnavailable
from sessions_app.models import Chunk, Session
from sessions_app.store import chunks, facts
from sessions_app.store.chunks import Owner
from sessions_app.store.tip import mark_of, owner_of, place_of
from sessions_app.vault import chain

TRIES = 5

# The first event row that is not where the bytes of its line are; seq is null where rows are
# missing at the end.
_STRAY_EVENT = """
    SELECT coalesce(min(e.seq), %(events)s), count(*) FROM (
        SELECT seq, chunk, start, length, row_number() OVER w - 1 AS nth,
               sum(length) OVER w - length AS begins
        FROM sessions_app_event WHERE session_id = %(id)s WINDOW w AS (ORDER BY seq)
    ) e LEFT JOIN sessions_app_chunk c ON c.session_id = %(id)s AND c.no = e.chunk
    WHERE c.no IS NULL OR e.seq <> e.nth OR e.length < 1
       OR e.start NOT BETWEEN 0 AND c.raw_len - 1 OR c.first_byte + e.start <> e.begins
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    uid: str
    is_sound: bool
    chunks: int
    raw_bytes: int
    head: str
    problem: str = ""
    bad_chunk: int | None = None


class _Broken(BrokenRecord):
    """What is wrong, and with which chunk."""

    def __init__(self, problem: str, chunk: int | None = None) -> None:
        super().__init__(problem)
        self.chunk = chunk


def session(row: Session) -> Verdict:
    """A session may grow while it is walked: what then does not fit is looked at again."""
    for _ in range(TRIES):
        verdict = _once(row)
        now = Session.objects.select_related("key").filter(id=row.id).first()
        if verdict.is_sound or now is None or _is_same(row, now):
            break
        row = now
    return verdict


def _is_same(row: Session, now: Session) -> bool:
    return (row.raw_bytes, bytes(row.head_hash)) == (now.raw_bytes, bytes(now.head_hash))


def _once(row: Session) -> Verdict:
    problem, bad = "", None
    try:
        held = owner_of(row)
        facts.opened(held.key, row)
        for _ in sound_chunks(row, held):
            pass
        _check_events(row)
    except _Broken as broken:
        problem, bad = broken.message, broken.chunk
    except (IntegrityError, KeyUnavailable) as error:
        problem = error.message
    return Verdict(
        uid=str(row.uid),
        is_sound=not problem,
        chunks=row.chunks,
        raw_bytes=row.raw_bytes,
        head=bytes(row.head_hash).hex(),
        problem=problem,
        bad_chunk=bad,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """What the walk has seen so far."""

    no: int = 0
    head: bytes = chain.GENESIS
    byte: int = 0
    seq: int = 0


def sound_chunks(row: Session, held: Owner) -> Iterator[tuple[int, bytes]]:
    """Number and raw bytes of every chunk, each checked before it is handed out, and at last the
    head. Raises at the first thing that is not as it was written."""
    end = _End()
    for chunk in _chunks(row):
        _check_link(row, chunk, end)
        try:
            raw = chunks.opened(held, place_of(chunk), bytes(chunk.sealed))
        except IntegrityError as error:
            raise _Broken(error.message, end.no) from None
        yield end.no, raw
        end = _End(
            no=end.no + 1,
            head=bytes(chunk.hash),
            byte=end.byte + chunk.raw_len,
            seq=end.seq + chunk.lines,
        )
    _check_head(row, held, end)


def _check_link(row: Session, chunk: Chunk, end: _End) -> None:
    name = f"chunk {end.no} of session {row.uid}"
    if chunk.no != end.no:
        raise _Broken(f"{name} is missing", end.no)
    if not chain.same(bytes(chunk.previous), end.head):
        raise _Broken(f"{name} does not follow the chunk before it", end.no)
    if not chain.same(bytes(chunk.hash), chain.link(end.head, bytes(chunk.sealed))):
        raise _Broken(f"{name} is not the bytes its hash was made of", end.no)
    if chunk.first_byte != end.byte or chunk.first_seq != end.seq:
        raise _Broken(f"{name} does not begin where the chunk before it ends", end.no)


def _chunks(row: Session) -> Iterator[Chunk]:
    rows = Chunk.objects.filter(session_id=row.id).order_by("no").defer("terms")
    return rows.iterator(chunk_size=16)


def _check_head(row: Session, held: Owner, end: _End) -> None:
    if end.no < row.chunks:
        raise _Broken(f"chunk {end.no} of session {row.uid} is missing at its end", end.no)
    if end.no > row.chunks:
        raise _Broken(f"chunk {row.chunks} of session {row.uid} was added", row.chunks)
    if not chain.same(end.head, bytes(row.head_hash)) or end.byte != row.raw_bytes:
        raise _Broken(f"the head of session {row.uid} is not the hash of its last chunk")
    if not chain.same(mark_of(row, held.key), bytes(row.head_mark)):
        raise _Broken(f"the head of session {row.uid} was changed: its mark does not fit")


def _check_events(row: Session) -> None:
    """Event rows are a projection; that each points at its own line is still checked."""
    with connection.cursor() as cursor:
        cursor.execute(_STRAY_EVENT, {"id": row.id, "events": row.events})
        first, strays = cursor.fetchone()
        cursor.execute(
            "SELECT count(*), coalesce(sum(length), 0) FROM sessions_app_event"
            " WHERE session_id = %s",
            [row.id],
        )
        number, size = cursor.fetchone()
    if strays or number != row.events or size != row.raw_bytes:
        raise _Broken(
            f"event row {first} of session {row.uid} does not fit its bytes: "
            "run `manage.py reproject` on it"
        )
