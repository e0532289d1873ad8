"""What the record holds of a folder, for the comparison with the disk."""

from dataclasses import dataclass
from uuid import UUID

from sessions_app.domain.errors import RecountError
from sessions_app.models import Session, Source, Workspace
from sessions_app.store import facts, keys
from sessions_app.store.tip import key_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The newest generation of one place."""

    place_key: bytes
    session_id: int
    uid: UUID
    generation: int
    format: str
    size: int
    mtime_ns: int
    raw_bytes: int
    unreadable: int


def workspaces() -> list[UUID]:
    return list(Workspace.objects.values_list("id", flat=True))


def held(workspace_id: UUID) -> dict[bytes, Held]:
    """Every place of the workspace, with one question."""
    rows = (
        Source.objects.filter(workspace_id=workspace_id)
        .order_by("generation")
        .values_list(
            "place_key",
            "session_id",
            "session__uid",
            "generation",
            "session__format",
            "size",
            "mtime_ns",
            "session__raw_bytes",
            "session__unreadable",
        )
    )
    found = (_held(*row) for row in rows.iterator(chunk_size=5000))
    return {one.place_key: one for one in found}


def _held(
    place: bytes | memoryview,
    session: int,
    uid: UUID,
    generation: int,
    fmt: str,
    size: int,
    mtime_ns: int,
    raw: int,
    bad: int,
) -> Held:
    return Held(
        place_key=bytes(place),
        session_id=session,
        uid=uid,
        generation=generation,
        format=fmt,
        size=size,
        mtime_ns=mtime_ns,
        raw_bytes=raw,
        unreadable=bad,
    )


def places_of(session_ids: list[int]) -> dict[int, tuple[str, str]]:
    """Machine and path of sessions, opened: asked only for those that are not found on disk."""
    out = {}
    rows = Session.objects.select_related("key").filter(id__in=session_ids)
    for row in rows.iterator(chunk_size=500):
        try:
            key = keys.session_key(key_row(row), workspace_id=row.workspace_id, uid=row.uid)
            known = facts.opened(key, row)
        except RecountError:
            continue
        out[row.id] = (known.machine, known.path)
    return out
