"""Is the record what was written? Walks a session's chain and names the first thing that is not."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Sum

from sessions_app.domain.errors import IntegrityError, KeyUnavailable
from sessions_app.models import Chunk, Event, Session
from sessions_app.store import chunks, read
from sessions_app.store.chunks import Owner
from sessions_app.store.tip import place_of
from sessions_app.vault import chain


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    uid: str
    is_sound: bool
    chunks: int
    raw_bytes: int
    head: str
    problem: str = ""
    bad_chunk: int | None = None


class _Broken(Exception):
    def __init__(self, problem: str, chunk: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.chunk = chunk


def session(row: Session) -> Verdict:
    problem, bad = "", None
    try:
        held = read.owner(row)
        _check_head(row, held, _walk(row, held))
        _check_events(row)
    except _Broken as broken:
        problem, bad = broken.problem, broken.chunk
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


@dataclass(slots=True, kw_only=True)
class _End:
    """What the walk has seen so far."""

    no: int = 0
    head: bytes = chain.GENESIS
    byte: int = 0
    seq: int = 0


def _walk(row: Session, held: Owner) -> _End:
    end = _End()
    for chunk in _chunks(row):
        name = f"chunk {end.no} of session {row.uid}"
        if chunk.no != end.no:
            raise _Broken(f"{name} is missing", end.no)
        if not chain.same(bytes(chunk.previous), end.head):
            raise _Broken(f"{name} does not follow the chunk before it", end.no)
        if not chain.same(bytes(chunk.hash), chain.link(end.head, bytes(chunk.sealed))):
            raise _Broken(f"{name} is not the bytes its hash was made of", end.no)
        if chunk.first_byte != end.byte or chunk.first_seq != end.seq:
            raise _Broken(f"{name} does not begin where the chunk before it ends", end.no)
        try:
            chunks.opened(held, place_of(chunk), bytes(chunk.sealed))
        except IntegrityError as error:
            raise _Broken(error.message, end.no) from None
        end = _End(
            no=end.no + 1,
            head=bytes(chunk.hash),
            byte=end.byte + chunk.raw_len,
            seq=end.seq + chunk.lines,
        )
    return end


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
    mark = chain.head_mark(
        held.key,
        str(row.workspace_id),
        str(row.uid),
        row.chunks,
        row.events,
        row.raw_bytes,
        row.tail_bytes,
        end.head,
    )
    if not chain.same(mark, bytes(row.head_mark)):
        raise _Broken(f"the head of session {row.uid} was changed: its mark does not fit")


def _check_events(row: Session) -> None:
    """Event rows are a projection; that they cover every byte is still checked."""
    seen = Event.objects.filter(session_id=row.id).aggregate(n=Count("*"), size=Sum("length"))
    if seen["n"] != row.events or (seen["size"] or 0) != row.raw_bytes:
        raise _Broken(
            f"the event rows of session {row.uid} do not cover its bytes: "
            "run `manage.py reproject` on it"
        )
