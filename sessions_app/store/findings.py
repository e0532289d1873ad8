"""What is wrong with sources: raised once, settled when it is over. Their paths are sealed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from sessions_app.domain.errors import RecountError
from sessions_app.models import Finding, Session, Workspace
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import keys
from sessions_app.store.sources import Fingerprints
from sessions_app.vault import seal

LIST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    kind: FindingKind
    machine: str
    path: str
    message: str
    root_id: UUID | None = None
    # What a person reads, if the path alone does not say where.
    shown: str = ""
    session_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    id: int
    kind: str
    label: str
    path: str
    message: str
    first_at: datetime
    last_at: datetime
    times: int
    # The session it is about, if it is about one.
    session: UUID | None


def raised(workspace_id: UUID, found: Iterable[Found], *, now: datetime) -> set[bytes]:
    """Keep them, each open one once. Returns the keys of their places."""
    marks = Fingerprints(workspace_id)
    rows = [(one, marks.of_place(one.machine, one.path)) for one in found]
    with connection.cursor() as cursor:
        for one, place_key in rows:
            cursor.execute(_RAISE, _values(workspace_id, one, place_key, now))
    return {place_key for _, place_key in rows}


_RAISE = """
    INSERT INTO sessions_app_finding
        (workspace_id, root_id, session_id, kind, place_key, sealed_path, message, first_at,
         last_at, times)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 1)
    ON CONFLICT (workspace_id, place_key, kind) WHERE settled_at IS NULL
    DO UPDATE SET last_at = EXCLUDED.last_at, message = EXCLUDED.message,
                  root_id = EXCLUDED.root_id, session_id = EXCLUDED.session_id,
                  times = sessions_app_finding.times + 1
"""


def _values(workspace_id: UUID, one: Found, place_key: bytes, now: datetime) -> list[Any]:
    shown = (one.shown or one.path).encode("utf-8", "surrogateescape")
    sealed = seal.seal(_key(workspace_id), _where(workspace_id, one.kind, place_key), shown)
    return [
        workspace_id,
        one.root_id,
        one.session_id,
        one.kind.value,
        place_key,
        sealed,
        one.message[:300],
        now,
        now,
    ]


def _key(workspace_id: UUID) -> seal.Key:
    return seal.Key(seal.derive(keys.index_key(workspace_id), "finding"))


def _where(workspace_id: UUID, kind: str, place_key: bytes) -> bytes:
    return seal.place("finding", str(workspace_id), str(kind), place_key)


def settle_others(
    root_id: UUID, kinds: Collection[FindingKind], still: Collection[bytes], now: datetime
) -> int:
    """Everything of a watched folder was looked at: what was not found wrong again is over."""
    gone = Finding.objects.filter(root_id=root_id, settled_at=None, kind__in=kinds)
    return gone.exclude(place_key__in=still).update(settled_at=now)


def settle_place(
    workspace_id: UUID, place_key: bytes, kinds: Collection[FindingKind], now: datetime
) -> int:
    rows = Finding.objects.filter(workspace_id=workspace_id, place_key=place_key)
    return rows.filter(kind__in=kinds, settled_at=None).update(settled_at=now)


def settle_gone(workspace_id: UUID, kind: FindingKind, now: datetime) -> int:
    """The session it is about is no longer there."""
    rows = Finding.objects.filter(workspace_id=workspace_id, kind=kind, settled_at=None)
    there = Session.objects.filter(workspace_id=workspace_id).values("id")
    return rows.exclude(session_id__in=there).update(settled_at=now)


def settled_sessions(workspace_id: UUID, kind: FindingKind) -> set[int]:
    rows = Finding.objects.filter(workspace_id=workspace_id, kind=kind)
    numbers = rows.exclude(settled_at=None).values_list("session_id", flat=True)
    return {number for number in numbers if number is not None}


def settle(workspace: Workspace, finding_id: int, now: datetime) -> bool:
    return bool(_open(workspace).filter(id=finding_id).update(settled_at=now))


def settle_all(workspace: Workspace, now: datetime) -> int:
    return _open(workspace).update(settled_at=now)


def places(workspace_id: UUID, kind: FindingKind) -> set[bytes]:
    """Keys of the places of which this is to be said."""
    rows = Finding.objects.filter(workspace_id=workspace_id, kind=kind, settled_at=None)
    return {bytes(key) for key in rows.values_list("place_key", flat=True)}


def number_open(workspace: Workspace) -> int:
    return _open(workspace).count()


def latest(workspace: Workspace, kind: FindingKind | None = None) -> list[FindingRow]:
    rows = _open(workspace) if kind is None else _open(workspace).filter(kind=kind)
    some = list(rows.order_by("-last_at", "-id")[:LIST])
    numbers = [row.session_id for row in some if row.session_id is not None]
    uids = dict(Session.objects.filter(id__in=numbers).values_list("id", "uid")) if numbers else {}
    return [_row(row, uids.get(row.session_id or 0)) for row in some]


def in_every_workspace(kind: FindingKind) -> list[FindingRow]:
    return [row for place in Workspace.objects.order_by("id") for row in latest(place, kind)]


def _open(workspace: Workspace) -> QuerySet[Finding]:
    return Finding.objects.filter(workspace=workspace, settled_at=None)


def _row(row: Finding, session: UUID | None) -> FindingRow:
    return FindingRow(
        id=row.id,
        kind=row.kind,
        label=FindingKind(row.kind).label,
        path=_path(row),
        message=row.message,
        first_at=row.first_at,
        last_at=row.last_at,
        times=row.times,
        session=session,
    )


def _path(row: Finding) -> str:
    """A damaged row must not hide the others."""
    where = _where(row.workspace_id, row.kind, bytes(row.place_key))
    try:
        raw = seal.unseal(_key(row.workspace_id), where, bytes(row.sealed_path), name="a finding")
    except RecountError:
        return "(its path cannot be opened)"
    return raw.decode("utf-8", "replace")
