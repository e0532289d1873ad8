"""Sessions as pages ask for them: the list, one for a person, its facts opened."""

import base64
import binascii
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Func, IntegerField, Q, QuerySet, Sum

from sessions_app.domain.errors import BadInput, NotFound
from sessions_app.models import Chunk, Session, Source, User, Workspace
from sessions_app.store import facts, keys
from sessions_app.store.tip import key_row

PAGE = 50
RUNNING_WITHIN = timedelta(minutes=5)
IDLE_WITHIN = timedelta(hours=24)
COUNT_LIMIT = 1000
_CURSOR = struct.Struct(">qq")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as a person sees it in a list or a header."""

    id: UUID
    title: str
    agent: str
    format: str
    project: str
    machine: str
    source_path: str
    status: str
    started_at: datetime | None
    last_at: datetime | None
    ingested_at: datetime
    events: int
    prompts: int
    errors: int
    unreadable: int
    raw_bytes: int
    chunks: int
    generation: int
    is_incomplete: bool
    head_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: tuple[SessionRow, ...]
    older: str | None
    newer: str | None


def session_for(user: User, uid: UUID) -> Session:
    """The one door to a session: a stranger's id is as absent as one that never was."""
    found = (
        Session.objects.select_related("key", "workspace")
        .filter(uid=uid, workspace__memberships__user=user)
        .first()
    )
    if found is None:
        raise NotFound("There is no such session, or it belongs to a workspace you are not in.")
    return found


def row(session_id: int) -> Session:
    return Session.objects.select_related("key").get(id=session_id)


def by_uid(uid: UUID) -> Session:
    found = Session.objects.select_related("key").filter(uid=uid).first()
    if found is None:
        raise NotFound(f"no session {uid}")
    return found


def uid_of(session_id: int) -> UUID:
    uid: UUID = Session.objects.values_list("uid", flat=True).get(id=session_id)
    return uid


