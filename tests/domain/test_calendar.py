"""Stretches of days and the steps a chart walks in."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import calendar
from sessions_app.domain.calendar import Days, Step
from sessions_app.domain.errors import BadInput

TODAY = date(2026, 11, 18)


def test_the_last_days_include_today() -> None:
    assert calendar.usual("7d", TODAY) == Days(first=date(2026, 11, 12), last=TODAY)
    assert calendar.usual("all", TODAY) == calendar.EVER


@pytest.mark.parametrize(
    "text", ["2026-13-01", "20261118", "yesterday", "2026-11-18T00:00", "٢٠٢٦-١١-١٨", "0000-00-00"]
)
def test_a_day_that_is_none_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(BadInput, match="from"):
        calendar.read_day(text, "from")


def test_a_day_is_read_and_none_is_no_bound() -> None:
    assert calendar.read_day("2026-11-18", "from") == TODAY
    assert calendar.read_day("", "from") is None


def test_days_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(BadInput):
        calendar.between(TODAY, TODAY - timedelta(days=1))


@pytest.mark.parametrize(
    ("days", "step", "number"),
    [
        (1, Step.DAY, 1),
        (30, Step.DAY, 30),
        (92, Step.DAY, 92),
        (93, Step.WEEK, 14),
        (366, Step.WEEK, 53),
        (733, Step.MONTH, 25),
        (40 * 366, Step.YEAR, 41),
    ],
)
def test_steps_grow_with_the_time(days: int, step: Step, number: int) -> None:
    walk = calendar.walk(TODAY - timedelta(days=days - 1), TODAY)
    assert walk is not None
    assert (walk.step, len(walk.starts)) == (step, number)


def test_all_the_time_there_is_has_no_steps_that_can_be_seen() -> None:
    assert calendar.walk(date.min, date.max) is None
    assert calendar.walk(date(9990, 1, 1), date.max) is not None


@given(st.dates(), st.integers(0, 20_000))
def test_every_day_lies_in_exactly_one_step(first: date, length: int) -> None:
    last = first + timedelta(days=min(length, (date.max - first).days))
    walk = calendar.walk(first, last)
    assert walk is not None
    assert walk.starts[0] == calendar.start_of(first, walk.step)
    assert calendar.start_of(last, walk.step) == walk.starts[-1]
    for one, following in zip(walk.starts, walk.starts[1:], strict=False):
        assert calendar.last_of(one, walk.step) == following - timedelta(days=1)
        assert calendar.start_of(following, walk.step) == following


@pytest.mark.parametrize(
    ("step", "label", "short"),
    [
        (Step.DAY, "Mon 2 Nov 2026", "2 Nov"),
        (Step.WEEK, "Week of 2 Nov 2026", "2 Nov 2026"),
        (Step.MONTH, "Nov 2026", "Nov 2026"),
        (Step.YEAR, "2026", "2026"),
    ],
)
def test_a_step_is_called_by_its_first_day(step: Step, label: str, short: str) -> None:
    assert calendar.label(date(2026, 11, 2), step) == label
    assert calendar.short_label(date(2026, 11, 2), step) == short
