"""Where a moment lies on a timeline, and which moment lies at a place.

A moment is a whole number: microseconds since 1970, or the number of an event in a session that
names no times. A place is how far from the start it is drawn. The two differ where long pauses
are drawn short.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
# In compressed time a longer pause is drawn as long as this.
PAUSE_CAP = MINUTE
# The largest pauses are compressed; more of them than this would be a pattern, not pauses.
MOST_PAUSES = 1_000
# How many lines ahead a time is compared with before it is believed.
LOOK_AHEAD = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Unit(StrEnum):
    TIME = "time"
    EVENT = "event"


class Mode(StrEnum):
    WALL = "wall"
    COMPRESSED = "compressed"


class Pause(NamedTuple):
    """Nothing happened between the event before `seq` and the event `seq`."""

    start: int
    end: int
    seq: int = 0

    @property
    def length(self) -> int:
        return self.end - self.start


class Knot(NamedTuple):
    moment: int
    place: int


class Window(NamedTuple):
    """The moments shown, lo to hi."""

    lo: int
    hi: int


def moment_of(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def datetime_of(moment: int) -> datetime:
    return _EPOCH + timedelta(microseconds=moment)


def in_order(times: Sequence[int | None], *, first: int, latest: int) -> Iterator[int]:
    """The moment of every line, never before that of the line above it.

    The order of the lines is the record; what their clocks say is a claim. A time after `latest`
    is none. A time ahead of all the next few is a clock that jumped, and is not believed. What
    remains may not run back. A line without a believed time happened when the one above it did.
    """
    told = [None if at is None or at > latest else at for at in times]
    reached = first
    for number, at in enumerate(told):
        ahead = [other for other in told[number + 1 : number + 1 + LOOK_AHEAD] if other is not None]
        if at is not None and (not ahead or at <= max(ahead)):
            reached = max(reached, at)
        yield reached


@dataclass(frozen=True, slots=True)
class Axis:
    """Straight lines between knots; both coordinates only ever rise from knot to knot."""

    unit: Unit
    moments: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.moments[0]

    @property
    def last(self) -> int:
        return self.moments[-1]

    @property
    def length(self) -> int:
        return self.places[-1]

    @property
    def knots(self) -> Iterator[Knot]:
        return map(Knot, self.moments, self.places)

    def place(self, moment: int) -> int:
        """Moments outside the axis lie at its ends."""
        return _along(self.moments, self.places, moment)

    def moment(self, place: int) -> int:
        return _along(self.places, self.moments, place)

    def scale(self, window: Window) -> Callable[[int], float]:
        """How far across the window a moment lies; outside it that is below 0 or above 1."""
        lo, hi = self.place(window.lo), self.place(window.hi)
        across = max(hi - lo, 1)
        return lambda moment: (self.place(moment) - lo) / across


def _along(these: Sequence[int], those: Sequence[int], value: int) -> int:
    after = min(max(bisect_right(these, value), 1), len(these) - 1)
    start, end = these[after - 1], these[after]
    rise = those[after] - those[after - 1]
    return those[after - 1] + (min(max(value, start), end) - start) * rise // (end - start)


def of_events(count: int) -> Axis:
    """One place an event."""
    end = max(count, 1)
    return Axis(Unit.EVENT, (0, end), (0, end))


def of_time(first: int, last: int, pauses: Sequence[Pause] = (), cap: int = PAUSE_CAP) -> Axis:
    """Wall time, but every pause longer than `cap` takes only that much room."""
    long = sorted(p for p in pauses if p.length > cap and first <= p.start and p.end <= last)
    moments = [first]
    cuts = [0]
    for pause in long:
        if pause.start < moments[-1]:
            continue
        if pause.start > moments[-1]:
            moments.append(pause.start)
            cuts.append(0)
        moments.append(pause.end)
        cuts.append(pause.length - cap)
    if moments[-1] < last or len(moments) == 1:
        moments.append(max(last, first + 1))
        cuts.append(0)
    places = (at - first - gone for at, gone in zip(moments, accumulate(cuts), strict=True))
    return Axis(Unit.TIME, tuple(moments), tuple(places))


def natural(wall: Axis, compressed: Axis) -> Mode:
    """Compressed where most of the session is waiting."""
    return Mode.COMPRESSED if compressed.length * 2 <= wall.length else Mode.WALL


# Windows -------------------------------------------------------------------------------------

_NARROWEST = {Unit.TIME: 10 * MILLISECOND, Unit.EVENT: 5}


def whole(axis: Axis) -> Window:
    return Window(axis.first, axis.last)


def window(axis: Axis, lo: int | None, hi: int | None) -> Window:
    """What was asked for, put right: in order, inside the axis, wide enough to see something."""
    asked = sorted((axis.first if lo is None else lo, axis.last if hi is None else hi))
    places = [axis.place(moment) for moment in asked]
    return _window_at(axis, places[0], places[1])


def zoomed(axis: Axis, shown: Window, factor: float, around: float = 0.5) -> Window:
    """`around` is the share of the window that stays where it is."""
    lo, hi = axis.place(shown.lo), axis.place(shown.hi)
    still = lo + (hi - lo) * around
    return _window_at(
        axis, round(still - (still - lo) * factor), round(still + (hi - still) * factor)
    )


def panned(axis: Axis, shown: Window, share: float) -> Window:
    """Moved by a share of its width, kept as wide as it is."""
    lo, hi = axis.place(shown.lo), axis.place(shown.hi)
    step = round((hi - lo) * share)
    step = max(-lo, min(step, axis.length - hi))
    return _window_at(axis, lo + step, hi + step)


def is_whole(axis: Axis, shown: Window) -> bool:
    return shown.lo <= axis.first and shown.hi >= axis.last


def _window_at(axis: Axis, lo: int, hi: int) -> Window:
    least = min(_NARROWEST[axis.unit], axis.length)
    if hi - lo < least:
        lo = (lo + hi - least) // 2
        hi = lo + least
    shift = max(0, -lo) - max(0, hi - axis.length)
    lo, hi = max(0, lo + shift), min(axis.length, hi + shift)
    return Window(axis.moment(lo), axis.moment(hi))


def edges(axis: Axis, shown: Window, count: int) -> list[int]:
    """The first moment of each of `count` equally wide bins; a moment is in the last bin that
    does not begin after it."""
    lo, hi = axis.place(shown.lo), axis.place(shown.hi)
    inner = [axis.moment(lo + (hi - lo) * number // count) for number in range(1, count)]
    return [shown.lo, *inner]


def bin_of(edges_: Sequence[int], moment: int) -> int:
    """From 1, as the database counts them."""
    return bisect_right(edges_, moment)


def knots_in(axis: Axis, shown: Window, most: int = 100) -> list[tuple[float, int]]:
    """Share of the window and moment, enough for a browser to find the moment under a pointer."""
    inside = [moment for moment in axis.moments if shown.lo < moment < shown.hi]
    if len(inside) > most:
        inside = edges(axis, shown, most)[1:]
    share = axis.scale(shown)
    return [(share(moment), moment) for moment in (shown.lo, *inside, shown.hi)]


# The ruler -----------------------------------------------------------------------------------

_CLOCK_STEPS = (
    *(number * MILLISECOND for number in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(number * SECOND for number in (1, 2, 5, 10, 20, 30)),
    *(number * MINUTE for number in (1, 2, 5, 10, 20, 30)),
    *(number * HOUR for number in (1, 2, 6, 12)),
)


def step_for(unit: Unit, least: float) -> int:
    """The smallest step of 1, 2, 5, 10 … that is at least so long; of a clock's below a day."""
    if unit is Unit.TIME and least <= _CLOCK_STEPS[-1]:
        return next(step for step in _CLOCK_STEPS if step >= least)
    base = DAY if unit is Unit.TIME else 1
    while True:
        for digit in (1, 2, 5):
            if digit * base >= least:
                return digit * base
        base *= 10


