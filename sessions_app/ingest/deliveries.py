"""Bytes that other machines hand over piece by piece: appended to the record of their place.

A place is a machine and a path there, the same as for files of this machine, so that bytes that
come by both ways are stored once. What a sender says is checked against what is stored; where it
does not follow, the sender is told how much is stored and goes on from there.
"""

import io
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, BinaryIO
from uuid import UUID

from django.db import transaction

from sessions_app.domain.errors import OutOfStep
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import HeldFile
from sessions_app.models import Session
from sessions_app.store import read, sessions, sources
from sessions_app.store.sources import STRETCH, Fingerprints, Known

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How many bytes of a generation are in the record, an incomplete last line included."""

    generation: int
    stored: int


def stored(workspace_id: UUID, place_key: bytes) -> list[Stored]:
    """Every generation of a place, newest first."""
    return [
        Stored(generation=each.generation, stored=_end(each))
        for each in sources.known(workspace_id, place_key)
    ]


def agrees(workspace_id: UUID, place_key: bytes, *, generation: int, digest: bytes) -> bool:
    """Is this the SHA-256 of the last 4 KiB that are stored? Only the very end is compared:
    wherever a sender could choose the place, it could read the record byte by byte."""
    for each in sources.known(workspace_id, place_key):
        if each.generation == generation:
            session = sessions.row(each.session_id)
            end = session.raw_bytes
            last = read.stretch(session, max(0, end - STRETCH), end)
            return compare_digest(sha256(last).digest(), digest)
    return False


@transaction.atomic
def append(
    workspace_id: UUID,
    *,
    machine: str,
    path: str,
    project: str,
    offset: int,
    data: BinaryIO | bytes,
    now: datetime,
    generation: int | None = None,
    is_wanted: bool = True,
) -> Result:
    """All of it or nothing. Without a generation, bytes from offset 0 are a whole file, compared
    with every generation and a new one if they fit none; others belong to the newest."""
    body = io.BytesIO(data) if isinstance(data, bytes) else data
    size = body.seek(0, io.SEEK_END)
    body.seek(0)
    ingest = Ingest(workspace_id, now=now)
    place_key = Fingerprints(workspace_id).of_place(machine, path)
    known = sources.known(workspace_id, place_key)
    newest = known[0].generation if known else 0
    begins = offset == 0 and generation in (None, newest + 1)
    if begins:
        file = HeldFile(
            machine=machine,
            path=path,
            project=project,
            size=size,
            stream=body,
            is_wanted=is_wanted,
            is_begun=True,
        )
        return ingest.source(file, begin=generation)
    session = _locked(known, generation, newest)
    _check(session, offset, size, body)
    file = HeldFile(
        machine=machine,
        path=path,
        project=project,
        size=offset + size,
        stream=io.BufferedReader(_Continued(session, offset, body), read.SHORT_BYTES),
    )
    result = ingest.source(file)
    if result.uid != session.uid:
        raise _out_of_step("they continue another generation", session)
    return result


def _end(known: Known) -> int:
    return known.offset + known.tail_bytes


def _locked(known: list[Known], generation: int | None, newest: int) -> Session:
    """Locked until the bytes are written: what was compared must still be the end then."""
    for each in known:
        if each.generation == (generation or newest):
            return sessions.locked(each.session_id)
    message = f"Generation {generation or 1} of this file is not there: begin it at offset 0."
    raise OutOfStep(message, stored=0, generation=newest)


def _check(session: Session, offset: int, size: int, body: BinaryIO) -> None:
    end = session.raw_bytes
    if offset > end:
        raise _out_of_step("bytes between are missing", session)
    if offset + size <= end:
        # Not compared: a sender could otherwise find out what is stored by guessing.
        raise _out_of_step("there is nothing new in these", session)
    overlap = end - offset
    if overlap and body.read(overlap) != read.stretch(session, offset, end):
        raise _out_of_step("these differ from them", session)


def _out_of_step(reason: str, session: Session) -> OutOfStep:
    return OutOfStep(
        f"{session.raw_bytes} bytes of this file are stored and {reason}: "
        f"go on at offset {session.raw_bytes}, or send a rewritten file as the next generation.",
        stored=session.raw_bytes,
        generation=session.generation,
    )


class _Continued(io.RawIOBase):
    """The whole source as the pipeline wants it: what is stored, then what came."""

    def __init__(self, session: Session, offset: int, body: BinaryIO) -> None:
        super().__init__()
        self._session = session
        self._offset = offset
        self._body = body
        self._size = offset + body.seek(0, io.SEEK_END)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + place
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        into = memoryview(buffer)
        data = self._take(len(into))
        into[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _take(self, size: int) -> bytes:
        if self._at < self._offset:
            return read.stretch(self._session, self._at, min(self._at + size, self._offset))
        self._body.seek(self._at - self._offset)
        return self._body.read(size)
