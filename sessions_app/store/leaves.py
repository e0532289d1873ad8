"""Opened chunks as a search reads them: the lines that can hold a hit, found by their bytes before
any of them is parsed."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from sessions_app import formats
from sessions_app.domain import passages
from sessions_app.domain.events import Reading, gist_of
from sessions_app.domain.signs import Signs
from sessions_app.formats import Format
from sessions_app.models import Event, Session
from sessions_app.store import chunks, prepared, read
from sessions_app.store.chunks import Owner, Place

# What the numbers of a line take beside its bytes.
LINE_BYTES = 100
_LINE_END = re.compile(rb"\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A chunk as it lies in the database, and where its first line begins."""

    session_id: int
    place: Place
    sealed: bytes
    # Of the line that comes first in it: the chunk it begins in, which may be an earlier one.
    first_chunk: int | None


def fetch(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Sealed]:
    """Several chunks of several sessions with one question."""
    if not wanted:
        return {}
    columns = [[each[0] for each in wanted], [each[1] for each in wanted]]
    return {
        (session_id, no): Sealed(
            session_id=session_id,
            place=Place(
                no=no,
                first_seq=first_seq,
                lines=lines,
                first_byte=first_byte,
                raw_len=raw_len,
                previous=previous,
            ),
            sealed=sealed,
            first_chunk=first_chunk,
        )
        for session_id, no, first_seq, lines, first_byte, raw_len, previous, sealed, first_chunk
        in prepared.rows(_FETCH, columns)
    }  # fmt: skip


_FETCH = """
    SELECT c.session_id, c.no, c.first_seq, c.lines, c.first_byte, c.raw_len, c.previous, c.sealed,
           e.chunk
    FROM unnest(%s::bigint[], %s::int4[]) AS w(session_id, no)
    JOIN sessions_app_chunk c ON c.session_id = w.session_id AND c.no = w.no
    LEFT JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.first_seq
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A stretch of a chunk. Which line of the session it is takes counting: `Leaf.seq` tells."""

    start: int
    raw: bytes
    # It goes on in a chunk before or behind this one.
    is_part: bool


# What a reading takes for each byte of its line, in several forms, and beside that.
HEARD_TIMES, HEARD_BYTES = 8, 4_000


class Heard:
    """An event as it was read: what a search looks at and what it tells of it."""

    __slots__ = ("at", "event", "passages", "role", "size", "tool")

    def __init__(self, reading: Reading, raw: bytes, model: str) -> None:
        self.event = passages.event_of(reading, raw, model=model)
        self.passages = self.event.passages(has_results=False)
        self.at = reading.at
        self.role = passages.label_of(reading.body)
        self.tool = gist_of(reading.body).tool
        self.size = HEARD_BYTES + HEARD_TIMES * len(raw)


