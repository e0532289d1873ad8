"""The events of a session as columns: when each happened, in which lane, what marks it.

A row an event is too much to draw a hundred thousand of them. A strip holds a few thousand as
plain bytes, so that counting is done by `bytes.count` and looking up by halving. None of it is
text of the session.
"""

import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from sessions_app.domain.axis import LOOK_AHEAD, PAUSE_CAP, Pause
from sessions_app.domain.events import Flag
from sessions_app.domain.timeline import Lane, Tally

NO_TIME = -(2**63)
# The codes of tools begin here; below are lanes. Tools beyond the last code share that of all.
FIRST_TOOL = 16
MOST_TOOLS = 256 - FIRST_TOOL
MARKS = (Flag.ERROR.value, Flag.COMPACTION.value, Flag.MODEL_CHANGE.value)
MARKED = sum(MARKS)


class Slim(NamedTuple):
    """What a strip needs of an event row. A call of a tool has the lane of all tools."""

    at: int
    tool: int
    lane: int
    flags: int


class Held(NamedTuple):
    """How much went into an answer."""

    seq: int
    tokens: int


def _longs(values: Iterable[int] = ()) -> "array[int]":
    return array("q", values)


def _ints(values: Iterable[int] = ()) -> "array[int]":
    return array("i", values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strip:
    """Events in a row. Places in it are numbers of events, counted from its first."""

    # Lanes, and from `FIRST_TOOL` on places in `tools`.
    lanes: bytes = b""
    tools: "array[int]" = field(default_factory=_ints)
    # Empty in a session that names no times.
    moments: "array[int]" = field(default_factory=_longs)
    # Where the clock jumped by more than is drawn in compressed time.
    jumps: "array[int]" = field(default_factory=_ints)
    marked: "array[int]" = field(default_factory=_ints)
    marks: "array[int]" = field(default_factory=_ints)
    answers: "array[int]" = field(default_factory=_ints)
    contexts: "array[int]" = field(default_factory=_longs)
    # Events whose own time says otherwise than the order of the lines.
    disordered: int = 0
    # The earliest of the times that were too late to be true; it may become true.
    beyond: int | None = None

    @property
    def events(self) -> int:
        return len(self.lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What the clock had reached before the first event, and the latest time that can be true."""

    reached: int
    latest: int


def made(
    rows: Sequence[Slim], ahead: Sequence[Slim], held: Sequence[Held], clock: Clock | None
) -> Strip:
    """Of these events; those ahead have a say in which times are believed."""
    codes: dict[int, int] = {}
    for row in rows:
        if row.lane == Lane.TOOLS and len(codes) < MOST_TOOLS:
            codes.setdefault(row.tool, FIRST_TOOL + len(codes))
    marked = [n for n, row in enumerate(rows) if row.flags & MARKED]
    times = [row.at for row in (*rows, *ahead)] if clock else []
    moments = _longs(placed(times, len(rows), clock) if clock else ())
    jumps = [n for n, (a, b) in enumerate(pairwise(moments), start=1) if b - a > PAUSE_CAP]
    if clock and moments and moments[0] - clock.reached > PAUSE_CAP:
        jumps.insert(0, 0)
    latest = clock.latest if clock else NO_TIME
    return Strip(
        lanes=bytes(
            codes.get(row.tool, Lane.TOOLS) if row.lane == Lane.TOOLS else row.lane for row in rows
        ),
        tools=_ints(codes),
        moments=moments,
        jumps=_ints(jumps),
        marked=_ints(marked),
        marks=_ints(rows[n].flags & MARKED for n in marked),
        answers=_ints(each.seq for each in held),
        contexts=_longs(each.tokens for each in held),
        disordered=sum(
            NO_TIME < at <= latest and at != moment
            for at, moment in zip(times, moments, strict=False)
        ),
        beyond=min((at for at in times if at > latest), default=None),
    )


def placed(times: Sequence[int], count: int, clock: Clock) -> Iterator[int]:
    """`axis.in_order` of the first so many of these times. A time that moves the clock on is
    the only kind whose followers have to be asked."""
    told = [NO_TIME if at > clock.latest else at for at in times] + [NO_TIME] * LOOK_AHEAD
    reached = clock.reached
    for number in range(count):
        at = told[number]
        if at > reached:
            ahead = max(told[number + 1 : number + 1 + LOOK_AHEAD])
            if at <= ahead or ahead == NO_TIME:
                reached = at
        yield reached


# As bytes -------------------------------------------------------------------------------------

# Columns in the order they are written, with the size of what they hold.
_COLUMNS = (
    ("tools", "i"),
    ("moments", "q"),
    ("jumps", "i"),
    ("marked", "i"),
    ("marks", "i"),
    ("answers", "i"),
    ("contexts", "q"),
)
_HEAD = Struct(f">{2 + len(_COLUMNS)}I")


def packed(strip: Strip) -> bytes:
    columns = [getattr(strip, name) for name, _ in _COLUMNS]
    head = _HEAD.pack(strip.disordered, strip.events, *map(len, columns))
    return b"".join([head, strip.lanes, *(_in_network_order(each).tobytes() for each in columns)])


def unpacked(data: bytes, beyond: int | None) -> Strip:
    disordered, events, *lengths = _HEAD.unpack_from(data)
    at = _HEAD.size + events
    columns = {}
    for (name, code), length in zip(_COLUMNS, lengths, strict=True):
        column: array[int] = array(code)
        end = at + length * column.itemsize
        column.frombytes(data[at:end])
        columns[name] = _in_network_order(column)
        at = end
    lanes = data[_HEAD.size : _HEAD.size + events]
    return Strip(lanes=lanes, disordered=disordered, beyond=beyond, **columns)


def _in_network_order(column: "array[int]") -> "array[int]":
    if sys.byteorder == "little":
        column = column[:]
        column.byteswap()
    return column


# Put together ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool by its blind term, and a call of it to learn its name from."""

    term: int
    calls: int
    seq: int


def joined(strips: Sequence[Strip]) -> Strip:
    """One after the other, with the tools called most first."""
    tools = sorted(_tools(strips), key=lambda tool: (-tool.calls, tool.seq))[:MOST_TOOLS]
    codes = {tool.term: FIRST_TOOL + number for number, tool in enumerate(tools)}
    whole = Strip(
        lanes=b"".join(strip.lanes.translate(_recoded(strip.tools, codes)) for strip in strips),
        tools=_ints(codes),
        disordered=sum(strip.disordered for strip in strips),
    )
    start = 0
    for strip in strips:
        whole.moments.extend(strip.moments)
        whole.marks.extend(strip.marks)
        whole.contexts.extend(strip.contexts)
        for ours, theirs in (
            (whole.jumps, strip.jumps),
            (whole.marked, strip.marked),
            (whole.answers, strip.answers),
        ):
            ours.extend(start + number for number in theirs)
        start += strip.events
    return whole


def _tools(strips: Iterable[Strip]) -> list[Tool]:
    calls: Counter[int] = Counter()
    firsts: dict[int, int] = {}
    start = 0
    for strip in strips:
        for code, term in enumerate(strip.tools, start=FIRST_TOOL):
            calls[term] += strip.lanes.count(code)
            firsts.setdefault(term, start + strip.lanes.index(code))
        start += strip.events
    return [Tool(term=term, calls=calls[term], seq=firsts[term]) for term in calls]


def _recoded(tools: Iterable[int], codes: dict[int, int]) -> bytes:
    table = bytearray(range(256))
    for code, term in enumerate(tools, start=FIRST_TOOL):
        table[code] = codes.get(term, Lane.TOOLS)
    return bytes(table)


def top_tools(whole: Strip, most: int) -> tuple[Tool, ...]:
    return tuple(
        Tool(term=term, calls=whole.lanes.count(code), seq=whole.lanes.index(code))
        for code, term in enumerate(whole.tools[:most], start=FIRST_TOOL)
    )


def longest_pauses(whole: Strip, most: int) -> list[Pause]:
    """In the order of time. Before the first event there is none."""
    found = (Pause(whole.moments[seq - 1], whole.moments[seq], seq) for seq in whole.jumps if seq)
    return sorted(sorted(found, key=lambda pause: -pause.length)[:most])


# Counted --------------------------------------------------------------------------------------


def lanes(whole: Strip, top: Sequence[int]) -> bytes:
    """The lane of every event, when these tools have lanes of their own."""
    ranks = {term: Lane.TOOLS + rank for rank, term in enumerate(top, start=1)}
    return whole.lanes.translate(_recoded(whole.tools, ranks))


def tallies(
    whole: Strip, lo: int, hi: int, edges: Sequence[int], top: Sequence[int]
) -> list[Tally]:
    """The events lo ≤ seq < hi by bin and lane. An edge is a moment, or the number of an event in
    a session without times."""
    laned = lanes(whole, top)
    starts = [lo, *(_first_at(whole, edge, lo, hi) for edge in edges), hi]
    marks = _marks(whole, laned, starts)
    present = sorted(set(laned[lo:hi]))
    return [
        Tally(number, lane, count, laned.index(lane, start, end), *marks.get((number, lane), _NONE))
        for number, (start, end) in enumerate(pairwise(starts))
        if start < end
        for lane in present
        if (count := laned.count(lane, start, end))
    ]


def _first_at(whole: Strip, edge: int, lo: int, hi: int) -> int:
    if whole.moments:
        return bisect_left(whole.moments, edge, lo, hi)
    return min(max(edge, lo), hi)


class _Marks(NamedTuple):
    errors: int = 0
    first_error: int | None = None
    compactions: int = 0
    first_compaction: int | None = None
    model_changes: int = 0
    first_model_change: int | None = None


_NONE = _Marks()


def _marks(whole: Strip, laned: bytes, starts: Sequence[int]) -> dict[tuple[int, int], _Marks]:
    """By bin and lane."""
    found: dict[tuple[int, int], list[list[int]]] = {}
    for number, (start, end) in enumerate(pairwise(starts)):
        for at in range(bisect_left(whole.marked, start), bisect_left(whole.marked, end)):
            seq, flags = whole.marked[at], whole.marks[at]
            seqs = found.setdefault((number, laned[seq]), [[] for _ in MARKS])
            for flag, each in zip(MARKS, seqs, strict=True):
                if flags & flag:
                    each.append(seq)
    return {place: _told(*seqs) for place, seqs in found.items()}


def _told(errors: list[int], compactions: list[int], changes: list[int]) -> _Marks:
    return _Marks(
        len(errors),
        next(iter(errors), None),
        len(compactions),
        next(iter(compactions), None),
        len(changes),
        next(iter(changes), None),
    )


class Context(NamedTuple):
    """How much went into the answers between one start and the next, at most and at least."""

    # Which start, from 1.
    number: int
    most: int
    least: int


def contexts(whole: Strip, hi: int, starts: Sequence[int]) -> tuple[Context, ...]:
    """Of the events up to `hi`; starts are numbers of events."""
    places = [bisect_left(whole.answers, start) for start in (*starts, hi)]
    return tuple(
        Context(number, max(whole.contexts[lo:end]), min(whole.contexts[lo:end]))
        for number, (lo, end) in enumerate(pairwise(places), start=1)
        if lo < end
    )
