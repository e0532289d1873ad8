"""The loop: a source, opened where it was left, becomes batches in the record.

Parsing, indexing and sealing happen here; the database writes the batch before in a second thread
(it waits for Postgres most of the time), so the two overlap.
"""

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import BinaryIO
from uuid import UUID

from django.db import connections

from sessions_app import formats
from sessions_app.domain import failpoints
from sessions_app.domain.errors import KeyUnavailable, RecountError, Refused
from sessions_app.ingest import documents, lines, twins
from sessions_app.ingest.sources import HeldFile, SourceFile
from sessions_app.store import read, sessions, sources, tip
from sessions_app.store.append import Appender, Batch
from sessions_app.store.facts import Facts
from sessions_app.store.sources import STRETCH, Fingerprints, Known
from sessions_app.store.tip import Tip
from sessions_app.store.write import Entry, Moved, SourceState, together, write

# What one transaction takes: large enough that its cost vanishes, small enough to hold in memory.
BATCH_BYTES = 8 * 1024 * 1024
# Batches that may wait to be written: the database pauses when it merges its index.
AHEAD = 3
# The writing thread gives the interpreter up for every seal and every answer of the database, and
# would wait the usual 5 ms each time to have it back.
TURN_SECONDS = 0.0005
# Objects made between two looks for circles among them: every line makes hundreds, and no circle.
GARBAGE = 100_000
# Sources that share a transaction at the most.
GROUP = 64
# Sources that are looked up with one question.
LOOKED_UP = 1000
# Each try means another appender made progress; this many in a row is a fault somewhere else.
TRIES = 100

