"""How busy a session was over its time, drawn from a few of its events."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

POINTS = 24


def samples(events: int) -> list[int]:
    """Which events to look at: evenly spread, the first and the last among them."""
    if events <= POINTS:
        return list(range(events))
    return [n * (events - 1) // (POINTS - 1) for n in range(POINTS)]


def bars(points: Sequence[tuple[int, float]], count: int = POINTS) -> list[int]:
    """Events in each of `count` equal stretches of time, from (number, seconds) of some of them.
    Between two samples events are taken to be evenly spread."""
    if len(points) < 2:
        return []
    points = sorted(points)
    # Clocks that go back stand still.
    times = list(accumulate((at for _, at in points), max))
    start, length = times[0], times[-1] - times[0]
    if length <= 0:
        return []
    curve = list(zip(times, (number for number, _ in points), strict=True))
    edges = [start + length * n / count for n in range(1, count)]
    totals = [points[0][0], *_totals(curve, edges), points[-1][0]]
    return [round(after) - round(before) for before, after in pairwise(totals)]


def _totals(curve: list[tuple[float, int]], edges: list[float]) -> list[float]:
    """Events so far at each edge, in one walk along the curve."""
    out: list[float] = []
    at = 0
    for edge in edges:
        while curve[at + 1][0] <= edge:
            at += 1
        (left, before), (right, after) = curve[at], curve[at + 1]
        out.append(before + (after - before) * (edge - left) / (right - left))
    return out