class Leaf:
    """One opened chunk."""

    def __init__(self, session: Session, owner: Owner, sealed: Sealed) -> None:
        self.no = sealed.place.no
        self.first_seq = sealed.place.first_seq
        self.raw = chunks.opened(owner, sealed.place, sealed.sealed)
        self._session_id = session.id
        self._place = sealed.place
        self.is_continued = sealed.first_chunk is not None and sealed.first_chunk < self.no
        self._format = formats.BY_NAME.get(session.format, formats.UNKNOWN)
        self._is_result = self._format.is_result
        # In small letters, of chunks that are held.
        self._low: bytes | None = None
        self._has_results = True
        # Where its lines end, once somebody asks for the number of one.
        self._ends: list[int] | None = None
        self._records = None if self._format.cut is None else self._records_of_document()

    def _records_of_document(self) -> tuple[list[int], list[int]]:
        """Only the event rows know where they begin."""
        rows = Event.objects.filter(session_id=self._session_id, chunk=self.no).order_by("seq")
        found = list(rows.values_list("start", "seq"))
        if self.is_continued:
            found.insert(0, (0, self.first_seq))
        return [start for start, _ in found], [seq for _, seq in found]

    @property
    def size(self) -> int:
        """Bytes it takes while it is held, about."""
        return 2 * len(self.raw) + LINE_BYTES * self._number_of_lines()

    def without_results(self) -> "Leaf | None":
        """The lines a search that leaves out results looks at, as far as their bytes tell.
        None where a line goes on in another chunk."""
        if self._parts():
            return None
        out = copy(self)
        if self._is_result is not None:
            out._take_lines(self.lines(Signs(), has_results=False))
        out._low = out.raw.lower()
        return out

    def _take_lines(self, lines: Iterator[Line]) -> None:
        """These instead of all. They come from the last to the first."""
        kept = [(line.raw, self.seq(line)) for line in lines][::-1]
        sizes = [len(raw) for raw, _ in kept]
        starts = list(accumulate(sizes, initial=0))[:-1]
        self.raw = b"".join(raw for raw, _ in kept)
        self._records = starts, [seq for _, seq in kept]
        self._has_results, self._is_result, self._ends = False, None, None

    def seq(self, line: Line) -> int:
        if self._records is not None:
            starts, seqs = self._records
            return seqs[bisect_right(starts, line.start) - 1]
        return self.first_seq + bisect_left(self._line_ends(), line.start)

    def line(self, seq: int) -> Line | None:
        """By its number in the session, if it is here."""
        number = self._number_of(seq)
        if number is None:
            return None
        start, end = self._bounds(number)
        return Line(start=start, raw=self.raw[start:end], is_part=start in self._parts())

    def _number_of(self, seq: int) -> int | None:
        if self._records is None:
            return seq - self.first_seq if seq >= self.first_seq else None
        _, seqs = self._records
        number = bisect_left(seqs, seq)
        return number if number < len(seqs) and seqs[number] == seq else None

    def _bounds(self, number: int) -> tuple[int, int]:
        if self._records is not None:
            starts, _ = self._records
            return starts[number], starts[number + 1] if number + 1 < len(starts) else len(self.raw)
        ends = self._line_ends()
        start = ends[number - 1] + 1 if number else 0
        return start, ends[number] + 1 if number < len(ends) else len(self.raw)

    def _line_ends(self) -> list[int]:
        if self._ends is None:
            self._ends = [found.start() for found in _LINE_END.finditer(self.raw)]
        return self._ends

    def lines(self, signs: Signs, *, has_results: bool) -> Iterator[Line]:
        """Those whose bytes show all signs, from the last to the first."""
        is_result = None if has_results else self._is_result
        low = self.raw.lower() if self._low is None else self._low
        parts = self._parts()
        if not parts and not signs.may_stand_in(low):
            return
        guide = max(signs.alone, key=len, default=b"")
        for start, end in self._spans(low, guide):
            if start not in parts and signs.stand_in(low, start, end):
                raw = self.raw[start:end]
                if is_result is None or not is_result(raw):
                    yield Line(start=start, raw=raw, is_part=False)
        for start, end in parts.items():
            yield Line(start=start, raw=self.raw[start:end], is_part=True)

    def odd_lines(self, signs: Signs) -> Iterator[Line]:
        """Those whose bytes cannot tell. Together with `lines` they hold every hit."""
        parts = self._parts()
        spans = {self._span(at) for at in self._odd_places(signs.is_wide)}
        for start, end in sorted(spans, reverse=True):
            if start not in parts:
                yield Line(start=start, raw=self.raw[start:end], is_part=False)

    # Where lines begin and end ----------------------------------------------------------------

    def _span(self, at: int) -> tuple[int, int]:
        """Of the line that covers a place."""
        if self._records is not None:
            starts, _ = self._records
            number = bisect_right(starts, at)
            return starts[number - 1], (*starts, len(self.raw))[number]
        end = self.raw.find(b"\n", at) + 1
        return self.raw.rfind(b"\n", 0, at) + 1, end or len(self.raw)

    def _spans(self, low: bytes, guide: bytes) -> Iterator[tuple[int, int]]:
        """Of the lines that hold the guide, the last first."""
        start = len(low)
        while start > 0:
            at = low.rfind(guide, 0, start) if guide else start - 1
            if at < 0:
                return
            start, end = self._span(at)
            yield start, end

    def _parts(self) -> dict[int, int]:
        """Lines that go on before or behind this chunk, by their beginning. One that goes on
        behind it was not yet counted when the chunk was written."""
        if not self.raw:
            return {}
        out = [self._span(0)] if self.is_continued else []
        last = self._span(len(self.raw) - 1)
        is_whole = self._records is None and self.raw.endswith(b"\n")
        if not is_whole and self._number_of_lines() > self._place.lines:
            out.append(last)
        return dict(out)

    def _number_of_lines(self) -> int:
        if self._records is not None:
            return len(self._records[0])
        return self.raw.count(b"\n") + (not self.raw.endswith(b"\n"))

    def _odd_places(self, is_wide: bool) -> list[int]:
        """Most chunks have none: that is remembered, because finding it out takes as long as
        everything else."""
        if is_wide:
            return list(_odd_places(self.raw, is_wide=True))
        key = (self._session_id, self.no, len(self.raw), self._has_results)
        if key in _plain:
            return []
        found = list(_odd_places(self.raw, is_wide=False))
        if not found:
            if len(_plain) >= MOST_REMEMBERED:
                _plain.clear()
            _plain.add(key)
        return found


# Chunks without a letter that is spelled in another way than it looks.
MOST_REMEMBERED = 100_000
_plain: set[tuple[int, int, int, bool]] = set()


def whole(session: Session, seq: int) -> read.Line:
    """A line that spans chunks."""
    return read.event(session, seq, shown=formats.PARSE_LIMIT)


def reading_of(fmt: Format, line: Line) -> tuple[Reading, bytes]:
    raw = line.raw.removesuffix(b"\n") if fmt.cut is None else line.raw
    return formats.read(fmt, raw), raw


_ESCAPE = re.compile(rb"\\u([0-9A-Fa-f]{4})")
_ASCII = bytes(range(0x80))


def _odd_places(raw: bytes, is_wide: bool) -> Iterator[int]:
    """Where a letter is written as an escape, or a character stands that counts as another one.
    Few lines have any, as long as only letters of ASCII are looked for."""
    if b"\\u" in raw:
        for found in _ESCAPE.finditer(raw):
            if _is_odd_code(int(found[1], 16), is_wide):
                yield found.start()
    if raw.isascii():
        return
    for character in set(raw.translate(None, _ASCII).decode("utf-8", "ignore")):
        if _is_odd(character, is_wide):
            sought = character.encode()
            at = raw.find(sought)
            while at >= 0:
                yield at
                at = raw.find(sought, at + len(sought))


def _is_odd_code(code: int, is_wide: bool) -> bool:
    if code < 0x80:
        return chr(code).isalnum() or chr(code) in "_.-/"
    # The first halves of pairs that write mathematical and enclosed letters.
    return is_wide or code in (0xD835, 0xD83C) or _is_odd(chr(code), is_wide)


@lru_cache(maxsize=4096)
def _is_odd(character: str, is_wide: bool) -> bool:
    plain = unicodedata.normalize("NFKC", character).casefold()
    if any(each.isascii() and each.isalnum() for each in plain):
        return True
    return is_wide and plain != character
