"""The same bytes by two ways are one session, also where nothing but the bytes says so."""

from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO
from uuid import UUID

from sessions_app.domain.errors import RecountError
from sessions_app.ingest.sources import UPLOADED, SourceFile
from sessions_app.models import Session
from sessions_app.store import facts, read, sessions, sources, tip
from sessions_app.store.sources import STRETCH, Fingerprints


def of(workspace_id: UUID, marks: Fingerprints, stream: BinaryIO, size: int) -> Iterator[int]:
    """Sessions of exactly these bytes, wherever they came from."""
    found = sources.known_by_content(
        workspace_id,
        head_key=marks.of_stretch(_stretch(stream, 0)),
        tail_key=marks.of_stretch(_stretch(stream, max(0, size - STRETCH))),
        size=size,
    )
    return (session_id for session_id in found if _is_same(stream, session_id))


def upload_place(marks: Fingerprints, path: str, stream: BinaryIO) -> bytes:
    return marks.of_place(UPLOADED, path, identity(_stretch(stream, 0)))


def identity(head: bytes) -> str:
    """Two logs that are sent may share a name; a log that grew shares its first line with what it
    was."""
    return head.partition(b"\n")[0].hex()


def adopted(workspace_id: UUID, marks: Fingerprints, file: SourceFile, place_key: bytes) -> bool:
    """Was this log sent by hand before it was met at its place? Then the session is of this place
    from now on, and grows with it. Its name stays the one under which it was sent."""
    # What cannot be opened is told when it is read.
    with suppress(OSError, RecountError), file.open() as stream:
        for session_id in of(workspace_id, marks, stream, file.size):
            row = sessions.row(session_id)
            before = upload_place(marks, _path(row), stream)
            if row.generation == 1 and sources.moved(session_id, before, place_key):
                return True
    return False


def _path(row: Session) -> str:
    return facts.opened(tip.owner_of(row).key, row).path


def _stretch(stream: BinaryIO, at: int) -> bytes:
    stream.seek(at)
    return _full(stream, STRETCH)


def _full(stream: BinaryIO, size: int) -> bytes:
    out = bytearray()
    while len(out) < size and (data := stream.read(size - len(out))):
        out += data
    return bytes(out)


def _is_same(stream: BinaryIO, session_id: int) -> bool:
    stream.seek(0)
    return all(
        _full(stream, len(stored)) == stored for stored in read.stream(sessions.row(session_id))
    )
