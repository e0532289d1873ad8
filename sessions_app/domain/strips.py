"""The events of a session as columns: when each happened, in which lane, what marks it.

A row an event is too much to draw a hundred thousand of them. A strip holds a few thousand as
plain bytes, so that counting is done by `bytes.count` and looking up by halving. None of it is
text of the session.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from struct import Struct
from typing import NamedTuple

from sessions_app.domain.axis import LOOK_AHEAD, PAUSE_CAP, Pause
from sessions_app.domain.events import Flag
from sessions_app.domain.timeline import Lane, Tally

NO_TIME = -(2**63)
# The codes of tools begin here; below are lanes. Tools beyond the last code share that of all.
FIRST_TOOL = 16
MOST_TOOLS = 256 - FIRST_TOOL
# Plain numbers: an attribute of an enumeration takes as long as the rest of a loop over events.
_ERROR, _COMPACTION, _CHANGE = Flag.ERROR.value, Flag.COMPACTION.value, Flag.MODEL_CHANGE.value
MARKED = _ERROR | _COMPACTION | _CHANGE


def _longs(values: Iterable[int] = ()) -> "array[int]":
    return array("q", values)


def _ints(values: Iterable[int] = ()) -> "array[int]":
    return array("i", values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strip:
    """Events in a row. Numbers of events are those of the session."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What event rows say. Calls of tools have the lane of all tools."""

    lo: int
    lanes: bytes
    # Blind terms, one for each event in the lane of tools.
    tools: "array[int]"
    # A few more than `lanes`: the times ahead have a say in which ones are believed.
    times: "array[int]"
    marked: "array[int]"
    marks: "array[int]"
    answers: "array[int]"
    contexts: "array[int]"


def made(told: Columns, clock: Clock | None) -> Strip:
    used = dict.fromkeys(told.tools)
    codes = {tool: FIRST_TOOL + n for n, tool in enumerate(islice(used, MOST_TOOLS))}
    strip = Strip(
        lanes=_coded(told, codes),
        tools=_ints(codes),
        marked=told.marked,
        marks=told.marks,
        answers=told.answers,
        contexts=told.contexts,
    )
    return _placed(strip, told, clock) if clock else strip


def _coded(told: Columns, codes: dict[int, int]) -> bytes:
    coded, at = bytearray(told.lanes), -1
    for tool in told.tools:
        at = told.lanes.index(Lane.TOOLS, at + 1)
        coded[at] = codes.get(tool, Lane.TOOLS)
    return bytes(coded)


def _placed(strip: Strip, told: Columns, clock: Clock) -> Strip:
    """With moments as `axis.in_order` has them. A time that moves the clock on is the only kind
    whose followers have to be asked, and mostly the next one says enough."""
    latest, reached = clock.latest, clock.reached
    times = [at if at <= latest else NO_TIME for at in told.times] + [NO_TIME] * LOOK_AHEAD
    moments, jumps = strip.moments, strip.jumps
    disordered = 0
    for number in range(strip.events):
        at = times[number]
        if at > reached and (at <= times[number + 1] or _is_believed(at, times, number)):
            if at - reached > PAUSE_CAP:
                jumps.append(told.lo + number)
            reached = at
        elif at not in (reached, NO_TIME):
            disordered += 1
        moments.append(reached)
    beyond = min((at for at in told.times if at > latest), default=None)
    return replace(strip, disordered=disordered, beyond=beyond)


def _is_believed(at: int, times: Sequence[int], number: int) -> bool:
    ahead = max(times[number + 1 : number + 1 + LOOK_AHEAD])
    return at <= ahead or ahead == NO_TIME


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
    return b"".join([head, strip.lanes, *(swapped(each[:]).tobytes() for each in columns)])


def unpacked(data: bytes, beyond: int | None) -> Strip:
    disordered, events, *lengths = _HEAD.unpack_from(data)
    at = _HEAD.size + events
    columns = {}
    for (name, code), length in zip(_COLUMNS, lengths, strict=True):
        column: array[int] = array(code)
        end = at + length * column.itemsize
        column.frombytes(data[at:end])
        columns[name] = swapped(column)
        at = end
    lanes = data[_HEAD.size : _HEAD.size + events]
    return Strip(lanes=lanes, disordered=disordered, beyond=beyond, **columns)


def swapped(column: "array[int]") -> "array[int]":
    """From network order to that of this machine, or back; in place."""
    if sys.byteorder == "little":
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
    for strip in strips:
        for name, _ in _COLUMNS[1:]:
            getattr(whole, name).extend(getattr(strip, name))
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
    present = [lane for lane in range(FIRST_TOOL) if laned.find(lane, lo, hi) >= 0]
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


# How many of each mark, and the first event with it.
_Marks = tuple[int, int | None, int, int | None, int, int | None]
_NONE: _Marks = (0, None, 0, None, 0, None)


def _marks(whole: Strip, laned: bytes, starts: Sequence[int]) -> dict[tuple[int, int], _Marks]:
    """By bin and lane."""
    found: dict[tuple[int, int], _Marks] = {}
    lo, hi = bisect_left(whole.marked, starts[0]), bisect_left(whole.marked, starts[-1])
    for seq, flags in zip(whole.marked[lo:hi], whole.marks[lo:hi], strict=True):
        place = bisect_right(starts, seq) - 1, laned[seq]
        errors, error, compactions, compaction, changes, change = found.get(place, _NONE)
        if flags & _ERROR:
            errors, error = errors + 1, seq if error is None else error
        if flags & _COMPACTION:
            compactions, compaction = compactions + 1, seq if compaction is None else compaction
        if flags & _CHANGE:
            changes, change = changes + 1, seq if change is None else change
        found[place] = (errors, error, compactions, compaction, changes, change)
    return found


class Context(NamedTuple):
    """How much went into the answers between one start and the next, at most and at least."""

    # Which start, from 1.
    number: int
    most: int
    least: int


def contexts(whole: Strip, hi: int, starts: Sequence[int]) -> tuple[Context, ...]:
    """Of the events up to `hi`; starts are numbers of events."""
    places = [bisect_left(whole.answers, start) for start in (*starts, hi)]
    tokens = whole.contexts[: places[-1]].tolist()
    return tuple(
        Context(number, max(tokens[lo:end]), min(tokens[lo:end]))
        for number, (lo, end) in enumerate(pairwise(places), start=1)
        if lo < end
    )
