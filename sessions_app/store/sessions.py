"""Sessions as pages ask for them: one for a person, its facts opened, its chunks listed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Func, IntegerField, Q, QuerySet, Sum

from sessions_app.domain import lifecycle
from sessions_app.domain.errors import NotFound
from sessions_app.domain.lifecycle import Ending, Status
from sessions_app.models import Chunk, Session, Source, User, Workspace
from sessions_app.models.record import Part
from sessions_app.store import facts, keys, totals
from sessions_app.store.tip import key_row
from sessions_app.store.totals import Totals


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
    part: str
    cwd: str
    branch: str
    version: str
    model: str
    models: tuple[str, ...]
    seconds: int | None
    # None where the log does not say.
    tokens: int | None
    cost: int | None
    unpriced: int
    calls: int
    held: bool
    expires_at: datetime | None
    archived_at: datetime | None


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


def rows(session_ids: Iterable[int]) -> dict[int, Session]:
    found = Session.objects.select_related("key").filter(id__in=session_ids)
    return {row.id: row for row in found}


def locked(session_id: int) -> Session:
    """Nobody else appends to it until the end of the transaction."""
    rows = Session.objects.select_related("key").select_for_update(of=("self",), no_key=True)
    return rows.get(id=session_id)


def by_uid(uid: UUID) -> Session:
    found = Session.objects.select_related("key").filter(uid=uid).first()
    if found is None:
        raise NotFound(f"no session {uid}")
    return found


def uid_of(session_id: int) -> UUID:
    uid: UUID = Session.objects.values_list("uid", flat=True).get(id=session_id)
    return uid


def listed(workspace: Workspace) -> QuerySet[Session]:
    """Side files are shown with the session they belong to."""
    return Session.objects.filter(workspace=workspace, part__lt=Part.SIDE)


def neighbours(session: Session) -> tuple[UUID | None, UUID | None]:
    """The sessions before and after this one in the list."""
    rows, at = listed(session.workspace), session.sort_at
    newer = rows.filter(Q(sort_at__gt=at) | Q(sort_at=at, id__gt=session.id))
    older = rows.filter(Q(sort_at__lt=at) | Q(sort_at=at, id__lt=session.id))
    return (
        newer.order_by("sort_at", "id").values_list("uid", flat=True).first(),
        older.order_by("-sort_at", "-id").values_list("uid", flat=True).first(),
    )


def has_any(workspace: Workspace) -> bool:
    return Session.objects.filter(workspace=workspace).exists()


def facts_of(session: Session) -> facts.Facts:
    key = keys.session_key(key_row(session), workspace_id=session.workspace_id, uid=session.uid)
    return facts.opened(key, session)


def shown(
    session: Session,
    *,
    now: datetime,
    used: Totals | None = None,
    told: facts.Facts | None = None,
) -> SessionRow:
    """`used` is what was counted just now, for a session that grew since it was last counted;
    `told` are its facts, where somebody has opened them already."""
    known = told or facts_of(session)
    counted = used or _counted(session)
    return SessionRow(
        id=session.uid,
        # A log without a prompt is known by its file.
        title=known.title or known.path.rpartition("/")[2] or "Untitled session",
        agent=session.agent,
        format=session.format,
        project=facts.project_of(known),
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
        part=Part(session.part).name.lower(),
        cwd=known.cwd,
        branch=known.branch,
        version=known.version,
        model=known.model,
        models=tuple(known.models),
        seconds=session.seconds,
        tokens=counted.tokens,
        cost=counted.cost,
        unpriced=counted.unpriced,
        calls=counted.calls,
        held=session.held,
        expires_at=session.expires_at,
        archived_at=session.archived_at,
    )


def _counted(session: Session) -> Totals:
    if session.totals_events < session.events:
        return totals.of([session.id])[session.id]
    return Totals(
        tokens=session.tokens,
        cost=session.cost,
        unpriced=session.unpriced,
        calls=session.calls,
    )


def status(session: Session, now: datetime) -> Status:
    whose = lifecycle.turn(Ending(session.ending), is_timed=session.last_at is not None)
    quiet = now - session.sort_at
    return lifecycle.status(whose, quiet, is_archived=session.archived_at is not None)


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
