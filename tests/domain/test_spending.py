"""Sums added up, told apart and laid along time."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import calendar, spending
from sessions_app.domain.calendar import Walk
from sessions_app.domain.spending import MOST_LINES, Measure, Sums, Used

FIRST = date(2026, 11, 1)
MAYBE = st.none() | st.integers(0, 2**70)
SUMS = st.builds(
    Sums,
    answers=st.integers(0, 9),
    input=st.integers(0, 2**60),
    output=st.integers(0, 2**60),
    cache_read=st.integers(0, 2**60),
    cache_write=st.integers(0, 2**60),
    reasoning=st.integers(0, 9),
    cost=MAYBE,
    unpriced=st.integers(0, 9),
    reported=MAYBE,
    priced_from=st.none() | st.dates(),
    priced_on=st.none() | st.dates(),
)
ROWS = st.lists(
    st.builds(
        Used,
        start=st.integers(0, 9).map(lambda day: FIRST + timedelta(days=day)),
        value=st.sampled_from("abcdefghijklm"),
        sums=SUMS,
    ),
    min_size=1,
)


def walk() -> Walk:
    found = calendar.walk(FIRST, FIRST + timedelta(days=9))
    assert found is not None
    return found


@given(SUMS, SUMS, SUMS)
def test_the_order_of_adding_does_not_matter(a: Sums, b: Sums, c: Sums) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Sums() == a


def test_an_unknown_cost_is_neither_nothing_nor_in_the_way() -> None:
    unknown, known = Sums(answers=1, unpriced=1), Sums(answers=1, cost=5)
    assert (unknown + unknown).cost is None
    assert (unknown + known).cost == 5
    assert (unknown + known).unpriced == 1


def test_the_share_of_the_cache_is_of_what_goes_in() -> None:
    assert Sums(input=10, cache_read=80, cache_write=10, output=1000).cache_share == 0.8
    assert Sums(output=5).cache_share is None


@given(ROWS, st.sampled_from(Measure), st.booleans())
def test_a_chart_shows_all_there_is(rows: list[Used], measure: Measure, by_kind: bool) -> None:
    chart = spending.chart(rows, walk(), measure, by_kind=by_kind)
    shown = Measure.TOKENS if by_kind else measure
    total = spending.amount(spending.total(rows), shown)
    assert sum(sum(line.amounts) for line in chart.lines) == total
    assert sum(chart.unpriced) == spending.total(rows).unpriced
    assert all(len(line.amounts) == 10 for line in chart.lines)


@given(ROWS)
def test_the_largest_have_colours_of_their_own_and_the_rest_one_together(rows: list[Used]) -> None:
    lines = spending.chart(rows, walk(), Measure.TOKENS, by_kind=False).lines
    named = [line for line in lines if line.value is not None]
    heights = [sum(line.amounts) for line in named]
    assert heights == sorted(heights, reverse=True)
    assert len(lines) <= MOST_LINES + 1
    assert len({row.value for row in rows}) <= MOST_LINES + 1 or lines[-1].value is None


@given(ROWS)
def test_told_apart_either_way_the_sums_are_the_same(rows: list[Used]) -> None:
    total = spending.total(rows)
    assert sum(spending.by_value(rows).values(), Sums()) == total
    assert sum(spending.by_step(rows).values(), Sums()) == total


@pytest.mark.parametrize(("turns", "size"), [(0, 1), (1, 1), (120, 1), (121, 2), (100_000, 834)])
def test_turns_share_bars_when_there_are_many(turns: int, size: int) -> None:
    assert spending.group_size(turns, 120) == size
    assert -(-turns // size) <= 120


def test_parts_are_added_up() -> None:
    told = spending.added(
        [
            Sums(answers=1, input=10, output=5, cache_read=80, cost=7, priced_on=FIRST),
            Sums(answers=2, input=10, cache_write=20, unpriced=2),
        ]
    )
    assert (told.answers, told.tokens, told.going_in) == (3, 125, 120)
    assert (told.cost, told.unpriced, told.priced_on) == (7, 2, FIRST)
    assert spending.added([]).cost is None
