"""Where sessions came from: the same source found again, or a new generation of it."""

from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from sessions_app.models import Session, Source
from sessions_app.store import keys
from sessions_app.vault.seal import derive

STRETCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A source as it was last read. `offset` is the end of its last whole line."""

    session_id: int
    generation: int
    size: int
    mtime_ns: int
    offset: int
    tail_bytes: int
    head_len: int
    head_key: bytes
    tail_len: int
    tail_key: bytes

    def is_unchanged(self, *, size: int, mtime_ns: int) -> bool:
        """Known by size and time alone, and read to its end: an interrupted run is not."""
        is_read = self.offset + self.tail_bytes >= size
        return is_read and self.size == size and self.mtime_ns == mtime_ns


class Fingerprints:
    """Keyed hashes of paths and stretches of bytes: comparable inside a workspace, mute outside."""

    def __init__(self, workspace_id: UUID) -> None:
        self._key = derive(keys.index_key(workspace_id), "fingerprint")

    def of_place(self, machine: str, path: str) -> bytes:
        raw = machine.encode("utf-8", "surrogateescape") + b"\0"
        return self._hash(b"place", raw + path.encode("utf-8", "surrogateescape"))

    def of_stretch(self, raw: bytes) -> bytes:
        return self._hash(b"bytes", raw)

    def _hash(self, purpose: bytes, raw: bytes) -> bytes:
        return blake2b(raw, digest_size=16, key=self._key, person=purpose).digest()


def known(workspace_id: UUID, place_key: bytes) -> list[Known]:
    """All generations of a place, newest first."""
    rows = (
        Source.objects.filter(workspace_id=workspace_id, place_key=place_key)
        .select_related("session")
        .order_by("-generation")
    )
    return [_known(row, row.session) for row in rows]


def _known(row: Source, session: Session) -> Known:
    return Known(
        session_id=row.session_id,
        generation=row.generation,
        size=row.size,
        mtime_ns=row.mtime_ns,
        offset=session.raw_bytes - session.tail_bytes,
        tail_bytes=session.tail_bytes,
        head_len=row.head_len,
        head_key=bytes(row.head_key),
        tail_len=row.tail_len,
        tail_key=bytes(row.tail_key),
    )


def touched(session_id: int, *, size: int, mtime_ns: int) -> None:
    """The file was looked at and holds nothing new."""
    Source.objects.filter(session_id=session_id).update(size=size, mtime_ns=mtime_ns)
