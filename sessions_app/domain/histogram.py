"""Moments as bars over stretches of time that a person would choose."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MOST_BARS = 48
# A few bars would be walls: empty time around them shows how narrow they are.
FEWEST_BARS = 16
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
STEPS = (
    *(_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY, 364 * _DAY),
)
# A Monday, so that weeks begin where people begin them.
_ORIGIN = datetime(1969, 12, 29, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    start: datetime
    end: datetime
    count: int


def bars(moments: Sequence[datetime]) -> list[Bar]:
    if not moments:
        return []
    first, last = min(moments), max(moments)
    step = next((each for each in STEPS if (last - first) / each < MOST_BARS - 1), None)
    if step is None:
        step = (last - first) / (MOST_BARS - 2)
    counts = Counter((moment - _ORIGIN) // step for moment in moments)
    lowest, highest = (first - _ORIGIN) // step, (last - _ORIGIN) // step
    spare = max(FEWEST_BARS - (highest - lowest + 1), 0)
    places = range(lowest - spare // 2, highest + 1 + spare - spare // 2)
    return [
        Bar(start=_ORIGIN + place * step, end=_ORIGIN + (place + 1) * step, count=counts[place])
        for place in places
    ]
