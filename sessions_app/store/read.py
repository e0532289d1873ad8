"""Reading the record: windows of events, whole streams of bytes. Opens only the chunks it shows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, QuerySet

from sessions_app import formats
from sessions_app.domain import losses
from sessions_app.domain.errors import BrokenRecord, NotFound
from sessions_app.domain.events import Flag, Kind, Reading, Unreadable
from sessions_app.formats import lineage, pictures
from sessions_app.models import Chunk, Event, Session
from sessions_app.store import chunks
from sessions_app.store.tip import place_of, vouched

# A line longer than this is shown by its head; the rest is one click away.
SHOWN_BYTES = 2 * 1024 * 1024
# A window of many long lines is hostile or unlucky: past this, each is shown by a short head.
WINDOW_BYTES = 16 * 1024 * 1024
SHORT_BYTES = 4 * 1024
# How many rows of a long walk are asked for at once.
ROWS = 500
PICTURE_BYTES = 32 * 1024 * 1024


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

    @property
    def loss(self) -> str:
        """What the line says and its reading does not, as a sentence."""
        is_read = not (self.is_cut or isinstance(self.reading.body, Unreadable))
        return losses.of(self.raw) if is_read else ""


def window(session: Session, lo: int, hi: int, *, shown: int = SHOWN_BYTES) -> list[Line]:
    """Events lo ≤ seq < hi."""
    rows = Event.objects.filter(session_id=session.id, seq__gte=lo, seq__lt=hi)
    return _last_versions(session.format, _lines(session, list(rows.order_by("seq")), shown))


def _last_versions(fmt: str, lines: list[Line]) -> list[Line]:
    """Of several versions of a record the last one counts: those before it say less of the same.
    A prompt stays one: turns are counted by the rows."""
    if fmt not in lineage.VERSIONS:
        return lines
    out: list[Line] = []
    seen: set[str] = set()
    for line in reversed(lines):
        name = lineage.version_of(fmt, line.raw)
        if name in seen and not line.flags & Flag.PROMPT:
            line = replace(line, flags=line.flags & ~Flag.ERROR | Flag.ECHO)
        if name:
            seen.add(name)
        out.append(line)
    return out[::-1]


def some(session: Session, seqs: Collection[int], *, shown: int = SHOWN_BYTES) -> list[Line]:
    """Single events from anywhere in the session, in order. Only the chunks that hold them are
    opened."""
    if not seqs:
        return []
    rows = Event.objects.filter(session_id=session.id, seq__in=list(seqs))
    return _lines(session, list(rows.order_by("seq")), shown)


def _lines(session: Session, rows: list[Event], shown: int) -> list[Line]:
    if not rows:
        return []
    book = _Book(session)
    lines = []
    left = WINDOW_BYTES
    for row in rows:
        lines.append(_line(session, book, row, shown if row.length <= left else SHORT_BYTES))
        left = max(0, left - len(lines[-1].raw))
    return lines


def each(session: Session, lo: int, hi: int, *, shown: int = SHOWN_BYTES) -> Iterator[Line]:
    """The same events one by one: of any number of them, one and its chunk are in memory."""
    book = _Book(session)
    for start in range(lo, hi, ROWS):
        here = Event.objects.filter(session_id=session.id, seq__gte=start)
        for row in here.filter(seq__lt=min(start + ROWS, hi)).order_by("seq"):
            yield _line(session, book, row, shown)


def event(session: Session, seq: int, *, shown: int = SHOWN_BYTES) -> Line:
    found = window(session, seq, seq + 1, shown=shown)
    if not found:
        raise NotFound(f"this session has no event {seq}")
    return found[0]


def whole(session: Session, seqs: list[int], *, longest: int) -> Iterator[Line]:
    """The whole lines of these events, in order. A chunk is opened once; of a line longer than
    `longest` only the head is read."""
    book = _Book(session)
    for at in range(0, len(seqs), ROWS):
        rows = Event.objects.filter(session_id=session.id, seq__in=seqs[at : at + ROWS])
        for row in rows.order_by("seq"):
            if not row.flags & Flag.INCOMPLETE:
                shown = longest if row.length <= longest else SHORT_BYTES
                yield _line(session, book, row, shown)


def picture(session: Session, seq: int, no: int) -> pictures.Found:
    """The picture of that number in an event. A line longer than all pictures together may be is
    not searched."""
    found = pictures.found(event(session, seq, shown=PICTURE_BYTES).raw)
    if no >= len(found):
        raise NotFound(f"event {seq} has no such picture")
    return found[no]


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


def stretch(session: Session, lo: int, hi: int) -> bytes:
    """The stored bytes lo ≤ n < hi. Only the chunks that hold them are opened."""
    held = vouched(session)
    out = b"".join(_piece(held, row, lo, hi) for row in _holding(session, lo, hi))
    if len(out) != max(0, min(hi, session.raw_bytes) - lo):
        raise BrokenRecord(f"session {session.uid}: bytes between {lo} and {hi} are missing")
    return out


def between(session: Session, lo: int, hi: int) -> Iterator[bytes]:
    """The same bytes, a chunk at a time. Each is asked for alone: a cursor that outlives its
    transaction would have Postgres write all of them down before the first is sent."""
    held = vouched(session)
    left = max(0, min(hi, session.raw_bytes) - lo)
    for no in list(_holding(session, lo, hi).values_list("no", flat=True)):
        for row in Chunk.objects.filter(session_id=session.id, no=no).defer("terms"):
            piece = _piece(held, row, lo, hi)
            left -= len(piece)
            yield piece
    if left:
        raise BrokenRecord(f"session {session.uid}: bytes between {lo} and {hi} are missing")


def _holding(session: Session, lo: int, hi: int) -> QuerySet[Chunk]:
    return (
        Chunk.objects.filter(session_id=session.id, first_byte__lt=hi)
        .annotate(end=F("first_byte") + F("raw_len"))
        .filter(end__gt=lo)
        .order_by("no")
        .defer("terms")
    )


def _piece(held: chunks.Owner, row: Chunk, lo: int, hi: int) -> bytes:
    raw = chunks.opened(held, place_of(row), bytes(row.sealed))
    return raw[max(0, lo - row.first_byte) : hi - row.first_byte]


def span(session: Session, lo: int, hi: int) -> tuple[int, int]:
    """The bytes of the events lo ≤ seq < hi, of which there is at least one: lines lie in the
    record without a gap."""
    return _at(session, lo)[0], _at(session, hi - 1)[1]


def _at(session: Session, seq: int) -> tuple[int, int]:
    row = Event.objects.filter(session_id=session.id, seq=seq).first()
    held = Chunk.objects.filter(session_id=session.id, no=row.chunk) if row else None
    start = held.values_list("first_byte", flat=True).first() if held is not None else None
    if row is None or start is None:
        raise BrokenRecord(f"session {session.uid}: the place of event {seq} is not known")
    return start + row.start, start + row.start + row.length


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