Write = Callable[[Batch, SourceState], None]
Progress = Callable[[int], None]
# What is known of places, by their keys.
_Looked = dict[bytes, list[Known]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    path: str
    state: str  # ingested | appended | rewritten | unchanged | empty | unknown | failed | died
    uid: UUID | None = None
    format: str = ""
    lines: int = 0
    unreadable: int = 0
    raw_bytes: int = 0
    message: str = ""


@dataclass(slots=True)
class _Trail:
    """First and last stretch of everything stored so far: how a source is known again."""

    head: bytes = b""
    last: bytes = b""

    def add(self, data: bytes) -> None:
        if len(self.head) < STRETCH:
            self.head += data[: STRETCH - len(self.head)]
        self.last = (self.last + data)[-STRETCH:] if len(data) < STRETCH else data[-STRETCH:]

    def state(self, marks: Fingerprints, file: SourceFile, *, is_read: bool) -> SourceState:
        """Before it was read to its end, its time is not known: what is packed unfolds to more
        than its size, so that the number of bytes alone would not tell that a run was cut off."""
        return SourceState(
            size=file.size,
            mtime_ns=file.mtime_ns if is_read else 0,
            head_len=len(self.head),
            head_key=marks.of_stretch(self.head),
            tail_len=len(self.last),
            tail_key=marks.of_stretch(self.last),
        )


@dataclass(slots=True, kw_only=True)
class _Work:
    """One source on its way in."""

    workspace_id: UUID
    place_key: bytes
    file: SourceFile
    now: datetime
    marks: Fingerprints
    write: Write
    number: Callable[[], int]
    progress: Progress
    # Begin this generation if there is none of that number yet, whatever the bytes agree with.
    begin: int | None = None
    trail: _Trail = field(default_factory=_Trail)


@dataclass(frozen=True, slots=True)
class _Pending:
    """Batches on their way to the database."""

    files: tuple[SourceFile, ...]
    entries: tuple[Entry, ...]
    future: Future[list[Entry]]

    def moved(self) -> list[SourceFile]:
        lost = self.future.result()
        return [
            file
            for file, entry in zip(self.files, self.entries, strict=True)
            if any(entry is each for each in lost)
        ]


class Ingest:
    """Takes sources into one workspace, one after the other."""

    def __init__(
        self, workspace_id: UUID, *, now: datetime, progress: Progress | None = None
    ) -> None:
        self._workspace_id = workspace_id
        self._now = now
        self._marks = Fingerprints(workspace_id)
        self._progress: Progress = progress or (lambda _: None)
        self._pool: ThreadPoolExecutor | None = None
        self._group: list[tuple[SourceFile, Entry]] = []
        self._pending: deque[_Pending] = deque()
        self._again: list[SourceFile] = []
        # Numbers for sessions to come, the next one last.
        self._numbers: list[int] = []
        self._to_come = 1

    @contextmanager
    def overlapped(self) -> Iterator["Ingest"]:
        """Write in a second thread while this one prepares the next batch."""
        usual, often = sys.getswitchinterval(), gc.get_threshold()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="append") as pool:
            self._pool = pool
            sys.setswitchinterval(TURN_SECONDS)
            gc.set_threshold(GARBAGE, *often[1:])
            try:
                yield self
            finally:
                self._pool = None
                sys.setswitchinterval(usual)
                gc.set_threshold(*often)
                pool.submit(connections.close_all).result()

    def sources(self, files: Iterable[SourceFile]) -> Iterator[Result]:
        """Many, each begun while the last batch of the one before is still being written. Of a
        source that somebody else moved meanwhile, the rest is taken at the end: it then has a
        second result, which is the one that counts."""
        for some in _batches(files, LOOKED_UP):
            known = self._known(some)
            self._to_come = max(1, min(len(some) - len(known), GROUP))
            take = partial(self._attempt, looked=known)
            for file in some:
                try:
                    yield self._or_failed(file, take)
                except Moved:
                    self._again.append(file)
        self._settle(None, keep=0)
        again, self._again = self._again, []
        for file in again:
            yield self._or_failed(file, self.source)

    def _known(self, files: list[SourceFile]) -> _Looked:
        keys = {_place_of(self._marks, file): file for file in files}
        found = sources.known_many(self._workspace_id, list(keys))
        new = {key: file for key, file in keys.items() if key not in found}
        return {**found, **self._sent_before(new)} if new else found

    def _sent_before(self, new: dict[bytes, SourceFile]) -> _Looked:
        """Of what is new at its place, what somebody sent by hand already."""
        adopted = twins.adopted(self._workspace_id, self._marks, new)
        return sources.known_many(self._workspace_id, adopted) if adopted else {}

    def _or_failed(self, file: SourceFile, take: Callable[[SourceFile], Result]) -> Result:
        """What is wrong with one source, or with the record it belongs to, stops no other."""
        try:
            return take(file)
        except KeyUnavailable:
            raise
        except RecountError as error:
            return Result(path=file.path, state="failed", message=error.message)
        except OSError as error:
            return Result(path=file.path, state="failed", message=error.strerror or str(error))
        except MemoryError:
            return Result(path=file.path, state="failed", message="needs more memory than there is")

    def source(self, file: SourceFile, *, begin: int | None = None) -> Result:
        """One, written when this returns."""
        for _ in range(TRIES):
            try:
                result = self._attempt(file, begin=begin)
                self._settle(file, keep=0)
            except Moved:
                continue
            return result
        raise Refused(f"{file.path}: others keep writing to the same session; try again later")

    def _attempt(
        self, file: SourceFile, looked: _Looked | None = None, *, begin: int | None = None
    ) -> Result:
        place_key = _place_of(self._marks, file)
        if looked is None:
            looked = self._known([file])
        return _ingest(
            looked.get(place_key, []),
            _Work(
                place_key=place_key,
                workspace_id=self._workspace_id,
                file=file,
                now=self._now,
                marks=self._marks,
                write=lambda batch, state: self._write(file, batch, state),
                number=self._number,
                progress=self._progress,
                begin=begin,
            ),
        )

    def _number(self) -> int:
        if not self._numbers:
            self._numbers = tip.numbers(self._to_come)[::-1]
        return self._numbers.pop()

    def _write(self, file: SourceFile, batch: Batch, state: SourceState) -> None:
        """Small sources are written together; a session's batches stay in their order."""
        if self._pool is None:
            write(batch, state, now=self._now)
            return
        if batch.before.new is None:
            self._send(file)
        self._group.append((file, Entry(batch=batch, source=state)))
        size = sum(entry.batch.size for _, entry in self._group)
        if batch.before.new is None or size >= BATCH_BYTES or len(self._group) >= GROUP:
            self._send(file)

    def _send(self, current: SourceFile | None) -> None:
        if self._group and self._pool is not None:
            self._settle(current, keep=AHEAD - 1)
            files, entries = zip(*self._group, strict=True)
            future = self._pool.submit(together, list(entries), now=self._now)
            self._pending.append(_Pending(files, entries, future))
            self._group = []

    def _settle(self, current: SourceFile | None, *, keep: int) -> None:
        """Wait for the oldest batches. Of what was moved, earlier sources are taken again later;
        of the current one the caller hears at once."""
        if not keep:
            self._send(current)
        moved: list[SourceFile] = []
        while len(self._pending) > keep:
            moved += self._pending.popleft().moved()
        self._again += [file for file in moved if file is not current and file not in self._again]
        if any(file is current for file in moved):
            raise Moved


def _batches(files: Iterable[SourceFile], size: int) -> Iterator[list[SourceFile]]:
    """So many at a time, and fewer of those whose bytes are already held in memory."""
    some: list[SourceFile] = []
    weight = 0
    for file in files:
        some.append(file)
        weight += file.size if isinstance(file, HeldFile) else 0
        if len(some) >= size or weight >= BATCH_BYTES:
            yield some
            some, weight = [], 0
    if some:
        yield some


def _place_of(marks: Fingerprints, file: SourceFile) -> bytes:
    return marks.of_place(file.machine, file.path, file.identity)


def _ingest(known: list[Known], work: _Work) -> Result:
    file = work.file
    if known and file.mtime_ns and known[0].is_unchanged(size=file.size, mtime_ns=file.mtime_ns):
        return _unchanged(file, known[0])
    newest = known[0].generation if known else 0
    with file.open() as stream:
        failpoints.hit("pipeline.source", file.path)
        size = file.length(stream)
        if work.begin is not None and work.begin > newest:
            return _begin(work, stream, work.begin, size)
        for generation in known:
            if _continues(stream, generation, size, work.marks):
                return _go_on(work, stream, generation, size)
        return _begin(work, stream, newest + 1, size)