class Tick(NamedTuple):
    """A round moment, and how far across the window it lies."""

    share: float
    moment: int
    # How round it is.
    step: int


def ruler(axis: Axis, shown: Window, *, width: int, spacing: int = 90) -> list[Tick]:
    """Round moments, at least so many pixels apart. None stands inside a compressed pause; between
    many pauses few moments are very round, so there less round ones fill the room that is left."""
    across = axis.place(shown.hi) - axis.place(shown.lo)
    step = step_for(axis.unit, max(across * spacing / max(width, 1), 1))
    share = axis.scale(shown)
    ticks: list[Tick] = []
    for finer in _finer(axis, step):
        for moment in _round_moments(axis, shown, finer):
            tick = Tick(share(moment), moment, finer)
            at = bisect_right(ticks, tick)
            beside = ticks[max(at - 1, 0) : at + 1]
            if all(abs(tick.share - other.share) * width >= spacing - 1 for other in beside):
                ticks.insert(at, tick)
        if len(ticks) * spacing * 4 > width * 3:
            break
    return ticks


def _finer(axis: Axis, step: int) -> list[int]:
    """The step itself and, where pauses leave holes, finer ones down to a fiftieth of it."""
    if axis.unit is Unit.EVENT or len(axis.moments) == 2:
        return [step]
    return [step, *(each for each in reversed(_CLOCK_STEPS) if step // 50 <= each < step)]


def _round_moments(axis: Axis, shown: Window, step: int) -> Iterator[int]:
    for a, b in pairwise(axis.knots):
        if b.moment - a.moment > b.place - a.place or b.moment < shown.lo or a.moment > shown.hi:
            continue
        first = -(-max(a.moment, shown.lo) // step) * step
        yield from range(first, min(b.moment, shown.hi) + 1, step)
