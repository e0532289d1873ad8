"""Stretches of days, and the steps in which a chart walks along them. All days are UTC."""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from sessions_app.domain.errors import BadInput

# More bars than this cannot be told apart on a screen.
MOST_STEPS = 400
_DAYS_BY_DAY = 92
_DAYS_BY_WEEK = 2 * 366


class Step(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """From one day to another, both included; None where there is no end."""

    first: date | None = None
    last: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    step: Step
    # The first day of every step.
    starts: tuple[date, ...]


EVER = Days()
# Stretches that people ask for by name, in days up to today.
USUAL = {"7d": 7, "30d": 30, "90d": 90, "365d": 365, "all": None}
DEFAULT = "30d"


def latest(number: int, today: date) -> Days:
    """That many days, today included."""
    return Days(first=today - timedelta(days=number - 1), last=today)


def usual(name: str, today: date) -> Days:
    number = USUAL[name]
    return EVER if number is None else latest(number, today)


def read_day(text: str, name: str) -> date | None:
    if not text:
        return None
    try:
        if len(text) != len("2026-11-18"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise BadInput(f"“{name}” must be a day such as 2026-11-18.") from None


def between(first: date | None, last: date | None) -> Days:
    if first and last and first > last:
        raise BadInput("The first day must not be after the last one.")
    return Days(first=first, last=last)


def walk(first: date, last: date) -> Walk | None:
    """Steps that a chart can show; None if even years are too many."""
    step = _step_for((last - first).days + 1)
    starts = [start_of(first, step)]
    while (following := _next(starts[-1], step)) is not None and following <= last:
        starts.append(following)
        if len(starts) > MOST_STEPS:
            return None
    return Walk(step=step, starts=tuple(starts))


def _step_for(days: int) -> Step:
    if days <= _DAYS_BY_DAY:
        return Step.DAY
    if days <= _DAYS_BY_WEEK:
        return Step.WEEK
    return Step.MONTH if days <= MOST_STEPS * 30 else Step.YEAR


def start_of(day: date, step: Step) -> date:
    match step:
        case Step.DAY:
            return day
        case Step.WEEK:
            return day - timedelta(days=day.weekday())
        case Step.MONTH:
            return day.replace(day=1)
        case Step.YEAR:
            return day.replace(month=1, day=1)


def _next(start: date, step: Step) -> date | None:
    """None behind the last year there is."""
    lengths = {Step.DAY: 1, Step.WEEK: 7, Step.MONTH: 31, Step.YEAR: 366}
    try:
        return start_of(start + timedelta(days=lengths[step]), step)
    except OverflowError:
        return None


def last_of(start: date, step: Step) -> date:
    following = _next(start, step)
    return date.max if following is None else following - timedelta(days=1)


def label(start: date, step: Step) -> str:
    match step:
        case Step.DAY:
            return f"{start:%a} {start.day} {start:%b} {start.year}"
        case Step.WEEK:
            return f"Week of {start.day} {start:%b} {start.year}"
        case Step.MONTH:
            return f"{start:%b} {start.year}"
        case Step.YEAR:
            return str(start.year)


def short_label(start: date, step: Step) -> str:
    """For an axis: days are few and of one season, weeks may be of two years."""
    if step in (Step.DAY, Step.WEEK):
        year = f" {start.year}" if step is Step.WEEK else ""
        return f"{start.day} {start:%b}{year}"
    return label(start, step)
