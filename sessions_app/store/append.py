"""Lines in, sealed chunks and event rows out: the only way bytes enter the record.

An `Appender` prepares batches outside any lock; `write` seals one and puts it into the database in
a single transaction, together with how far the source was read. The session row is locked and must
still be where the batch was prepared for: of two appenders one wins, the other is told `Moved` and
starts again from the new end. So lines never interleave, double or vanish.
"""

from dataclasses import asdict, dataclass, replace
from datetime import datetime

from sessions_app import formats
from sessions_app.domain.errors import TooLarge
from sessions_app.domain.events import Flag, Reading, Unreadable
from sessions_app.store import chunks
from sessions_app.store.chunks import RawChunk
from sessions_app.store.project import Counter, Projector
from sessions_app.store.tip import OpenChunk, Tip
from sessions_app.vault.terms import Blinder

# The length of a line is a 32-bit number in its event row.
LONGEST_LINE = 2**31 - 1


@dataclass(slots=True)
class Links:
    """The hashes a session's next batch hangs on. They are known only once the batch before is
    sealed, which happens where batches are written."""

    full: bytes
    head: bytes


@dataclass(frozen=True, slots=True)
class Learned:
    """All words of a batch are among the first so many its blinder learned."""

    blinder: Blinder
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one transaction writes. `tip` is the end after it."""

    before: Tip
    tip: Tip
    links: Links
    chunks: tuple[RawChunk, ...]
    event_rows: bytes
    usage_rows: bytes
    call_rows: bytes
    ties: list[tuple[int, int]]
    first_seq: int
    tail_bytes: int
    # Nothing of its source is left for another batch.
    is_last: bool
    learned: Learned

    @property
    def size(self) -> int:
        return sum(len(chunk.raw) for chunk in self.chunks)


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line that arrives in pieces."""

    chunk: int
    start: int
    length: int = 0
    # None once it is too long to be read as a whole.
    held: bytearray | None
    # Handed over in pieces: it spans chunks, and its words are indexed as they pass.
    is_long: bool


