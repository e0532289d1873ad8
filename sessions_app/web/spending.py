"""Sums as the usage page shows them: lines of its table, bars of its chart, lines of its file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from operator import attrgetter

from django.http import HttpRequest

from sessions_app.domain import calendar, spending
from sessions_app.domain.calendar import Days
from sessions_app.domain.spending import By, Chart, Measure, Sums, Value
from sessions_app.store.spending import Report
from sessions_app.templatetags.show import plain
from sessions_app.web import links
from sessions_app.web.columns import Column, address

BY = {
    By.DAY: "Time",
    By.PROJECT: "Project",
    By.AGENT: "Agent",
    By.MODEL: "Model",
    By.MACHINE: "Machine",
    By.USER: "User",
}
MEASURES = {Measure.TOKENS: "Tokens", Measure.COST: "Cost", Measure.ANSWERS: "Answers"}
OTHERS = "All others"
PICO = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table."""

    # What it is known by in an address.
    mark: str
    name: str
    sums: Sums
    # Narrows the page down to it; empty where that cannot be asked for.
    url: str
    sessions_url: str
    # Of the largest, for a bar beside its name.
    share: float = 0


def rows(request: HttpRequest, found: Report, measure: Measure) -> list[Row]:
    if found.by is By.DAY:
        made = [_step_row(request, found, *each) for each in found.by_step().items()]
    else:
        made = [_value_row(request, found, *each) for each in found.by_value().items()]
    most = max((spending.amount(row.sums, measure) for row in made), default=0) or 1
    return [replace(row, share=spending.amount(row.sums, measure) / most) for row in made]


def _value_row(request: HttpRequest, found: Report, value: Value, sums: Sums) -> Row:
    name, by = found.name(value), found.by
    # Only this one, told apart by something else. What has no name cannot be asked for.
    following = By.DAY if by is By.MODEL else By.MODEL
    changes = {by.value: value, "by": following.value, "sort": None, "after": None}
    return Row(
        mark=str(value),
        name=name,
        sums=sums,
        url="" if value == "" else address(request, **changes),
        sessions_url=links.sessions(**{by.value: name}) if value else "",
    )


def _step_row(request: HttpRequest, found: Report, start: date, sums: Sums) -> Row:
    end = calendar.last_of(start, found.step)
    changes = {"from": start, "to": end, "range": None, "by": None, "sort": None, "after": None}
    return Row(
        mark=start.isoformat(),
        name=calendar.label(start, found.step),
        sums=sums,
        url=address(request, **changes),
        sessions_url=links.sessions(after=start.isoformat(), before=_day_after(end)),
    )


def _day_after(day: date) -> str:
    return (day if day == date.max else day + timedelta(days=1)).isoformat()


def columns(found: Report) -> list[Column[Row]]:
    is_time = found.by is By.DAY
    label = found.step.capitalize() if is_time else BY[found.by]
    shown: list[Column[Row]] = [
        Column(
            key="name",
            label=label,
            value=lambda row: row.mark if is_time else row.name.casefold(),
            is_number=False,
            is_large_first=is_time,
        ),
        Column(key="tokens", label="Tokens", value=lambda row: row.sums.tokens),
        _spare("input", "Input"),
        _spare("cache_read", "Cache read"),
        _spare("cache_write", "Cache written"),
        Column(key="output", label="Output", value=lambda row: row.sums.output),
        Column(key="answers", label="Answers", value=lambda row: row.sums.answers),
        Column(key="cost", label="Cost", value=lambda row: row.sums.cost),
    ]
    if found.total().reported is None:
        return shown
    return [*shown, Column(key="logged", label="As logged", value=lambda row: row.sums.reported)]


def _spare(key: str, label: str) -> Column[Row]:
    """Left out where there is little room."""
    return Column(key=key, label=label, value=attrgetter(f"sums.{key}"), css="is-minor")


# The chart ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One bar in numbers."""

    label: str
    numbers: tuple[int, ...]
    total: int
    unpriced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    title: str
    # As the script reads it.
    json: str
    # Of the lines, the largest first.
    names: list[str]
    steps: list[Step]

    @property
    def last(self) -> int:
        return len(self.steps) - 1


def chart(found: Report, days: Days, measure: Measure) -> Bars | None:
    if found.walk is None:
        return None
    by_kind = found.by is By.DAY and measure is Measure.TOKENS
    drawn = spending.chart(found.rows, found.walk, measure, by_kind=by_kind)
    names = [_line_name(found, line.value, measure, by_kind=by_kind) for line in drawn.lines]
    apart = "" if found.by is By.DAY else f" and {found.by}"
    return Bars(
        title=f"{MEASURES[measure]} by {found.step}{apart}",
        json=_told(drawn, names, days, measure),
        names=names,
        steps=_in_numbers(drawn),
    )


def _in_numbers(drawn: Chart) -> list[Step]:
    columns = zip(*(line.amounts for line in drawn.lines), strict=True)
    labels = [calendar.label(start, drawn.walk.step) for start in drawn.walk.starts]
    return [
        Step(label=label, numbers=numbers, total=sum(numbers), unpriced=unpriced)
        for label, numbers, unpriced in zip(labels, columns, drawn.unpriced, strict=True)
    ]


def _told(drawn: Chart, names: list[str], days: Days, measure: Measure) -> str:
    starts, step = drawn.walk.starts, drawn.walk.step
    ends = [calendar.last_of(start, step) for start in starts]
    lines = [
        {"name": name, "values": _heights(line.amounts, measure)}
        for name, line in zip(names, drawn.lines, strict=True)
    ]
    told = {
        "unit": measure.value,
        "labels": [calendar.label(start, step) for start in starts],
        "ticks": [calendar.short_label(start, step) for start in starts],
        # A range typed by hand may begin or end inside a step.
        "from": [max(start, days.first or start).isoformat() for start in starts],
        "to": [min(end, days.last or end).isoformat() for end in ends],
        "lines": lines,
        "unpriced": drawn.unpriced,
    }
    return json.dumps(told)


def _line_name(found: Report, value: Value | None, measure: Measure, *, by_kind: bool) -> str:
    if value is None:
        return OTHERS
    if by_kind:
        return str(value)
    return MEASURES[measure] if found.by is By.DAY else plain(found.name(value))


def _heights(amounts: tuple[int, ...], measure: Measure) -> list[float]:
    return [amount / PICO for amount in amounts] if measure is Measure.COST else list(amounts)


# The file -------------------------------------------------------------------------------------


def table(found: Report) -> Iterator[list[object]]:
    """A cost that is not known is an empty cell, and the answers without a price have their own."""
    told_apart = [] if found.by is By.DAY else [found.by.value]
    yield [
        "day",
        *told_apart,
        *("answers", "input", "cache_read", "cache_write", "output", "reasoning", "tokens"),
        *("cost_usd", "answers_without_price", "reported_usd", "prices_of"),
    ]
    for row in found.rows:
        sums = row.sums
        yield [
            row.start.isoformat(),
            *([found.name(row.value)] if told_apart else []),
            *(sums.answers, sums.input, sums.cache_read, sums.cache_write, sums.output),
            *(sums.reasoning, sums.tokens, dollars(sums.cost), sums.unpriced),
            *(dollars(sums.reported), sums.priced_on and sums.priced_on.isoformat()),
        ]


def dollars(picodollars: int | None) -> str | None:
    """Exact, without zeros at the end."""
    if picodollars is None:
        return None
    whole, rest = divmod(picodollars, PICO)
    return f"{whole}.{rest:012}".rstrip("0").rstrip(".")