def _unchanged(file: SourceFile, known: Known) -> Result:
    return Result(path=file.path, state="unchanged", uid=known.uid, format=known.format)


def _continues(stream: BinaryIO, known: Known, size: int, marks: Fingerprints) -> bool:
    """Do the file's bytes begin with what is stored? The ends are compared; where the file did
    not grow, every byte is, because then nothing else would tell a rewrite from a touch."""
    end = known.offset + known.tail_bytes
    if size <= end:
        return _is_prefix(stream, known, size)
    fmt = formats.BY_NAME.get(known.format, formats.UNKNOWN)
    if fmt.cut and not fmt.grows:
        # A document is closed by its last byte: more of it is another document.
        return False
    stream.seek(0)
    head = _read_full(stream, known.head_len)
    stream.seek(end - known.tail_len)
    last = _read_full(stream, known.tail_len)
    return marks.of_stretch(head) == known.head_key and marks.of_stretch(last) == known.tail_key


def _is_prefix(stream: BinaryIO, known: Known, size: int) -> bool:
    stream.seek(0)
    session = sessions.row(known.session_id)
    return all(
        _read_full(stream, len(stored)) == stored for stored in read.stream(session, upto=size)
    )


def is_all_in(workspace_id: UUID, file: SourceFile) -> bool:
    """Are its bytes in the record, every one of them? They are compared, not only counted."""
    place_key = _place_of(Fingerprints(workspace_id), file)
    with file.open() as stream:
        size = file.length(stream)
        return any(
            size <= known.offset + known.tail_bytes and _is_prefix(stream, known, size)
            for known in sources.known(workspace_id, place_key)
        )


def _read_full(stream: BinaryIO, size: int) -> bytes:
    out = bytearray()
    while len(out) < size and (data := stream.read(size - len(out))):
        out += data
    return bytes(out)


def _go_on(work: _Work, stream: BinaryIO, known: Known, size: int) -> Result:
    file = work.file
    if size <= known.offset + known.tail_bytes:
        sources.touched(known.session_id, size=file.size, mtime_ns=file.mtime_ns)
        failpoints.hit("pipeline.touched")
        return _unchanged(file, known)
    end = tip.load(known.session_id)
    stream.seek(0)
    work.trail.head = _read_full(stream, min(STRETCH, end.raw_bytes))
    stream.seek(max(0, end.raw_bytes - STRETCH))
    work.trail.last = _read_full(stream, min(STRETCH, end.raw_bytes))
    stream.seek(end.raw_bytes)
    return _append(work, stream, end, state="appended")


def _begin(work: _Work, stream: BinaryIO, generation: int, size: int) -> Result:
    file = work.file
    stream.seek(0)
    head = _read_full(stream, formats.HEAD_BYTES)
    if not head:
        return Result(path=file.path, state="empty", message="no bytes yet")
    fmt = formats.choose(head, size, file.path)
    if fmt is formats.UNKNOWN and not file.is_wanted:
        return Result(path=file.path, state="unknown", message="not a log of a known format")
    stream.seek(0)
    new = tip.start(
        session_id=work.number(),
        workspace_id=work.workspace_id,
        fmt=fmt.name,
        agent=fmt.agent,
        known=Facts(path=file.path, project=file.project, machine=file.machine),
        place_key=work.place_key,
        generation=generation,
    )
    return _append(work, stream, new, state="ingested" if generation == 1 else "rewritten")


def _append(work: _Work, stream: BinaryIO, end: Tip, *, state: str) -> Result:
    appender = Appender(end, now=work.now)
    fmt = formats.BY_NAME[end.format]
    for item in lines.items(stream) if fmt.cut is None else documents.items(stream, fmt):
        # Not before more has come: the last batch is known to be the last.
        if appender.pending >= BATCH_BYTES:
            _flush(work, appender, is_last=False)
        _feed(appender, item)
        work.trail.add(item.data)
    after = _flush(work, appender, is_last=True) if appender.pending else appender.tip
    return Result(
        path=work.file.path,
        state=state,
        uid=end.uid,
        format=end.format,
        lines=after.counts.events - end.counts.events,
        unreadable=after.counts.unreadable - end.counts.unreadable,
        raw_bytes=after.stored_bytes - end.raw_bytes,
    )


def _feed(appender: Appender, item: lines.Item | documents.Whole) -> None:
    match item:
        case lines.Block(data):
            appender.block(data)
        case lines.Piece(data, last):
            appender.piece(data, last=last)
        case lines.Tail(data):
            appender.tail(data)
        case documents.Whole(data):
            appender.record(data)


def _flush(work: _Work, appender: Appender, *, is_last: bool) -> Tip:
    taken = appender.pending
    batch = appender.take(is_last=is_last)
    failpoints.hit("pipeline.batch")
    work.write(batch, work.trail.state(work.marks, work.file, is_read=is_last))
    work.progress(taken)
    return batch.tip
