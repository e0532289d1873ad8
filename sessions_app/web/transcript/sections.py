"""A stretch of a session as the page shows it: turns, folded work, breaks, events."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import ClassVar, TypeVar, assert_never
from uuid import UUID

from sessions_app import renderings
from sessions_app.domain import transcript
from sessions_app.domain.events import Message, Record, Thinking, TieKind, ToolCall, ToolResult
from sessions_app.domain.sorts import Sort, Sought
from sessions_app.domain.transcript import Break, BreakKind, Entry, Run, Said, Turn, is_quiet
from sessions_app.formats.side_files import named_in
from sessions_app.models import Session
from sessions_app.renderings.pen import ROOM, Pen, generous
from sessions_app.store import calls, read, sift, threads, turns
from sessions_app.store.read import Line
from sessions_app.store.sift import SECTION
from sessions_app.web.transcript import events
from sessions_app.web.transcript.desk import Density, Desk, entry_of, joined, known_calls
from sessions_app.web.transcript.events import EventView

# Summing up a longer turn takes a moment: the page asks for it when the turn is looked at.
LONG_TURN = 5_000
MOST_NAMES = 6
NEAR = 50
# So many events of work are shown one below the other; more fold into a line.
UNFOLDED = {Density.COMFORTABLE: 10_000, Density.NORMAL: 3, Density.COMPACT: 1, Density.SKIM: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How somebody looks at a session, and from where."""

    density: Density = Density.NORMAL
    # An event that is to be seen, whatever else is folded.
    target: int | None = None
    # Where the session's pages are, seen from the page that shows this one.
    base: str = ""
    # Keeps ids apart where a page shows two sessions.
    prefix: str = ""
    # What its events may take of the answer.
    room: int = ROOM


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    kind: ClassVar[str] = "turn"
    seq: int
    anchor: str
    base: str
    number: int
    # None where it is asked for later.
    sums: turns.TurnSums | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakView:
    kind: ClassVar[str] = "break"
    anchor: str
    what: str
    icon: str
    text: str
    gap: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Events of a run; bookkeeping among them is folded once more."""

    anchor: str
    events: tuple[EventView, ...]
    names: tuple[tuple[str, int], ...]
    is_quiet: bool
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    kind: ClassVar[str] = "run"
    anchor: str
    stretches: tuple[Stretch, ...]
    calls: int
    # Of calls that stand among the words before the run.
    results: int
    names: tuple[tuple[str, int], ...]
    failed: int
    thoughts: int
    records: int
    took: timedelta | None
    # Few enough to stand open without a line of their own.
    is_bare: bool
    is_open: bool

    @property
    def events(self) -> tuple[EventView, ...]:
        return tuple(event for stretch in self.stretches for event in stretch.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidView:
    kind: ClassVar[str] = "said"
    events: tuple[EventView, ...]


ItemView = TurnView | BreakView | RunView | SaidView


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView:
    lo: int
    items: tuple[ItemView, ...]
    hidden: int
    total: int

    @property
    def number(self) -> int:
        return sum(len(item.events) for item in self.items if isinstance(item, RunView | SaidView))


def window(session: Session, lo: int, hi: int, reader: Reader) -> SectionView:
    """Events lo ≤ seq < hi, grouped."""
    hi = min(hi, lo + SECTION, session.events)
    lines = read.window(session, lo, hi)
    around = sift.surroundings(session, lo, hi)
    desk = _desk(session, lines, reader)
    items = transcript.items(map(entry_of, lines), latest=around.latest)
    shown = _Shown(session, {line.seq: line for line in lines}, desk, reader, around)
    return _section(session, lo, tuple(shown.items(items)))


def picked(session: Session, sought: Sought, seqs: tuple[int, ...], reader: Reader) -> SectionView:
    """Events of a kind, one by one. Calls of one tool bring their results along, and errors what
    was called."""
    if not seqs:
        return _section(session, 0, ())
    paired = calls.pairings(session, seqs[0], seqs[-1] + 1)
    lines = read.some(session, sorted({*seqs, *_beside(paired, seqs, sought)}))
    desk = _desk(session, lines, reader, paired)
    shown = tuple(events.event(line, desk) for line in lines)
    return _section(session, seqs[0], (SaidView(events=shown),))


def whole(session: Session, seq: int, reader: Reader) -> EventView:
    """One event with everything in it, and its call if that is near."""
    lines = read.window(session, max(0, seq - 3), seq + 1)
    if not lines or lines[-1].seq != seq:
        lines = [read.event(session, seq)]
    desk = _desk(session, lines, reader)
    desk.is_whole, desk.pen = True, generous()
    return events.event(lines[-1], desk)


def turn(session: Session, seq: int, reader: Reader) -> TurnView:
    """A turn by its prompt, summed up however long it is."""
    only = Sought(sorts=frozenset({Sort.PROMPTS}))
    end = sift.step(session, only, seq) or session.events
    number = sift.surroundings(session, seq, end).prompts_before + 1
    return TurnView(
        seq=seq,
        anchor=f"{reader.prefix}t{seq}",
        base=reader.base,
        number=number,
        sums=turns.sums(session, {seq: end})[seq],
    )


def prefix_of(uid: UUID) -> str:
    return f"s{uid.hex[:8]}-"


def _beside(
    paired: dict[int, list[calls.Pairing]], seqs: Iterable[int], sought: Sought
) -> Iterator[int]:
    """The other halves of calls, where they are near: those far away have a link."""
    for seq in seqs:
        for each in paired.get(seq, []):
            is_asked = Sort.ERRORS in sought.sorts if each.is_result else bool(sought.tool)
            if is_asked and each.other is not None and abs(each.other - seq) <= NEAR:
                yield each.other


def _section(session: Session, lo: int, items: tuple[ItemView, ...]) -> SectionView:
    shown = (each for item in items if isinstance(item, RunView | SaidView) for each in item.events)
    hidden = sum(event.hidden_count for event in shown)
    return SectionView(lo=lo, items=items, hidden=hidden, total=session.events)


def _desk(
    session: Session,
    lines: list[Line],
    reader: Reader,
    paired: dict[int, list[calls.Pairing]] | None = None,
) -> Desk:
    known = known_calls(lines)
    if paired is None and lines:
        paired = calls.pairings(session, lines[0].seq, lines[-1].seq + 1)
    return Desk(
        base=reader.base,
        prefix=reader.prefix,
        density=reader.density,
        target=reader.target,
        pen=Pen(room=reader.room),
        calls=known,
        joined=joined(lines, known),
        pairs=paired or {},
        started=threads.started(session, _started(lines)),
        outputs=threads.outputs(session, {name for each in lines for name in named_in(each.raw)}),
    )


def _started(lines: list[Line]) -> set[str]:
    notes = (line.reading.notes for line in lines)
    ties = (tie for each in notes if each for tie in each.ties)
    return {tie.id for tie in ties if tie.kind is TieKind.STARTED}


@dataclass(slots=True)
class _Shown:
    """Items of the domain as items of the page, in order."""

    session: Session
    lines: dict[int, Line]
    desk: Desk
    reader: Reader
    around: sift.Surroundings

    def items(self, items: list[transcript.Item]) -> Iterator[ItemView]:
        sums = turns.sums(self.session, self._ends(items))
        number = self.around.prompts_before
        for item in items:
            match item:
                case Turn():
                    number += 1
                    yield self._turn(item, number, sums.get(item.seq))
                case Break():
                    yield self._break(item)
                case Run():
                    yield self._run(item)
                case Said():
                    yield SaidView(events=(self._event(item.entry),))
                case _:
                    assert_never(item)

    def _event(self, entry: Entry) -> EventView:
        return events.event(self.lines[entry.seq], self.desk)

    def _ends(self, items: list[transcript.Item]) -> dict[int, int]:
        begins = [item.seq for item in items if isinstance(item, Turn)]
        last = self.around.next_prompt or self.session.events
        ends = dict(zip(begins, [*begins, last][1:], strict=True))
        return {lo: hi for lo, hi in ends.items() if hi - lo <= LONG_TURN}

    def _turn(self, item: Turn, number: int, sums: turns.TurnSums | None) -> TurnView:
        return TurnView(
            seq=item.seq,
            anchor=f"{self.reader.prefix}t{item.seq}",
            base=self.reader.base,
            number=number,
            sums=sums,
        )

    def _break(self, item: Break) -> BreakView:
        what, icon, text = _BREAKS[item.kind]
        return BreakView(
            anchor=f"{self.reader.prefix}b{item.seq}{item.kind.value[0]}",
            what=what,
            icon=icon,
            text=item.model if item.kind is BreakKind.MODEL else text,
            gap=item.gap,
        )

    def _run(self, run: Run) -> RunView:
        entries = run.entries
        calls = Counter(renderings.name(call) for call in _parts(entries, ToolCall))
        results = list(_parts(entries, ToolResult))
        loud = [entry for entry in entries if not is_quiet(entry)]
        is_bare = bool(loud) and len(loud) <= UNFOLDED[self.reader.density]
        return RunView(
            anchor=f"{self.reader.prefix}r{entries[0].seq}",
            stretches=tuple(self._stretches(entries, is_folded=bool(loud))),
            calls=calls.total(),
            results=len(results),
            names=_most(calls) or _most(self._answered(results)) or _labels(entries),
            failed=sum(result.is_error for result in results),
            thoughts=sum(1 for _ in _parts(entries, Thinking)),
            records=len(entries) - len(loud),
            took=_took(entries),
            is_bare=is_bare,
            is_open=is_bare or self._has_target(entries),
        )

    def _answered(self, results: list[ToolResult]) -> Counter[str]:
        known = (self.desk.calls.get(result.call_id) for result in results)
        return Counter(renderings.name(each.call) for each in known if each)

    def _has_target(self, entries: tuple[Entry, ...]) -> bool:
        return any(entry.seq == self.reader.target for entry in entries)

    def _stretches(self, entries: tuple[Entry, ...], *, is_folded: bool) -> Iterator[Stretch]:
        for quiet, found in groupby(entries, key=is_quiet):
            group = tuple(found)
            yield Stretch(
                anchor=f"{self.reader.prefix}q{group[0].seq}",
                events=tuple(self._event(entry) for entry in group),
                names=_labels(group) if quiet else (),
                is_quiet=quiet and is_folded and len(group) > 1,
                is_open=self._has_target(group),
            )


_BREAKS = {
    BreakKind.COMPACTION: (
        "Context compacted",
        "archive",
        "From here on the model knew less of what came before.",
    ),
    BreakKind.RESUMED: ("Resumed", "clock", ""),
    BreakKind.MODEL: ("Model changed", "sparkles", ""),
}


Kind = TypeVar("Kind")


def _parts(entries: tuple[Entry, ...], kind: type[Kind]) -> Iterator[Kind]:
    for entry in entries:
        if isinstance(entry.body, Message) and not is_quiet(entry):
            yield from (part for part in entry.body.parts if isinstance(part, kind))


def _labels(entries: tuple[Entry, ...]) -> tuple[tuple[str, int], ...]:
    """What bookkeeping is called."""
    return _most(Counter(e.body.label for e in entries if isinstance(e.body, Record)))


def _most(names: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(names.most_common(MOST_NAMES))


def _took(entries: tuple[Entry, ...]) -> timedelta | None:
    times: list[datetime] = [entry.at for entry in entries if entry.at]
    return max(times) - min(times) if len(times) > 1 else None
