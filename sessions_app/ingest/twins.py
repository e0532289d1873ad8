"""The same bytes by two ways are one session, also where nothing but the bytes says so."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO
from uuid import UUID

from sessions_app.domain.errors import RecountError
from sessions_app.ingest.sources import UPLOADED, DiskFile, HeldFile, SourceFile
from sessions_app.models import Session
from sessions_app.store import facts, read, sessions, sources, tip
from sessions_app.store.sources import STRETCH, Begun, Fingerprints

# Of a delivery that is only the beginning of its log.
LARGE_PIECE = 1024 * 1024


def of(workspace_id: UUID, marks: Fingerprints, stream: BinaryIO, size: int) -> Iterator[int]:
    """Sessions of exactly these bytes, wherever they came from."""
    found = sources.known_by_content(
        workspace_id,
        head_key=marks.of_stretch(_stretch(stream, 0)),
        tail_key=marks.of_stretch(_stretch(stream, max(0, size - STRETCH))),
        size=size,
    )
    return (each for each in found if _begins_alike(stream, sessions.row(each), size))


def identity(head: bytes) -> str:
    """Two logs that are sent may share a name; a log that grew shares its first line with what it
    was."""
    return head.partition(b"\n")[0].hex()


def adopted(
    workspace_id: UUID, marks: Fingerprints, new: Mapping[bytes, SourceFile]
) -> list[bytes]:
    """Which of these places, new to the record, hold a log that was sent by hand before? Its
    session is of this place from now on, and grows with it. Its name stays the one under which it
    was sent. Logs that are the same come before those that grew."""
    met = {key: file for key, file in new.items() if _may_be_sent(file)}
    lengths = sources.beginnings(workspace_id, UPLOADED) if met else []
    begun = (
        {key: list(_begun(marks, file, lengths)) for key, file in met.items()} if lengths else {}
    )
    heads: dict[bytes, list[bytes]] = defaultdict(list)
    for key, keys in begun.items():
        for head in keys:
            heads[head].append(key)
    found = sources.begun_like(workspace_id, UPLOADED, list(heads)) if heads else []
    pairs = [(sent, key) for sent in found for key in heads[sent.head_key]]
    pairs.sort(key=lambda pair: pair[0].size != met[pair[1]].size)
    out: dict[bytes, int] = {}
    for sent, key in pairs:
        is_free = key not in out and sent.session_id not in out.values()
        if is_free and _is_adopted(marks, sent, met[key], key):
            out[key] = sent.session_id
    return list(out)


def _may_be_sent(file: SourceFile) -> bool:
    is_one = isinstance(file, DiskFile | HeldFile)
    return is_one and file.size > 0 and file.machine != UPLOADED


def _begun(marks: Fingerprints, file: SourceFile, lengths: list[int]) -> Iterator[bytes]:
    # What cannot be opened is told when it is read.
    with suppress(OSError, RecountError), file.open() as stream:
        head = _stretch(stream, 0)
        yield from (marks.of_stretch(head[:size]) for size in lengths if size <= len(head))


def _is_adopted(marks: Fingerprints, sent: Begun, file: SourceFile, place_key: bytes) -> bool:
    with suppress(OSError, RecountError), file.open() as stream:
        size = file.length(stream)
        row = sessions.row(sent.session_id)
        path = _path(row)
        is_same = size == sent.size or _has_grown(sent, size, path, file)
        return (
            is_same
            and sent.place_key in _upload_places(marks, row, path)
            and _begins_alike(stream, row, min(size, sent.size))
            and sources.moved(sent.session_id, sent.place_key, place_key)
        )
    return False


def _has_grown(sent: Begun, size: int, path: str, file: SourceFile) -> bool:
    """One of the two begins with the other. That a short log begins like another says little, if
    not their names say so, too. A piece that came may be the beginning of what was sent."""
    if size < sent.size and not (size >= LARGE_PIECE and getattr(file, "is_begun", False)):
        return False
    is_namesake = path.rpartition("/")[2] == file.path.rpartition("/")[2]
    return is_namesake or min(size, sent.size) >= STRETCH


def _upload_places(marks: Fingerprints, row: Session, path: str) -> set[bytes]:
    """Where what was sent may stand; elsewhere it was adopted before. What a database held is known
    by its name alone."""
    head = next(iter(read.stream(row)), b"")[:STRETCH]
    return {marks.of_place(UPLOADED, path, name) for name in (identity(head), "")}


def _path(row: Session) -> str:
    return facts.opened(tip.owner_of(row).key, row).path


def _begins_alike(stream: BinaryIO, row: Session, size: int) -> bool:
    stream.seek(0)
    return all(_full(stream, len(stored)) == stored for stored in read.stream(row, upto=size))


def _stretch(stream: BinaryIO, at: int) -> bytes:
    stream.seek(at)
    return _full(stream, STRETCH)


def _full(stream: BinaryIO, size: int) -> bytes:
    out = bytearray()
    while len(out) < size and (data := stream.read(size - len(out))):
        out += data
    return bytes(out)
