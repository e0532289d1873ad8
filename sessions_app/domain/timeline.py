"""What a timeline shows of a session: lanes, counts in bins, bars, and the marks of its life."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import pairwise
from math import log1p
from typing import NamedTuple

from sessions_app.domain.axis import MINUTE, Axis, Pause, Window
from sessions_app.domain.events import (
    Body,
    Flag,
    Kind,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    says_something,
    short,
)

# More than 2,000 in one view cost the browser more than they tell the eye; the rest of them is for
# milestones and sessions of subagents.
MOST_MARKS = 1_600
# Up to so many events in view each is drawn by itself, with its length.
MOST_BARS = 500
TOP_TOOLS = 5
# After a longer pause the session is said to have been resumed.
RESUMED_AFTER = 30 * MINUTE
# An answer is drawn from the line before it on, unless that is so long ago that it was no wait.
LONGEST_ANSWER = 10 * MINUTE


class Lane(IntEnum):
    """Every event is in one of these. Tools of the first ranks have lanes of their own, numbered
    after `TOOLS`; the database counts with the same numbers."""

    PROMPTS = 1
    ASSISTANT = 2
    SUBAGENTS = 3
    OTHER = 4
    TOOLS = 10


_PRIMARY = (
    (Flag.SIDECHAIN.value, Lane.SUBAGENTS),
    (Flag.ECHO.value, Lane.OTHER),
    (Flag.PROMPT.value, Lane.PROMPTS),
)


def lane_of(kind: int, flags: int, tool: int, top: Sequence[int], *, is_subagent: bool) -> int:
    """In a subagent's own log every line is a subagent's, and that says nothing."""
    if is_subagent:
        flags &= ~Flag.SIDECHAIN
    for flag, lane in _PRIMARY:
        if flags & flag:
            return lane
    if kind != Kind.ASSISTANT:
        return Lane.OTHER
    if not tool:
        return Lane.ASSISTANT
    return Lane.TOOLS + (top.index(tool) + 1 if tool in top else 0)


# Many events: counts in bins ------------------------------------------------------------------


class Tally(NamedTuple):
    """Events of one lane in one bin. Bins count from 1; `first…` is the number of an event."""

    bin: int
    lane: int
    events: int
    first: int
    errors: int
    first_error: int | None
    compactions: int
    first_compaction: int | None
    model_changes: int
    first_model_change: int | None


class Cell(NamedTuple):
    bin: int
    events: int
    first: int


def bins_for(width: int) -> int:
    """As many as can be told apart; a number that can be halved a few times."""
    return max(1, min(width, 2_000) // 4 // 16) * 16


def fitted(tallies: Sequence[Tally], bins: int, most: int = MOST_MARKS) -> tuple[list[Tally], int]:
    """Neighbouring bins are put together until there are few enough marks to draw."""
    found = list(tallies)
    while _marks(found) > most and bins > 1:
        found, bins = _halved(found), (bins + 1) // 2
    return found, bins


def _marks(tallies: Sequence[Tally]) -> int:
    return len(tallies) + len({tally.bin for tally in tallies if tally.errors})


def _halved(tallies: Sequence[Tally]) -> list[Tally]:
    found: dict[tuple[int, int], Tally] = {}
    for tally in tallies:
        place = ((tally.bin + 1) // 2, tally.lane)
        found[place] = _together(tally, found.get(place))
    return [tally._replace(bin=number) for (number, _), tally in found.items()]


def _together(one: Tally, other: Tally | None) -> Tally:
    if other is None:
        return one
    return Tally(
        one.bin,
        one.lane,
        one.events + other.events,
        min(one.first, other.first),
        one.errors + other.errors,
        _earlier(one.first_error, other.first_error),
        one.compactions + other.compactions,
        _earlier(one.first_compaction, other.first_compaction),
        one.model_changes + other.model_changes,
        _earlier(one.first_model_change, other.first_model_change),
    )


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def cells_by_lane(tallies: Iterable[Tally]) -> dict[int, list[Cell]]:
    out: dict[int, list[Cell]] = defaultdict(list)
    for tally in sorted(tallies):
        out[tally.lane].append(Cell(tally.bin, tally.events, tally.first))
    return dict(out)


def error_cells(tallies: Iterable[Tally]) -> list[Cell]:
    return _summed((t.bin, t.errors, t.first_error) for t in tallies)


def all_cells(tallies: Iterable[Tally]) -> list[Cell]:
    return _summed((t.bin, t.events, t.first) for t in tallies)


def compaction_cells(tallies: Iterable[Tally]) -> list[Cell]:
    return _summed((t.bin, t.compactions, t.first_compaction) for t in tallies)


def model_cells(tallies: Iterable[Tally]) -> list[Cell]:
    return _summed((t.bin, t.model_changes, t.first_model_change) for t in tallies)


def _summed(counts: Iterable[tuple[int, int, int | None]]) -> list[Cell]:
    events: dict[int, int] = defaultdict(int)
    firsts: dict[int, int] = {}
    for number, count, first in counts:
        if count and first is not None:
            events[number] += count
            if first < firsts.get(number, first + 1):
                firsts[number] = first
    return [Cell(number, events[number], firsts[number]) for number in sorted(events)]


def heights(cells: Sequence[Cell]) -> dict[int, float]:
    """By the number of events, between a quarter and one; one among thousands is still seen."""
    counts = {cell.events for cell in cells}
    most = log1p(max(counts, default=1))
    return {count: 0.25 + 0.75 * log1p(count) / most for count in counts}


# Few events: bars -----------------------------------------------------------------------------


class Row(NamedTuple):
    seq: int
    moment: int
    kind: int
    flags: int
    tool: int


class Bar(NamedTuple):
    lane: int
    start: int
    end: int
    seq: int
    is_error: bool = False


def bars(
    rows: Sequence[Row],
    top: Sequence[int],
    ends: Mapping[int, int],
    failed: frozenset[int],
    *,
    is_subagent: bool,
) -> list[Bar]:
    """One for every event. `ends` has the moments of results by the number of their call, and
    `failed` the calls whose result is an error."""
    out = []
    before: int | None = None
    for row in rows:
        lane = lane_of(row.kind, row.flags, row.tool, top, is_subagent=is_subagent)
        start, end = row.moment, row.moment
        if lane == Lane.ASSISTANT and before is not None and start - before <= LONGEST_ANSWER:
            start = before
        elif lane >= Lane.TOOLS:
            end = max(end, ends.get(row.seq, end))
        is_error = bool(row.flags & Flag.ERROR) or row.seq in failed
        out.append(Bar(lane, start, end, row.seq, is_error))
        before = row.moment
    return out


class Span(NamedTuple):
    start: int
    end: int


def packed(spans: Sequence[Span], most_rows: int) -> list[int]:
    """The row of each span, so that spans in one row do not overlap while there are rows left."""
    free = [-1] * most_rows
    out = [0] * len(spans)
    for number in sorted(range(len(spans)), key=lambda n: spans[n]):
        row = next((n for n, end in enumerate(free) if end < spans[number].start), most_rows - 1)
        free[row] = max(free[row], spans[number].end)
        out[number] = row
    return out


# The life of the session ----------------------------------------------------------------------


class Mark(StrEnum):
    """In the order of how much they say; the first gives several in one place their shape."""

    START = "start"
    END = "end"
    COMPACTION = "compaction"
    MODEL = "model"
    RESUME = "resume"


class Milestone(NamedTuple):
    moment: int
    seq: int
    mark: Mark
    # Several that fell into one bin are told as one.
    times: int = 1
    # How long the pause before a resume was.
    pause: int = 0


def resumes(pauses: Iterable[Pause]) -> list[Milestone]:
    return [
        Milestone(pause.end, pause.seq, Mark.RESUME, pause=pause.length)
        for pause in pauses
        if pause.length >= RESUMED_AFTER
    ]


def flagged(rows: Sequence[Row]) -> list[Milestone]:
    """Compactions and model changes. A compaction takes several lines in a row: it is told once."""
    out = []
    before = 0
    for row in rows:
        if row.flags & Flag.COMPACTION and not before & Flag.COMPACTION:
            out.append(Milestone(row.moment, row.seq, Mark.COMPACTION))
        if row.flags & Flag.MODEL_CHANGE:
            out.append(Milestone(row.moment, row.seq, Mark.MODEL))
        before = row.flags
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Milestones that stand too close together to be drawn apart."""

    share: float
    milestones: tuple[Milestone, ...]

    @property
    def lead(self) -> Milestone:
        order = list(Mark)
        return min(self.milestones, key=lambda each: order.index(each.mark))

    @property
    def count(self) -> int:
        return sum(each.times for each in self.milestones)


