"""Lines in, sealed chunks and event rows out: the only way bytes enter the record.

An `Appender` prepares batches outside any lock; `write` puts one into the database in a single
transaction, together with how far the source was read. The session row is locked and must still
be where the batch was prepared for: of two appenders one wins, the other is told `Moved` and
starts again from the new end. So lines never interleave, double or vanish.
"""

import struct
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sessions_app import formats
from sessions_app.domain import events, times
from sessions_app.domain.events import Flag, Gist, Kind, Reading
from sessions_app.store import chunks, keys
from sessions_app.store.chunks import Place, SealedChunk
from sessions_app.store.tip import Counts, OpenChunk, Tip

_POSTGRES_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
# One row of COPY … WITH BINARY: number of fields, then length and value of each.
_TIMED = struct.Struct(">hiqiiiiiiiiiqihihii")
_TIMELESS = struct.Struct(">hiqiiiiiiiiiihihii")
_FIELDS = 9
# As plain numbers: arithmetic on enum members costs more than reading the line.
_PROMPT = Flag.PROMPT.value
_ERROR = Flag.ERROR.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one transaction writes. `tip` is the end after it."""

    before: Tip
    tip: Tip
    chunks: tuple[SealedChunk, ...]
    event_rows: bytes
    first_seq: int
    tail_bytes: int


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line that arrives in pieces."""

    chunk: int
    start: int
    length: int
    held: bytearray | None


class Appender:
    """Prepares batches for one session, in order, from one thread."""

    def __init__(self, tip: Tip, *, now: datetime, project: str = "", agent: str = "") -> None:
        self._before = self._tip = tip
        self._format = formats.BY_NAME[tip.format]
        self._now = now
        self._blinder = keys.blinder(tip.workspace_id)
        self._standing = {
            self._blinder.of_facet(name, value)
            for name, value in (("agent", agent), ("project", project))
            if value
        }
        self._counts = _Counter(tip.counts)
        self._facts = tip.facts
        self._full: list[SealedChunk] = []
        self._rows: list[bytes] = []
        self._first_seq = tip.counts.events
        self._line: _Line | None = None
        self._no = tip.chunks
        self._previous = tip.previous
        self._begin(tip.open or self._fresh(tip.raw_bytes))

    # What a caller says -----------------------------------------------------------------

    def block(self, data: bytes) -> None:
        """Whole lines, each with its line end."""
        begin = at = 0
        lines = data.split(b"\n")
        lines.pop()
        for line in lines:
            size = len(line) + 1
            if self._size and self._size + size > chunks.CHUNK_BYTES:
                self._parts.append(data[begin:at])
                begin = at
                self._close()
            self._event(line, size)
            at += size
            self._size += size
        self._parts.append(data[begin:])

    def piece(self, data: bytes, *, last: bool) -> None:
        """Part of a line that is too long to be handed over whole."""
        line = self._line
        if line is None:
            if self._size >= chunks.CHUNK_BYTES:
                self._close()
            line = self._line = _Line(
                chunk=self._no, start=self._size, length=0, held=bytearray()
            )
        line.length += len(data)
        if line.held is not None:
            line.held += data
            if line.length > formats.PARSE_LIMIT:
                line.held = None
        self._parts.append(data)
        self._size += len(data)
        self._terms |= self._blinder.of_text(data)
        if last:
            self._end_of_line(line)
        if self._size >= chunks.CHUNK_BYTES:
            self._close()

    def tail(self, data: bytes) -> None:
        """The end of the source, without a line end: kept, marked, replaced when it is whole."""
        if self._line is not None:
            self.piece(data, last=False)
            return
        if self._size + len(data) > chunks.CHUNK_BYTES:
            self._close()
        self._line = _Line(
            chunk=self._no, start=self._size, length=len(data), held=bytearray(data)
        )
        self._parts.append(data)
        self._size += len(data)

    @property
    def tip(self) -> Tip:
        """The end as of the last batch."""
        return self._tip

    @property
    def pending(self) -> int:
        """Bytes taken since the last batch."""
        return self._first_byte + self._size - self._tip.raw_bytes

    def take(self) -> Batch:
        """Everything since the last batch, ready to be written. The appender goes on from there:
        its last chunk stays open and is written again, grown, with the next batch."""
        before, rows, first_seq = self._before, self._rows, self._first_seq
        unfinished = self._line
        counts = self._counts.frozen()
        if unfinished is not None:
            self._unfinished(unfinished)
        sealed = list(self._full)
        if self._size:
            sealed.append(self._sealed())
        tail = unfinished.length if unfinished else 0
        end = self._first_byte + self._size
        tip = replace(
            self._tip,
            facts=self._facts,
            counts=self._counts.frozen(),
            stored_bytes=end,
            stored_head=sealed[-1].hash if sealed else before.stored_head,
            raw_bytes=end - tail,
            chunks=self._no + bool(self._size),
            new=None,
        )
        # A line still in pieces is stored as the tail, counted as the tail, and goes on.
        self._counts = _Counter(counts)
        self._before = self._tip = tip
        self._full, self._rows, self._first_seq = [], [], counts.events
        return Batch(
            before=before,
            tip=tip,
            chunks=tuple(sealed),
            event_rows=b"".join(rows),
            first_seq=first_seq,
            tail_bytes=tail,
        )

    # The chunk being filled ---------------------------------------------------------------

    def _fresh(self, first_byte: int) -> OpenChunk:
        return OpenChunk(
            no=self._no,
            first_seq=self._counts.events,
            first_byte=first_byte,
            previous=self._previous,
            raw=b"",
            lines=0,
            terms=frozenset(),
        )

    def _begin(self, chunk: OpenChunk) -> None:
        self._no = chunk.no
        self._chunk_seq = chunk.first_seq
        self._first_byte = chunk.first_byte
        self._previous = chunk.previous
        self._parts = [chunk.raw] if chunk.raw else []
        self._size = len(chunk.raw)
        self._terms: set[bytes] = set(chunk.terms)
        self._texts: list[str] = []

    def _sealed(self) -> SealedChunk:
        raw = b"".join(self._parts)
        self._parts = [raw]
        if self._texts:
            self._terms |= self._blinder.of_text("\n".join(self._texts).encode())
            self._texts = []
        place = Place(
            no=self._no,
            first_seq=self._chunk_seq,
            lines=self._counts.events - self._chunk_seq,
            first_byte=self._first_byte,
            raw_len=len(raw),
            previous=self._previous,
        )
        return chunks.sealed(
            self._before.owner, place, raw, frozenset(self._terms | self._standing)
        )

    def _close(self) -> None:
        done = self._sealed()
        self._full.append(done)
        self._no += 1
        self._previous = done.hash
        self._begin(self._fresh(done.place.first_byte + done.place.raw_len))

    # The line being read ------------------------------------------------------------------

    def _event(self, line: bytes, size: int) -> None:
        reading = formats.read(self._format, line)
        self._record(reading, line, self._no, self._size, size, 0)

    def _record(
        self, reading: Reading, line: bytes, chunk: int, start: int, size: int, flags: int
    ) -> None:
        """Everything a line leaves behind: its row, its terms, the session's counts and title."""
        gist = events.gist_of(reading.body)
        flags |= gist.flags
        self._rows.append(
            _packed(
                self._before.session_id, self._counts.events, chunk, start, size, reading.at,
                gist.kind, flags, self._tool(gist.tool),
            )  # fmt: skip
        )
        self._counts.add(reading.at, gist.kind, flags, self._now)
        self._index(reading, gist, line)
        if flags & _PROMPT and not self._facts.title:
            self._facts = replace(self._facts, title=events.title_of(reading.body))

    def _tool(self, name: str) -> int:
        if not name:
            return 0
        term = self._blinder.of_facet("tool", name.casefold())
        self._terms.add(term)
        return int.from_bytes(term[4:], "big", signed=True)

    def _index(self, reading: Reading, gist: Gist, line: bytes) -> None:
        facet = self._blinder.of_facet
        if gist.kind is Kind.UNREADABLE:
            self._terms |= self._blinder.of_text(line)
        else:
            self._texts.extend(events.texts(reading.body))
        self._terms.add(facet("kind", gist.kind.name))
        if reading.at is not None:
            self._terms.add(facet("month", f"{reading.at.year}-{reading.at.month}"))
        if gist.flags & Flag.ERROR:
            self._terms.add(facet("is", "error"))

    def _end_of_line(self, line: _Line) -> None:
        self._line = None
        reading, flags = self._read_pieces(line)
        self._record(reading, b"", line.chunk, line.start, line.length, flags)

    def _read_pieces(self, line: _Line) -> tuple[Reading, int]:
        if line.held is None:
            reason = f"longer than {formats.PARSE_LIMIT // 2**20} MiB: kept, not interpreted"
            return Reading(body=events.Unreadable(reason=reason)), Flag.OVERSIZED.value
        return formats.read(self._format, bytes(line.held)), 0

    def _unfinished(self, line: _Line) -> None:
        reading, flags = self._read_pieces(line)
        held = bytes(line.held) if line.held is not None else b""
        flags |= Flag.INCOMPLETE.value
        self._record(reading, held, line.chunk, line.start, line.length, flags)


