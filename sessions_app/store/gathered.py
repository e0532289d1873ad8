"""Sessions on their way into the concordance: opened once more, and taken down word by word."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from sessions_app import formats
from sessions_app.domain import gathering, passages, words
from sessions_app.domain.concordance import Place, Section
from sessions_app.domain.errors import RecountError
from sessions_app.domain.events import Reading, Unreadable, gist_of
from sessions_app.domain.signs import Signs
from sessions_app.models import Session
from sessions_app.store import known, leaves, sessions
from sessions_app.store.leaves import Leaf

FETCHED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the row of a session said when it was looked at."""

    changed: int
    sort_at: datetime
    chunks: int
    head: bytes

    def says_as_much_as(self, other: "Seen") -> bool:
        return (self.head, self.chunks) == (other.head, other.chunks)


def portions(numbers: list[int], size: int) -> Iterator[list[int]]:
    for at in range(0, len(numbers), size):
        yield numbers[at : at + size]


class Gathered:
    """Sessions on their way into a section."""

    def __init__(self) -> None:
        self._gathering = gathering.Gathering()
        self.seen: dict[int, Seen] = {}
        self.hopeless: dict[int, Seen] = {}
        # Chunks that are covered anew, by session and number.
        self.again: set[tuple[int, int]] = set()

    @property
    def size(self) -> int:
        return self._gathering.size

    def section(self) -> Section:
        return self._gathering.section()

    def sessions(self, numbers: list[int], covered: dict[int, Seen]) -> None:
        rows = sessions.rows(numbers)
        months = _months_of(numbers)
        for number in numbers:
            row = rows.get(number)
            if row is not None:
                self._session(row, months.get(number, {}), covered.get(number))

    def _session(self, row: Session, months: dict[int, tuple[int, ...]], was: Seen | None) -> None:
        seen = Seen(
            changed=row.changed,
            sort_at=row.sort_at,
            chunks=row.chunks,
            head=bytes(row.head_hash),
        )
        # All but the last chunk that was covered are as they were.
        first = was.chunks - 1 if was and 0 < was.chunks <= row.chunks else 0
        try:
            found = list(_chunks_of(row, first, months))
        except RecountError:
            self.hopeless[row.id] = seen
            return
        for place, events in found:
            self._gathering.chunk(place, events)
        if was is not None:
            self.again |= {(row.id, no) for no in range(first, max(was.chunks, row.chunks))}
        self.seen[row.id] = seen


def _months_of(numbers: list[int]) -> dict[int, dict[int, tuple[int, ...]]]:
    """By session and chunk. All events of a chunk count, also those that only tools printed."""
    out: dict[int, dict[int, tuple[int, ...]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_MONTHS, [numbers])
        for number, chunk, months in cursor.fetchall():
            out.setdefault(number, {})[chunk] = tuple(months)
    return out


_MONTHS = """
    SELECT session_id, chunk, array_agg(DISTINCT month) FROM (
        SELECT session_id, chunk, (extract(year FROM at AT TIME ZONE 'UTC') * 12
               + extract(month FROM at AT TIME ZONE 'UTC') - 1)::int AS month
        FROM sessions_app_event WHERE session_id = ANY(%s) AND at IS NOT NULL
    ) told GROUP BY session_id, chunk
"""
_Chunk = tuple[Place, list[tuple[int, bytes]]]


def _chunks_of(row: Session, first: int, months: dict[int, tuple[int, ...]]) -> Iterator[_Chunk]:
    owner = known.of(row).owner
    for some in portions(list(range(first, row.chunks)), FETCHED):
        fetched = leaves.fetch([(row.id, no) for no in some])
        for no in some:
            if (row.id, no) not in fetched:
                raise RecountError(f"chunk {no} is not there")
            leaf = Leaf(row, owner, fetched[row.id, no])
            place = Place(row.id, no, months.get(no, ()))
            yield (
                place,
                [
                    (leaf.seq(line), _text_of(*told))
                    for line in reversed(list(leaf.lines(Signs(), has_results=False)))
                    if (told := _told(row, leaf, line)) is not None
                ],
            )


def _told(row: Session, leaf: Leaf, line: leaves.Line) -> tuple[Reading, bytes] | None:
    """A line over several chunks counts where it begins."""
    if not line.is_part:
        return leaves.reading_of(formats.BY_NAME.get(row.format, formats.UNKNOWN), line)
    if leaf.is_continued and not line.start:
        return None
    found = leaves.whole(row, leaf.seq(line))
    if isinstance(found.reading.body, Unreadable):
        raise RecountError("a line in parts that stand for themselves")
    return found.reading, found.raw


def _text_of(reading: Reading, raw: bytes) -> bytes:
    event = passages.event_of(reading, raw)
    gist = gist_of(reading.body)
    facets = [words.facet("kind", gist.kind.name.lower())]
    if event.is_error:
        facets.append(words.facet("is", "error"))
    if gist.tool:
        facets.append(words.facet("tool", gist.tool.casefold()))
    texts = (each.data for each in event.passages(has_results=False))
    return gathering.text_of(texts, facets)