def stops(
    milestones: Iterable[Milestone], axis: Axis, shown: Window, *, width: int, apart: int = 14
) -> list[Stop]:
    """Those inside the window, from left to right, at least so many pixels apart."""
    groups: list[tuple[float, list[Milestone]]] = []
    share_of = axis.scale(shown)
    for each in sorted(milestones):
        if not shown.lo <= each.moment <= shown.hi:
            continue
        share = share_of(each.moment)
        if groups and (share - groups[-1][0]) * width < apart:
            groups[-1][1].append(each)
        else:
            groups.append((share, [each]))
    return [Stop(share=share, milestones=tuple(found)) for share, found in groups]


def steps(points: Sequence[tuple[float, int]], before: int) -> list[tuple[float, int]]:
    """A line that keeps its height until the next point: corners from share 0 to share 1."""
    held = [(0.0, before), *points, (1.0, points[-1][1] if points else before)]
    out = [held[0]]
    for (_, height), (share, next_height) in pairwise(held):
        out.append((share, height))
        if next_height != height:
            out.append((share, next_height))
    return out


def said(body: Body) -> str:
    """The first words of a line, for a person who has not opened it."""
    if not isinstance(body, Message):
        return ""
    for part in body.parts:
        if isinstance(part, Text | Thinking | ToolResult) and says_something(part.text):
            return short(part.text)
        if isinstance(part, ToolCall):
            return short(_telling(part.arguments))
    return ""


def _telling(arguments: object) -> str:
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return next((value for value in values if isinstance(value, str) and value), "")
