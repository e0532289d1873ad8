"""A few events stand for all: how busy a session was, and when sessions were."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import activity, histogram
from sessions_app.domain.facets import Facet, words
from sessions_app.domain.searchquery import KEYS

START = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_few_events_are_all_looked_at_and_many_evenly() -> None:
    assert activity.samples(0) == []
    assert activity.samples(3) == [0, 1, 2]
    many = activity.samples(100_000)
    assert len(many) == activity.POINTS
    assert (many[0], many[-1]) == (0, 99_999)
    assert sorted(set(many)) == many


def test_bars_follow_the_pace() -> None:
    # A hundred events in the first second, then one in each of ten.
    points = [(n, n / 100) for n in range(100)] + [(100 + n, 1.0 + n) for n in range(10)]
    bars = activity.bars(points, count=10)
    assert bars[0] == max(bars)
    assert sum(bars) == 109


def test_what_has_no_length_has_no_bars() -> None:
    assert activity.bars([]) == []
    assert activity.bars([(0, 5.0)]) == []
    assert activity.bars([(0, 5.0), (1, 5.0)]) == []


@given(
    st.lists(st.floats(0, 1e9), min_size=2, max_size=40),
    st.integers(1, 30),
)
def test_bars_add_up_and_never_go_below_nothing(times: list[float], count: int) -> None:
    bars = activity.bars(list(enumerate(times)), count=count)
    assert all(bar >= 0 for bar in bars)
    assert not bars or (len(bars), sum(bars)) == (count, len(times) - 1)


def test_no_moments_no_bars() -> None:
    assert histogram.bars([]) == []


def test_bars_of_days_begin_at_midnight_and_weeks_on_mondays() -> None:
    days = histogram.bars([START - timedelta(days=n) for n in range(40)])
    assert all(bar.start.hour == 0 for bar in days)
    weeks = histogram.bars([START - timedelta(days=n) for n in range(200)])
    assert {bar.start.weekday() for bar in weeks} == {0}


def test_a_single_moment_is_a_narrow_bar_in_the_middle() -> None:
    bars = histogram.bars([START])
    assert len(bars) == histogram.FEWEST_BARS
    assert [no for no, bar in enumerate(bars) if bar.count] == [(histogram.FEWEST_BARS - 1) // 2]


ages = st.timedeltas(timedelta(days=-1), timedelta(days=20_000))


@given(st.lists(ages, min_size=1, max_size=60))
def test_every_moment_is_in_one_bar(found: list[timedelta]) -> None:
    moments = [START - each for each in found]
    bars = histogram.bars(moments)
    assert len(bars) <= histogram.MOST_BARS
    assert sum(bar.count for bar in bars) == len(moments)
    for bar in bars:
        assert bar.count == sum(bar.start <= moment < bar.end for moment in moments)


def test_words_of_a_title_are_bounded_and_each_stands_once() -> None:
    assert words("Fix: the FIX of refunds_v2 (again)!") == [
        *("fix", "the", "of", "refunds_v2", "again"),
    ]
    assert len(words(" ".join(map(str, range(100))))) == 30
    assert words("…") == []


def test_every_facet_is_a_key_of_the_query() -> None:
    assert {facet.key for facet in Facet} <= set(KEYS)
