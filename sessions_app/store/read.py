"""Reading the record: windows of events, whole streams of bytes. Opens only the chunks it shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sessions_app import formats
from sessions_app.domain.errors import BrokenRecord, NotFound
from sessions_app.domain.events import Flag, Kind, Reading, Unreadable
from sessions_app.models import Chunk, Event, Session
from sessions_app.store import chunks
from sessions_app.store.tip import place_of, vouched

# A line longer than this is shown by its head; the rest is one click away.
SHOWN_BYTES = 2 * 1024 * 1024
# A window of many long lines is hostile or unlucky: past this, each is shown by a short head.
WINDOW_BYTES = 16 * 1024 * 1024
SHORT_BYTES = 4 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    seq: int
    at: datetime | None
    kind: Kind
    flags: Flag
    length: int
    raw: bytes
    reading: Reading

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < self.length


def window(session: Session, lo: int, hi: int, *, shown: int = SHOWN_BYTES) -> list[Line]:
    """Events lo ≤ seq < hi."""
    rows = list(
        Event.objects.filter(session_id=session.id, seq__gte=lo, seq__lt=hi).order_by("seq")
    )
    if not rows:
        return []
    book = _Book(session)
    lines = []
    left = WINDOW_BYTES
    for row in rows:
        lines.append(_line(session, book, row, shown if row.length <= left else SHORT_BYTES))
        left = max(0, left - len(lines[-1].raw))
    return lines


def event(session: Session, seq: int, *, shown: int = SHOWN_BYTES) -> Line:
    found = window(session, seq, seq + 1, shown=shown)
    if not found:
        raise NotFound(f"this session has no event {seq}")
    return found[0]


class _Book:
    """The chunks of one session that were opened for one request."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._owner = vouched(session)
        self._raw: dict[int, bytes] = {}

    def _raw_of(self, no: int) -> bytes:
        if no not in self._raw:
            row = Chunk.objects.defer("terms").filter(session_id=self._session.id, no=no).first()
            if row is None:
                raise BrokenRecord(f"chunk {no} of session {self._session.uid} is missing")
            # Lines come in order: a chunk that was left behind is not needed again.
            self._raw.clear()
            self._raw[no] = chunks.opened(self._owner, place_of(row), bytes(row.sealed))
        return self._raw[no]

    def take(self, chunk: int, start: int, length: int) -> bytes:
        """Bytes of a line, over as many chunks as it spans."""
        out = bytearray()
        while len(out) < length:
            out += self._raw_of(chunk)[start : start + length - len(out)]
            chunk, start = chunk + 1, 0
        return bytes(out)


def _line(session: Session, book: _Book, row: Event, shown: int) -> Line:
    raw = book.take(row.chunk, row.start, min(row.length, shown))
    return Line(
        seq=row.seq,
        at=row.at,
        kind=Kind(row.kind),
        flags=Flag(row.flags),
        length=row.length,
        raw=raw,
        reading=_reading(session, row, raw),
    )


def _reading(session: Session, row: Event, raw: bytes) -> Reading:
    if len(raw) < row.length:
        size = f"{row.length:,}"
        return Reading(body=Unreadable(reason=f"a line of {size} bytes: only its head is shown"))
    return formats.read(formats.BY_NAME.get(session.format, formats.UNKNOWN), raw)


def stream(session: Session, *, upto: int | None = None) -> Iterator[bytes]:
    """The bytes that came in, in order, a chunk at a time."""
    held = vouched(session)
    left = session.raw_bytes if upto is None else upto
    rows = Chunk.objects.filter(session_id=session.id).order_by("no").defer("terms")
    for row in rows.iterator(chunk_size=16):
        raw = chunks.opened(held, place_of(row), bytes(row.sealed))
        yield raw[:left]
        left -= len(raw)
        if left <= 0:
            return
    if left > 0:
        raise BrokenRecord(f"session {session.uid}: {left} bytes at its end are missing")
