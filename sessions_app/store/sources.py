"""Where sessions came from: the same source found again, or a new generation of it."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from sessions_app.domain.facets import Facet
from sessions_app.models import Source
from sessions_app.store import facets, keys
from sessions_app.vault.seal import derive

STRETCH = 4096
# Each is tried on every file that is new at its place; of shorter ones there could be thousands.
MOST_LENGTHS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A source as it was last read. `offset` is the end of its last whole line."""

    session_id: int
    uid: UUID
    format: str
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
        # Keyed once for each purpose: every id begins from a copy of it.
        self._begun: dict[bytes, blake2b] = {}

    def of_place(self, machine: str, path: str, identity: str = "") -> bytes:
        parts = (machine, path, identity) if identity else (machine, path)
        return self._hash(b"place", "\0".join(parts).encode("utf-8", "surrogateescape"))

    def of_stretch(self, raw: bytes) -> bytes:
        return self._hash(b"bytes", raw)

    def of_id(self, purpose: bytes, name: str) -> int:
        """A number that stands for an id found in a log."""
        begun = self._begun.get(purpose)
        if begun is None:
            begun = blake2b(digest_size=8, key=self._key, person=purpose)
            self._begun[purpose] = begun
        hashed = begun.copy()
        hashed.update(name.encode("utf-8", "surrogatepass"))
        return int.from_bytes(hashed.digest(), "big", signed=True)

    def of_delivery(self, name: str) -> bytes:
        """What a sender calls a delivery."""
        return self._hash(b"delivery", name.encode("utf-8", "surrogateescape"))

    def of_body(self, sha256: bytes) -> bytes:
        """The hash alone would let a reader of the database test guesses of what was sent."""
        return self._hash(b"body", sha256, size=32)

    def _hash(self, purpose: bytes, raw: bytes, *, size: int = 16) -> bytes:
        return blake2b(raw, digest_size=size, key=self._key, person=purpose).digest()


def known(workspace_id: UUID, place_key: bytes) -> list[Known]:
    """All generations of a place, newest first."""
    return known_many(workspace_id, [place_key]).get(place_key, [])


def known_many(workspace_id: UUID, place_keys: list[bytes]) -> dict[bytes, list[Known]]:
    """The same for many places at once. Asked for every file of every run: without models it
    costs a third."""
    out: dict[bytes, list[Known]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, [workspace_id, place_keys])
        for place_key, *row in cursor.fetchall():
            out.setdefault(bytes(place_key), []).append(_known(row))
    return out


_KNOWN = """
    SELECT s.place_key, s.session_id, e.uid, e.format, s.generation, s.size, s.mtime_ns,
           e.raw_bytes, e.tail_bytes, s.head_len, s.head_key, s.tail_len, s.tail_key
    FROM sessions_app_source s JOIN sessions_app_session e ON e.id = s.session_id
    WHERE s.workspace_id = %s AND s.place_key = ANY(%s)
    ORDER BY s.generation DESC
"""


def _known(row: list[Any]) -> Known:
    session_id, uid, fmt, generation, size, mtime_ns, raw, tail, *stretches = row
    head_len, head, tail_len, last = stretches
    return Known(
        session_id=session_id,
        uid=uid,
        format=fmt,
        generation=generation,
        size=size,
        mtime_ns=mtime_ns,
        offset=raw - tail,
        tail_bytes=tail,
        head_len=head_len,
        head_key=bytes(head),
        tail_len=tail_len,
        tail_key=bytes(last),
    )


def touched(session_id: int, *, size: int, mtime_ns: int) -> None:
    """The file was looked at and holds nothing new."""
    Source.objects.filter(session_id=session_id).update(size=size, mtime_ns=mtime_ns)


def known_by_content(
    workspace_id: UUID, *, head_key: bytes, tail_key: bytes, size: int
) -> list[int]:
    """Sessions of exactly this many bytes that begin and end like this, wherever they came from.
    Whether the rest agrees as well is for the caller to see."""
    rows = Source.objects.filter(
        workspace_id=workspace_id,
        head_key=head_key,
        tail_key=tail_key,
        session__raw_bytes=size,
    )
    return list(rows.order_by("session_id").values_list("session_id", flat=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A session by what it begins with."""

    session_id: int
    head_key: bytes
    size: int
    place_key: bytes


def beginnings(workspace_id: UUID, machine: str) -> list[int]:
    """How long the stretches are by which sessions of that machine are known again."""
    rows = _of_machine(workspace_id, machine).order_by("-head_len")
    return list(rows.values_list("head_len", flat=True).distinct()[:MOST_LENGTHS])


def begun_like(workspace_id: UUID, machine: str, head_keys: list[bytes]) -> list[Begun]:
    """Sessions of that machine that begin so. Whether the rest agrees is for the caller to see."""
    rows = _of_machine(workspace_id, machine).filter(head_key__in=head_keys, generation=1)
    names = ("session_id", "head_key", "session__raw_bytes", "place_key")
    return [
        Begun(session_id=number, head_key=bytes(head), size=size, place_key=bytes(place))
        for number, head, size, place in rows.order_by("session_id").values_list(*names)
    ]


def _of_machine(workspace_id: UUID, machine: str) -> QuerySet[Source]:
    term = facets.Blind(workspace_id).term(Facet.MACHINE.key, machine)
    return Source.objects.filter(workspace_id=workspace_id, session__facets__contains=[term])


def moved(session_id: int, before: bytes, after: bytes) -> bool:
    """From one place to another, where nobody else has begun meanwhile."""
    rows = Source.objects.filter(session_id=session_id, place_key=before)
    try:
        with transaction.atomic():
            return bool(rows.update(place_key=after))
    except IntegrityError:
        return False