class _Counter:
    """Counts while lines stream by; plain attributes, because it is touched for every line."""

    __slots__ = ("errors", "events", "last_at", "prompts", "started_at", "unreadable")

    def __init__(self, counts: Counts) -> None:
        self.events = counts.events
        self.prompts = counts.prompts
        self.errors = counts.errors
        self.unreadable = counts.unreadable
        self.started_at = counts.started_at
        self.last_at = counts.last_at

    def add(self, said: datetime | None, kind: Kind, flags: int, now: datetime) -> None:
        self.events += 1
        self.prompts += flags & _PROMPT > 0
        self.errors += flags & _ERROR > 0
        self.unreadable += kind is Kind.UNREADABLE
        at = times.plausible(said, now)
        if at is not None:
            self.started_at = at if self.started_at is None else min(self.started_at, at)
            self.last_at = at if self.last_at is None else max(self.last_at, at)

    def frozen(self) -> Counts:
        return Counts(
            events=self.events,
            prompts=self.prompts,
            errors=self.errors,
            unreadable=self.unreadable,
            started_at=self.started_at,
            last_at=self.last_at,
        )


def _packed(
    session_id: int,
    seq: int,
    chunk: int,
    start: int,
    size: int,
    at: datetime | None,
    kind: int,
    flags: int,
    tool: int,
) -> bytes:
    if at is None:
        return _TIMELESS.pack(
            _FIELDS, 8, session_id, 4, seq, 4, chunk, 4, start, 4, size, -1, 2, kind, 2, flags,
            4, tool,
        )  # fmt: skip
    since = at - _POSTGRES_EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return _TIMED.pack(
        _FIELDS, 8, session_id, 4, seq, 4, chunk, 4, start, 4, size, 8, micros, 2, kind, 2, flags,
        4, tool,
    )  # fmt: skip
