"""What lines mean, as rows: one slim event row each, terms of their chunk, the session's counts;
and through the notebook what they say about their session.

Used on the way in (append) and whenever the meaning is derived anew (reproject).
"""

import struct
from datetime import datetime

from sessions_app import formats
from sessions_app.domain import events, times, words
from sessions_app.domain.events import Flag, Kind, Reading
from sessions_app.store import facts as facts_of
from sessions_app.store import keys
from sessions_app.store.chunks import Owner
from sessions_app.store.facts import Facts
from sessions_app.store.notes import Notebook, micros
from sessions_app.store.sources import Fingerprints
from sessions_app.store.tip import Counts
from sessions_app.vault.terms import once

# One row of COPY … WITH BINARY: number of fields, then length and value of each.
_TIMED = struct.Struct(">hiqiiiiiiiiiqihihii")
_TIMELESS = struct.Struct(">hiqiiiiiiiiiihihii")
_FIELDS = 9
# As plain names and numbers: enum members cost more than reading the line.
_UNREADABLE = Kind.UNREADABLE
_PROMPT = Flag.PROMPT.value
_ERROR = Flag.ERROR.value
_SIDECHAIN = Flag.SIDECHAIN.value
_INCOMPLETE = Flag.INCOMPLETE.value


class Projector:
    """Takes lines in order; gives event rows and, chunk by chunk, terms."""

    def __init__(
        self,
        *,
        session_id: int,
        owner: Owner,
        fmt: str,
        counts: Counts,
        facts: Facts,
        agent: str,
        now: datetime,
    ) -> None:
        self.counts = Counter(counts)
        self._session_id = session_id
        self.read = formats.BY_NAME[fmt].read
        self.blinder = blinder = keys.blinder(owner.workspace_id)
        self.notes = Notebook(
            session_id=session_id,
            uid=owner.uid,
            facts=facts,
            marks=Fingerprints(owner.workspace_id),
            blinder=blinder,
        )
        if not counts.events:
            self.notes.begin()
        # A time from tomorrow orders no list; the row still keeps what the log said.
        self._latest = now + times.CLOCK_SLACK
        self._rows: list[bytes] = []
        # Terms of words, as they come; terms of facets, each once.
        self._words: list[bytes] = []
        self._facets: set[bytes] = set()
        # Numbers of the tools that are among these facets.
        self._tools: dict[str, int] = {}
        self._said: list[str] = []
        self._printed: list[str] = []
        self._kinds: set[Kind] = set()
        # Counted from the year 0.
        self._months: set[int] = set()
        self._agent = agent

    def line(self, line: bytes, chunk: int, start: int, size: int) -> None:
        self.reading(self.read(line), line, chunk, start, size, 0)

    def reading(
        self, reading: Reading, line: bytes | None, chunk: int, start: int, size: int, flags: int
    ) -> None:
        """Everything a line leaves behind: its row, its terms, the session's counts and title.
        Without its text it leaves no terms: a line in pieces may still turn out otherwise."""
        body, at, notes = reading.body, reading.at, reading.notes
        kind, told, tool, (said, printed) = events.survey(body, self.notes.flags(notes))
        flags |= told
        seq = self.counts.events
        term = self._tool(tool) if tool else 0
        self._rows.append(_packed(self._session_id, seq, chunk, start, size, at, kind, flags, term))
        self.counts.add(at, kind, flags, self._latest)
        if line is not None:
            self._said += said
            self._printed += printed
            self._index(kind, told, at, line)
        self.notes.line(body, notes, flags, at, seq)
        if flags & _PROMPT or (not seq and flags & _SIDECHAIN and kind is Kind.USER):
            self.notes.title(body)

    def text(self, raw: bytes) -> None:
        """Words of bytes that are not, or not yet, a line."""
        if words.is_noise(raw):
            return
        self._words.append(self.blinder.of_text(raw))

    def _tool(self, name: str) -> int:
        number = self._tools.get(name)
        if number is None:
            folded = name.casefold()
            self._facets.add(self.blinder.of_facet("tool", folded))
            number = self._tools[name] = self.blinder.number_of_facet("tool", folded)
        return number

    def _index(self, kind: Kind, flags: int, at: datetime | None, line: bytes) -> None:
        if kind is _UNREADABLE:
            self.text(line)
        self._kinds.add(kind)
        if flags & _ERROR:
            self._facets.add(self.blinder.of_facet("is", "error"))
        if at is not None:
            self._months.add(at.year * 12 + at.month - 1)

    def begin_chunk(self, terms: bytes = b"") -> None:
        self._words = [terms] if terms else []
        self._facets.clear()
        self._tools.clear()
        self._said, self._printed = [], []
        self._kinds.clear()
        self._months.clear()

    def chunk_terms(self) -> bytes:
        """Each once: several words share a term, and a chunk that grows by many small steps meets
        the same ones with every step."""
        if self._said or self._printed:
            said, printed = _distinct(self._said), _distinct(self._printed)
            self._words.append(self.blinder.of_text(said, printed=printed))
            self._said, self._printed = [], []
        facet = self.blinder.of_facet
        facets = set(self._facets)
        project = facts_of.project_of(self.notes.facts)
        facets.update(
            facet(name, value)
            for name, value in (("agent", self._agent), ("project", project))
            if value
        )
        facets.update(facet("kind", kind.name.lower()) for kind in self._kinds)
        facets.update(facet("month", f"{n // 12}-{n % 12 + 1:02}") for n in self._months)
        return once(b"".join((*self._words, *facets)))

    def take_rows(self) -> bytes:
        rows, self._rows = self._rows, []
        return b"".join(rows)


def _distinct(texts: list[str]) -> bytes:
    """Most strings of a log are short and come again with every line."""
    return "\n".join(set(texts)).encode()


class Counter:
    """Counts while lines stream by; plain attributes, because it is touched for every line."""

    __slots__ = ("errors", "events", "last_at", "prompts", "started_at", "unreadable")

    def __init__(self, counts: Counts) -> None:
        self.events = counts.events
        self.prompts = counts.prompts
        self.errors = counts.errors
        self.unreadable = counts.unreadable
        self.started_at = counts.started_at
        self.last_at = counts.last_at

    def add(self, said: datetime | None, kind: Kind, flags: int, latest: datetime) -> None:
        self.events += 1
        self.prompts += flags & _PROMPT > 0
        self.errors += flags & _ERROR > 0
        # A line still being written is not broken yet.
        self.unreadable += kind is _UNREADABLE and not flags & _INCOMPLETE
        if said is None or said > latest:
            return
        if self.started_at is None or said < self.started_at:
            self.started_at = said
        if self.last_at is None or said > self.last_at:
            self.last_at = said

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
    return _TIMED.pack(
        _FIELDS, 8, session_id, 4, seq, 4, chunk, 4, start, 4, size, 8, micros(at), 2, kind,
        2, flags, 4, tool,
    )  # fmt: skip
