"""Tokens and cost added up: by what they are told apart, and along time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from typing import TypeVar

from sessions_app.domain.calendar import Walk

# Colours a reader can tell apart; what is left over is one more.
MOST_LINES = 7
# A name, or the blind term of one.
Value = str | int
Key = TypeVar("Key")


class Measure(StrEnum):
    TOKENS = "tokens"
    COST = "cost"
    ANSWERS = "answers"


class By(StrEnum):
    """What is told apart."""

    DAY = "day"
    PROJECT = "project"
    AGENT = "agent"
    MODEL = "model"
    MACHINE = "machine"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Over answers of providers. Costs are in millionths of a millionth of a dollar."""

    answers: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    # Over the answers that have a price; None if none has.
    cost: int | None = None
    unpriced: int = 0
    # What the logs themselves say, where they say anything.
    reported: int | None = None
    # The days of the price lists, the oldest and the newest.
    priced_from: date | None = None
    priced_on: date | None = None

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def going_in(self) -> int:
        return self.input + self.cache_read + self.cache_write

    @property
    def cache_share(self) -> float | None:
        """Of the tokens going in, those that a cache held."""
        return self.cache_read / self.going_in if self.going_in else None

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            answers=self.answers + other.answers,
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
            cost=_added(self.cost, other.cost),
            unpriced=self.unpriced + other.unpriced,
            reported=_added(self.reported, other.reported),
            priced_from=_best(min, self.priced_from, other.priced_from),
            priced_on=_best(max, self.priced_on, other.priced_on),
        )


def _added(one: int | None, other: int | None) -> int | None:
    """Unknown is not nothing: it takes nothing away and adds nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _best(
    choose: Callable[[date, date], date], one: date | None, other: date | None
) -> date | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


FIELDS = tuple(field.name for field in fields(Sums))


def added(parts: Iterable[Sums]) -> Sums:
    return sum(parts, Sums())


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What was used in one step of time by one of those that are told apart."""

    start: date
    value: Value
    sums: Sums


def total(rows: Iterable[Used]) -> Sums:
    return added(row.sums for row in rows)


def by_value(rows: Iterable[Used]) -> dict[Value, Sums]:
    return _gathered((row.value, row.sums) for row in rows)


def by_step(rows: Iterable[Used]) -> dict[date, Sums]:
    return _gathered((row.start, row.sums) for row in rows)


def _gathered(pairs: Iterable[tuple[Key, Sums]]) -> dict[Key, Sums]:
    out: dict[Key, Sums] = defaultdict(Sums)
    for key, sums in pairs:
        out[key] += sums
    return dict(out)


def amount(sums: Sums, measure: Measure) -> int:
    """What a bar is as high as. A cost that is not known has no height."""
    match measure:
        case Measure.TOKENS:
            return sums.tokens
        case Measure.COST:
            return sums.cost or 0
        case Measure.ANSWERS:
            return sums.answers


# Along time -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One colour of the chart; without a value it is all that has no colour of its own."""

    value: Value | None
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    walk: Walk
    # The largest first.
    lines: tuple[Line, ...]
    # Answers without a price, step by step.
    unpriced: tuple[int, ...]


# The kinds of tokens, as a chart that tells nothing else apart shows them.
KINDS: tuple[tuple[str, Callable[[Sums], int]], ...] = (
    ("Cache read", lambda sums: sums.cache_read),
    ("Cache written", lambda sums: sums.cache_write),
    ("Input", lambda sums: sums.input),
    ("Output", lambda sums: sums.output),
)


def chart(rows: Sequence[Used], walk: Walk, measure: Measure, *, by_kind: bool) -> Chart:
    steps = {start: number for number, start in enumerate(walk.starts)}
    cells = _gathered(((row.value, steps[row.start]), row.sums) for row in rows)
    lines = _kinds(cells, len(steps)) if by_kind else _lines(cells, len(steps), measure)
    unpriced = [0] * len(steps)
    for (_, step), sums in cells.items():
        unpriced[step] += sums.unpriced
    return Chart(walk=walk, lines=lines, unpriced=tuple(unpriced))


Cells = dict[tuple[Value, int], Sums]


def _kinds(cells: Cells, steps: int) -> tuple[Line, ...]:
    found = []
    for name, counter in KINDS:
        amounts = [0] * steps
        for (_, step), sums in cells.items():
            amounts[step] += counter(sums)
        found.append(Line(value=name, amounts=tuple(amounts)))
    return tuple(line for line in found if any(line.amounts))


def _lines(cells: Cells, steps: int, measure: Measure) -> tuple[Line, ...]:
    amounts: dict[Value, list[int]] = defaultdict(lambda: [0] * steps)
    for (value, step), sums in cells.items():
        amounts[value][step] += amount(sums, measure)
    ranked = sorted(amounts, key=lambda value: (-sum(amounts[value]), str(value)))
    kept = ranked if len(ranked) <= MOST_LINES + 1 else ranked[:MOST_LINES]
    lines = [Line(value=value, amounts=tuple(amounts[value])) for value in kept]
    rest = [amounts[value] for value in ranked[len(kept) :]]
    if rest:
        together = tuple(sum(column) for column in zip(*rest, strict=True))
        lines.append(Line(value=None, amounts=together))
    return tuple(lines)


def group_size(turns: int, most: int) -> int:
    """How many turns in a row share a bar, so that there are no more bars than `most`."""
    return max(1, -(-turns // most))