def page(workspace: Workspace, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """Newest first. `after` and `before` are cursors of an earlier page."""
    rows = Session.objects.select_related("key").filter(workspace=workspace)
    now = datetime.now(UTC)
    if before:
        found = list(_newer_than(rows, before)[: size + 1])
        has_more = len(found) > size
        found = found[:size][::-1]
        older, newer = True, has_more
    else:
        found = list(_older_than(rows, after)[: size + 1])
        older, newer = len(found) > size, bool(after)
        found = found[:size]
    return Page(
        rows=tuple(shown(item, now=now) for item in found),
        older=_cursor(found[-1]) if found and older else None,
        newer=_cursor(found[0]) if found and newer else None,
    )


def _older_than(rows: QuerySet[Session], cursor: str) -> QuerySet[Session]:
    if cursor:
        at, number = _moment(cursor)
        rows = rows.filter(Q(sort_at__lt=at) | Q(sort_at=at, id__lt=number))
    return rows.order_by("-sort_at", "-id")


def _newer_than(rows: QuerySet[Session], cursor: str) -> QuerySet[Session]:
    at, number = _moment(cursor)
    newer = rows.filter(Q(sort_at__gt=at) | Q(sort_at=at, id__gt=number))
    return newer.order_by("sort_at", "id")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _cursor(session: Session) -> str:
    micros = (session.sort_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(_CURSOR.pack(micros, session.id)).decode().rstrip("=")


def _moment(cursor: str) -> tuple[datetime, int]:
    try:
        micros, number = _CURSOR.unpack(base64.urlsafe_b64decode(cursor + "=="))
        return _EPOCH + timedelta(microseconds=micros), number
    except (ValueError, binascii.Error, struct.error, OverflowError):
        raise BadInput("That page marker is damaged: go back to the first page.") from None


def count_label(workspace: Workspace) -> str:
    """An honest count: exact while that is cheap, a floor above."""
    number = Session.objects.filter(workspace=workspace).order_by()[: COUNT_LIMIT + 1].count()
    if number > COUNT_LIMIT:
        return f"{COUNT_LIMIT:,}+ sessions"
    return "1 session" if number == 1 else f"{number:,} sessions"


def has_any(workspace: Workspace) -> bool:
    return Session.objects.filter(workspace=workspace).exists()


def shown(session: Session, *, now: datetime) -> SessionRow:
    key = keys.session_key(key_row(session), workspace_id=session.workspace_id, uid=session.uid)
    known = facts.opened(key, session)
    return SessionRow(
        id=session.uid,
        # A log without a prompt is known by its file.
        title=known.title or known.path.rpartition("/")[2] or "Untitled session",
        agent=session.agent,
        format=session.format,
        project=known.project,
        machine=known.machine,
        source_path=known.path,
        status=status(session, now),
        started_at=session.started_at,
        last_at=session.last_at,
        ingested_at=session.ingested_at,
        events=session.events,
        prompts=session.prompts,
        errors=session.errors,
        unreadable=session.unreadable,
        raw_bytes=session.raw_bytes,
        chunks=session.chunks,
        generation=session.generation,
        is_incomplete=session.tail_bytes > 0,
        head_hash=bytes(session.head_hash).hex(),
    )


def status(session: Session, now: datetime) -> str:
    """Inferred from the log alone: agents that say more will be believed more."""
    if session.archived_at:
        return "archived"
    quiet = now - session.sort_at
    if session.last_at is not None and quiet < RUNNING_WITHIN:
        return "running"
    return "idle" if quiet < IDLE_WITHIN else "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRow:
    no: int
    lines: int
    first_seq: int
    raw_len: int
    sealed_len: int
    hash: str


def chunk_rows(session: Session, *, start: int, size: int) -> list[ChunkRow]:
    """Without the sealed bytes themselves: only their length leaves the database."""
    rows = (
        Chunk.objects.filter(session_id=session.id, no__gte=start, no__lt=start + size)
        .annotate(sealed_len=_sealed_len())
        .order_by("no")
        .values_list("no", "lines", "first_seq", "raw_len", "sealed_len", "hash")
    )
    return [
        ChunkRow(
            no=no,
            lines=lines,
            first_seq=seq,
            raw_len=raw,
            sealed_len=sealed,
            hash=bytes(link).hex(),
        )
        for no, lines, seq, raw, sealed, link in rows
    ]


def sealed_bytes(session: Session) -> int:
    rows = Chunk.objects.filter(session_id=session.id)
    return rows.aggregate(n=Sum(_sealed_len()))["n"] or 0


def _sealed_len() -> Func:
    return Func("sealed", function="octet_length", output_field=IntegerField())


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    uid: UUID
    number: int
    ingested_at: datetime
    events: int
    raw_bytes: int
    head_hash: str
    is_current: bool


def generations(session: Session) -> list[Generation]:
    """All readings of the place this session came from; one means it was never rewritten."""
    place = Source.objects.filter(session_id=session.id).values("place_key")
    rows = Session.objects.filter(
        workspace_id=session.workspace_id, source__place_key__in=place
    ).order_by("generation")
    return [
        Generation(
            uid=row.uid,
            number=row.generation,
            ingested_at=row.ingested_at,
            events=row.events,
            raw_bytes=row.raw_bytes,
            head_hash=bytes(row.head_hash).hex(),
            is_current=row.id == session.id,
        )
        for row in rows
    ]


def in_workspace(workspace_id: UUID) -> Iterator[Session]:
    rows = Session.objects.select_related("key").filter(workspace_id=workspace_id).order_by("id")
    return rows.iterator(chunk_size=500)


def number_in(workspace_id: UUID) -> int:
    return Session.objects.filter(workspace_id=workspace_id).count()


def keep_verdict(session: Session, problem: str, bad_chunk: int | None, now: datetime) -> None:
    Session.objects.filter(id=session.id).update(
        verified_at=now, problem=problem[:300], bad_chunk=bad_chunk
    )