class Appender:
    """Prepares batches for one session, in order, from one thread."""

    def __init__(self, tip: Tip, *, now: datetime) -> None:
        self._tip = tip
        self._lines = Projector(
            session_id=tip.session_id,
            owner=tip.owner,
            fmt=tip.format,
            counts=tip.counts,
            facts=tip.facts,
            agent=tip.agent,
            now=now,
        )
        self._full: list[RawChunk] = []
        self._links = Links(tip.previous, tip.stored_head)
        self._first_seq = tip.counts.events
        self._line: _Line | None = None
        self._no = tip.chunks
        self._size = 0
        self._begin(tip.open or self._fresh(tip.raw_bytes))

    # What a caller says -----------------------------------------------------------------

    def block(self, data: bytes) -> None:
        """Whole lines, each with its line end."""
        begin = at = 0
        filled = self._size
        take = self._lines.line
        lines = data.split(b"\n")
        lines.pop()
        for line in lines:
            size = len(line) + 1
            if filled and filled + size > chunks.CHUNK_BYTES:
                self._parts.append(data[begin:at])
                begin = at
                self._close()
                filled = 0
            take(line, self._no, filled, size)
            at += size
            filled += size
        self._size = filled
        self._parts.append(data[begin:])

    def record(self, data: bytes) -> None:
        """One record of a document."""
        size = len(data)
        if size > chunks.PIECE_BYTES:
            for at in range(0, size, chunks.PIECE_BYTES):
                last = at + chunks.PIECE_BYTES >= size
                self.piece(data[at : at + chunks.PIECE_BYTES], last=last)
            return
        if self._size and self._size + size > chunks.CHUNK_BYTES:
            self._close()
        self._lines.line(data, self._no, self._size, size)
        self._take(data)

    def piece(self, data: bytes, *, last: bool) -> None:
        """Part of a line that is too long to be handed over whole."""
        if self._size >= chunks.CHUNK_BYTES:
            self._close()
        line = self._line = self._line or self._new_line(is_long=True)
        line.length += len(data)
        if line.length > LONGEST_LINE:
            raise TooLarge("a line of 2 GiB or more cannot be kept as one event")
        if line.held is not None:
            line.held += data
            if line.length > formats.PARSE_LIMIT:
                line.held = None
        self._take(data)
        self._lines.text(data)
        if last:
            self._line = None
            self._end(line, b"", 0)

    def tail(self, data: bytes) -> None:
        """The end of the source, without a line end: kept, marked, replaced when it is whole."""
        if self._size and self._size + len(data) > chunks.CHUNK_BYTES:
            self._close()
        line = self._line = self._new_line(is_long=False)
        line.length = len(data)
        line.held = bytearray(data)
        self._take(data)

    @property
    def tip(self) -> Tip:
        """The end as of the last batch."""
        return self._tip

    @property
    def pending(self) -> int:
        """Bytes taken that are not yet in a batch."""
        return self._first_byte + self._size - self._tip.stored_bytes

    def take(self, *, is_last: bool = True) -> Batch:
        """Everything since the last batch, ready to be written. The appender goes on from there:
        its last chunk stays open and is written again, grown, with the next batch."""
        before, first_seq, unfinished = self._tip, self._first_seq, self._line
        whole, facts = self._lines.counts.frozen(), self._lines.notes.known()
        if unfinished is not None:
            text = None if unfinished.is_long else bytes(unfinished.held or b"")
            self._end(unfinished, text, Flag.INCOMPLETE.value)
        ready = [*self._full, self._chunk(is_full=False)] if self._size else self._full
        tail = unfinished.length if unfinished else 0
        end = self._first_byte + self._size
        usage_rows, call_rows, ties = self._lines.notes.take()
        told = self._lines.notes.known()
        self._tip = replace(
            before,
            facts=replace(told, whole=asdict(facts)) if unfinished else told,
            counts=self._lines.counts.frozen(),
            stored_bytes=end,
            raw_bytes=end - tail,
            chunks=self._no + bool(self._size),
            new=None,
        )
        batch = Batch(
            before=before,
            tip=self._tip,
            links=self._links,
            chunks=tuple(ready),
            event_rows=self._lines.take_rows(),
            usage_rows=usage_rows,
            call_rows=call_rows,
            ties=ties,
            first_seq=first_seq,
            tail_bytes=tail,
            is_last=is_last,
            learned=Learned(self._lines.blinder, self._lines.blinder.learned()),
        )
        # A line still in pieces was counted as the tail; it goes on, so it is not counted yet.
        self._lines.counts = Counter(whole)
        self._lines.notes.restore(facts)
        self._full, self._first_seq = [], whole.events
        return batch

    # The chunk being filled ---------------------------------------------------------------

    def _fresh(self, first_byte: int) -> OpenChunk:
        return OpenChunk(
            no=self._no,
            first_seq=self._lines.counts.events,
            first_byte=first_byte,
            raw=b"",
            terms=b"",
        )

    def _begin(self, chunk: OpenChunk) -> None:
        self._no = chunk.no
        self._chunk_seq = chunk.first_seq
        self._first_byte = chunk.first_byte
        self._parts = [chunk.raw] if chunk.raw else []
        self._size = len(chunk.raw)
        self._lines.begin_chunk(chunk.terms)

    def _take(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def _chunk(self, *, is_full: bool) -> RawChunk:
        raw = b"".join(self._parts)
        self._parts = [raw]
        return RawChunk(
            no=self._no,
            first_seq=self._chunk_seq,
            lines=self._lines.counts.events - self._chunk_seq,
            first_byte=self._first_byte,
            raw=raw,
            terms=self._lines.chunk_terms(),
            is_full=is_full,
        )

    def _close(self) -> None:
        done = self._chunk(is_full=True)
        self._full.append(done)
        self._no += 1
        self._begin(self._fresh(done.first_byte + len(done.raw)))

    # A line in pieces ---------------------------------------------------------------------

    def _new_line(self, *, is_long: bool) -> _Line:
        return _Line(chunk=self._no, start=self._size, held=bytearray(), is_long=is_long)

    def _end(self, line: _Line, text: bytes | None, flags: int) -> None:
        if line.held is None:
            flags |= Flag.OVERSIZED.value
            reading = oversized()
        else:
            reading = self._lines.read(bytes(line.held))
        self._lines.reading(reading, text, line.chunk, line.start, line.length, flags)


def oversized() -> Reading:
    reason = f"longer than {formats.PARSE_LIMIT // 2**20} MiB: kept, not interpreted"
    return Reading(body=Unreadable(reason=reason))
