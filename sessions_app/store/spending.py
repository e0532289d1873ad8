"""What a workspace used, along time and by what it is told apart. Asks the sums by day only, so it
costs the same whatever the sessions hold."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain import calendar, spending
from sessions_app.domain.calendar import Days, Step, Walk
from sessions_app.domain.facets import Facet
from sessions_app.domain.spending import By, Sums, Used, Value
from sessions_app.store import names, tally
from sessions_app.store.days import inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Only:
    """What is left in; None leaves in everything."""

    agent: str | None = None
    model: str | None = None
    # Blind terms; 0 stands for those that name none.
    project: int | None = None
    machine: int | None = None
    user: int | None = None


ALL = Only()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer to one question, for the page, its file and the API alike."""

    by: By
    step: Step
    # None: nothing to draw, or too long a time for steps that can be seen.
    walk: Walk | None
    rows: list[Used]
    names: dict[int, str]
    # Sessions not counted yet, because there were more than could be counted at once.
    waiting: int

    def total(self) -> Sums:
        return spending.total(self.rows)

    def by_value(self) -> dict[Value, Sums]:
        return spending.by_value(self.rows)

    def by_step(self) -> dict[date, Sums]:
        return spending.by_step(self.rows)

    def name(self, value: Value) -> str:
        told = self.names.get(value) if isinstance(value, int) else value
        return told or UNNAMED[self.by]


UNNAMED = {
    By.DAY: "",
    By.PROJECT: "no project",
    By.AGENT: "unknown agent",
    By.MODEL: "unknown model",
    By.MACHINE: "no machine",
    By.USER: "no user",
}
_FACETS = {By.PROJECT: Facet.PROJECT, By.MACHINE: Facet.MACHINE, By.USER: Facet.USER}


def report(workspace_id: UUID, days: Days, *, by: By, only: Only = ALL) -> Report:
    """In steps that fit the time."""
    waiting = tally.refresh(workspace_id)
    found = extent(workspace_id, days, only)
    walk = calendar.walk(days.first or found[0], days.last or found[1]) if found else None
    step = walk.step if walk else Step.YEAR
    rows = used(workspace_id, days, by=by, step=step, only=only) if found else []
    known = _names(workspace_id, by, rows)
    return Report(by=by, step=step, walk=walk, rows=rows, names=known, waiting=waiting)


def by_day(workspace_id: UUID, days: Days, *, by: By, only: Only = ALL) -> Report:
    """Every day apart, however many."""
    waiting = tally.refresh(workspace_id)
    rows = used(workspace_id, days, by=by, only=only)
    known = _names(workspace_id, by, rows)
    return Report(by=by, step=Step.DAY, walk=None, rows=rows, names=known, waiting=waiting)


def _names(workspace_id: UUID, by: By, rows: list[Used]) -> dict[int, str]:
    terms = {row.value for row in rows if isinstance(row.value, int)}
    return names.of(workspace_id, _FACETS[by], terms) if terms else {}


def named(workspace_id: UUID, only: Only) -> dict[str, str]:
    """What is left in, as a person calls it."""
    told = {name: value for name in ("agent", "model") if (value := getattr(only, name))}
    for by, kind in _FACETS.items():
        term: int | None = getattr(only, by.value)
        if term is not None:
            told[by.value] = names.of(workspace_id, kind, [term]).get(term, UNNAMED[by])
    return told


def extent(workspace_id: UUID, days: Days, only: Only = ALL) -> tuple[date, date] | None:
    """The first and the last day with an answer."""
    where, values = _where(workspace_id, days, only)
    with connection.cursor() as cursor:
        cursor.execute(_EXTENT.format(where=where), values)
        first, last = cursor.fetchone()
    return None if first is None else (first, last)


def used(
    workspace_id: UUID, days: Days, *, by: By, step: Step = Step.DAY, only: Only = ALL
) -> list[Used]:
    """In order of time."""
    where, values = _where(workspace_id, days, only)
    start, value = _STARTS[step], _VALUES[by]
    with connection.cursor() as cursor:
        cursor.execute(_USED.format(start=start, value=value, sums=_SUMS, where=where), values)
        return [
            Used(start=start, value=value, sums=_sums(sums))
            for start, value, *sums in cursor.fetchall()
        ]


def totals(workspace_id: UUID, *, by: By) -> dict[Value, Sums]:
    """Of all time."""
    where, values = _where(workspace_id, calendar.EVER, ALL)
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS.format(value=_VALUES[by], sums=_SUMS, where=where), values)
        return {value: _sums(sums) for value, *sums in cursor.fetchall()}


_STARTS = {
    Step.DAY: "day",
    Step.WEEK: "date_trunc('week', day::timestamp)::date",
    Step.MONTH: "date_trunc('month', day::timestamp)::date",
    Step.YEAR: "date_trunc('year', day::timestamp)::date",
}
_VALUES = {by: by.value for by in By} | {By.DAY: "''", By.USER: "account"}
_SUMS = """
    sum(answers), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning),
    sum(cost), sum(unpriced), sum(reported), min(priced_from), max(priced_on)
    FROM sessions_app_usageday
"""
_EXTENT = "SELECT min(day), max(day) FROM sessions_app_usageday WHERE {where}"
_USED = "SELECT {start}, {value}, {sums} WHERE {where} GROUP BY 1, 2 ORDER BY 1, 2"
_TOTALS = "SELECT {value}, {sums} WHERE {where} GROUP BY 1"


def _where(workspace_id: UUID, days: Days, only: Only) -> tuple[str, list[Any]]:
    parts, values = inside(workspace_id, days)
    for by in (By.AGENT, By.MODEL, By.PROJECT, By.MACHINE, By.USER):
        if (value := getattr(only, by.value)) is not None:
            parts.append(f"{_VALUES[by]} = %s")
            values.append(value)
    return " AND ".join(parts), values


def _sums(row: list[Any]) -> Sums:
    answers, *tokens, cost, unpriced, reported, priced_from, priced_on = row
    going_in, coming_out, cache_read, cache_write, reasoning = map(int, tokens)
    return Sums(
        answers=int(answers),
        input=going_in,
        output=coming_out,
        cache_read=cache_read,
        cache_write=cache_write,
        reasoning=reasoning,
        cost=None if cost is None else int(cost),
        unpriced=int(unpriced),
        reported=None if reported is None else int(reported),
        priced_from=priced_from,
        priced_on=priced_on,
    )
