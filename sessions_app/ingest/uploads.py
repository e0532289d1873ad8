"""What a person sends: unpacked, known again by its content, taken in."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from uuid import UUID, uuid4

from sessions_app.domain.errors import BadInput, KeyUnavailable, RecountError
from sessions_app.ingest import archives, notices, parallel, stores, twins
from sessions_app.ingest.archives import Member
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import UPLOADED as MACHINE
from sessions_app.ingest.sources import HeldFile
from sessions_app.store import facts, findings, sessions, staging, tip
from sessions_app.store.sources import STRETCH, Fingerprints

# Files whose name says that they are logs are kept, also where no format knows them.
LOG_SUFFIXES = {".jsonl", ".ndjson"}
COMPARED = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one file, and the archive it came in."""

    result: Result
    archive: str = ""
    known_as: str = ""


class Upload:
    """Takes what was sent into one workspace."""

    def __init__(self, workspace_id: UUID, *, now: datetime, limit: int) -> None:
        self._ingest = Ingest(workspace_id, now=now)
        self._workspace_id = workspace_id
        self._now = now
        self._limit = limit
        self._marks = Fingerprints(workspace_id)

    def file(self, stream: BinaryIO, path: str) -> Iterator[Taken]:
        """One result, or one for each member of an archive. A file that was cut off before is read
        by a process of its own: if it kills whoever reads it, that shall not be the web server."""
        for taken in self._careful(stream, path):
            found = notices.elsewhere(taken.result, MACHINE)
            findings.raised(self._workspace_id, found, now=self._now)
            yield taken

    def _careful(self, stream: BinaryIO, path: str) -> Iterator[Taken]:
        with staging.attempt(self._marks.of_body(_digest(stream))) as is_first:
            if is_first:
                yield from self.contents(stream, path)
            else:
                yield from self._apart(stream, path)

    def _apart(self, stream: BinaryIO, path: str) -> list[Taken]:
        """It waits sealed meanwhile, and goes however this ends."""
        name = uuid4()
        try:
            stream.seek(0)
            staging.write(self._workspace_id, name, {}, stream)
            told = parallel.alone(
                partial(_read_apart, self._workspace_id, name, path, self._now, self._limit)
            )
        finally:
            staging.remove(name)
        died = Result(path=path, state="died", message=parallel.DIED_OF_IT)
        return [Taken(died)] if told is None else told

    def contents(self, stream: BinaryIO, path: str) -> Iterator[Taken]:
        try:
            with archives.contents(stream, path, limit=self._limit) as found:
                archive = path if found.is_archive else ""
                if not found.members:
                    raise BadInput("There is no file in the archive.")
                for member in found.members:
                    yield from self._member(member, archive)
        except RecountError as error:
            yield Taken(_refused(path, error))

    def _member(self, member: Member, archive: str) -> Iterator[Taken]:
        try:
            for source in _sources(member):
                yield replace(self._source(source), archive=archive)
        except KeyUnavailable:
            raise
        except RecountError as error:
            yield Taken(_refused(member.path, error), archive)

    def _source(self, source: HeldFile) -> Taken:
        """The same bytes by another way are the same session: nothing is stored twice."""
        for session_id in twins.of(self._workspace_id, self._marks, source.stream, source.size):
            return _known(source, session_id)
        return Taken(self._ingest.source(source))


def _read_apart(
    workspace_id: UUID, name: UUID, path: str, now: datetime, limit: int
) -> list[Taken]:
    with staging.opened(workspace_id, name) as (_, stream):
        return list(Upload(workspace_id, now=now, limit=limit).contents(stream, path))


def _digest(stream: BinaryIO) -> bytes:
    stream.seek(0)
    made = sha256()
    while piece := stream.read(COMPARED):
        made.update(piece)
    stream.seek(0)
    return made.digest()


def _sources(member: Member) -> Iterator[HeldFile]:
    if member.stream is None:
        raise BadInput(member.refusal)
    member.stream.seek(0)
    head = member.stream.read(STRETCH)
    if stores.is_database(head):
        yield from _in_database(member, member.stream)
        return
    yield HeldFile(
        machine=MACHINE,
        path=member.path,
        project="",
        size=member.size,
        stream=member.stream,
        identity=twins.identity(head),
        is_wanted=PurePosixPath(member.path).suffix.lower() in LOG_SUFFIXES,
    )


def _in_database(member: Member, stream: BinaryIO) -> Iterator[HeldFile]:
    """SQLite opens names only: for as long as it reads, there is one, in a folder nobody else can
    enter."""
    with tempfile.TemporaryDirectory(prefix="recount-") as folder:
        path = Path(folder) / "sent.db"
        with path.open("xb") as out:
            stream.seek(0)
            shutil.copyfileobj(stream, out, COMPARED)
        try:
            for held in stores.sessions_in(str(path), MACHINE):
                with closing(held.stream):
                    yield replace(held, path=held.path.replace(str(path), member.path, 1))
        except BadInput as error:
            raise BadInput(error.message.replace(str(path), member.path)) from None


def _known(source: HeldFile, session_id: int) -> Taken:
    row = sessions.row(session_id)
    where = facts.opened(tip.owner_of(row).key, row)
    is_here = (where.machine, where.path) == (MACHINE, source.path)
    name = where.path if where.machine == MACHINE else f"{where.path} of {where.machine}"
    result = Result(path=source.path, state="unchanged", uid=row.uid, format=row.format)
    return Taken(result, known_as="" if is_here else name)


def _refused(path: str, error: RecountError) -> Result:
    return Result(path=path, state="failed", message=error.message)
