"""The axis of a timeline: monotone, bounded, and the same in both directions."""

from bisect import bisect_left
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.domain import axis
from sessions_app.domain.axis import DAY, HOUR, MINUTE, SECOND, Axis, Mode, Pause, Unit, Window

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NINE = axis.moment_of(datetime(2026, 11, 17, 9, 0, tzinfo=UTC))
moments = st.integers(0, 8_000 * 365 * DAY)


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    points = sorted(draw(st.lists(moments, min_size=2, max_size=40, unique=True)))
    pauses = [Pause(a, b) for a, b in pairwise(points) if draw(st.booleans())]
    cap = draw(st.sampled_from([1, SECOND, MINUTE, DAY]))
    return axis.of_time(points[0], points[-1], pauses, cap)


def at(*clock: int) -> int:
    hour, minute, second = clock
    return NINE + (hour - 9) * HOUR + minute * MINUTE + second * SECOND


# Moments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([], []),
        # Without a time: when the line above happened; before the first one, at the start.
        ([None, 5, None, None, 9], [1, 5, 5, 5, 9]),
        ([None, None], [1, 1]),
        # A clock that runs back stands still instead.
        ([10, 20, 15, 16, 30], [10, 20, 20, 20, 30]),
        # One line from far ahead does not drag all others with it.
        ([10, 90, 11, 12, 13, 14], [10, 10, 11, 12, 13, 14]),
        ([90, 11, 12, 13, 14], [1, 11, 12, 13, 14]),
        # One line from far back changes nothing for the others.
        ([10, 11, 2, 12, 13], [10, 11, 11, 12, 13]),
        # A time after the latest that can be true is none.
        ([10, 101, 12, 999, 14], [10, 10, 12, 12, 14]),
        # The last line has nothing after it that could say otherwise.
        ([10, 11, 90], [10, 11, 90]),
        # A block of lines from ahead is what the log says.
        ([10, 80, 81, 82, 83, 11, 12, 13, 14], [10, 80, 81, 82, 82, 82, 82, 82, 82]),
    ],
)
def test_moments_follow_the_order_of_the_lines(told: list[int | None], meant: list[int]) -> None:
    assert list(axis.in_order(told, first=1, latest=100)) == meant


@unhurried
@given(st.lists(st.none() | st.integers(-50, 200), max_size=60))
def test_moments_never_run_back_and_stay_between_the_first_and_the_latest(
    told: list[int | None],
) -> None:
    meant = list(axis.in_order(told, first=0, latest=100))

    assert len(meant) == len(told)
    assert meant == sorted(meant)
    assert all(0 <= moment <= 100 for moment in meant)


@unhurried
@given(st.lists(st.integers(0, 100), max_size=60))
def test_times_that_are_in_order_are_left_alone(told: list[int]) -> None:
    told.sort()

    assert list(axis.in_order(told, first=0, latest=100)) == told


def test_a_moment_is_a_time_and_back() -> None:
    assert axis.moment_of(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == SECOND
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert axis.datetime_of(axis.moment_of(last)) == last


# Places -------------------------------------------------------------------------------------------


def test_a_long_pause_takes_as_much_room_as_the_cap() -> None:
    made = axis.of_time(0, 2 * HOUR, [Pause(10 * MINUTE, 100 * MINUTE)])

    assert made.place(10 * MINUTE) == 10 * MINUTE
    assert made.place(100 * MINUTE) == 11 * MINUTE
    assert made.length == 31 * MINUTE
    assert made.place(55 * MINUTE) == 10 * MINUTE + 30 * SECOND


def test_a_pause_of_the_cap_or_less_is_left_alone() -> None:
    assert axis.of_time(0, HOUR, [Pause(0, MINUTE)]) == axis.of_time(0, HOUR)


def test_a_session_may_begin_and_end_with_a_pause() -> None:
    made = axis.of_time(0, 3 * HOUR, [Pause(0, HOUR), Pause(2 * HOUR, 3 * HOUR)])

    assert made.length == HOUR + 2 * MINUTE


def test_pauses_that_overlap_or_lie_outside_are_not_believed() -> None:
    odd = [Pause(-HOUR, HOUR), Pause(2 * HOUR, 5 * HOUR), Pause(3 * HOUR, 9 * HOUR)]
    made = axis.of_time(0, 9 * HOUR, odd)

    assert made.length == 9 * HOUR - 3 * HOUR + MINUTE


@unhurried
@given(axes(), moments, moments)
def test_a_later_moment_never_lies_before_an_earlier_one(made: Axis, a: int, b: int) -> None:
    a, b = sorted((a, b))

    assert 0 <= made.place(a) <= made.place(b) <= made.length


@unhurried
@given(axes(), st.floats(0, 1), st.floats(0, 1))
def test_a_later_place_never_holds_an_earlier_moment(made: Axis, a: float, b: float) -> None:
    a, b = sorted((a, b))
    early, late = (made.moment(round(made.length * share)) for share in (a, b))

    assert made.first <= early <= late <= made.last


@unhurried
@given(axes(), st.floats(0, 1))
def test_the_moment_at_a_place_lies_there(made: Axis, share: float) -> None:
    place = round(made.length * share)

    assert abs(made.place(made.moment(place)) - place) <= 1


@unhurried
@given(axes())
def test_compressed_time_is_never_longer_than_wall_time(made: Axis) -> None:
    assert 0 < made.length <= made.last - made.first


def test_a_session_of_waiting_is_drawn_compressed() -> None:
    wall = axis.of_time(0, 10 * HOUR)
    waiting = axis.of_time(0, 10 * HOUR, [Pause(HOUR, 9 * HOUR)])
    busy = axis.of_time(0, 10 * HOUR, [Pause(HOUR, 2 * HOUR)])

    assert axis.natural(wall, waiting) is Mode.COMPRESSED
    assert axis.natural(wall, busy) is Mode.WALL


# Windows ------------------------------------------------------------------------------------------


def test_a_window_is_put_in_order_and_inside() -> None:
    made = axis.of_time(0, HOUR)

    assert axis.window(made, None, None) == Window(0, HOUR)
    assert axis.window(made, 5 * MINUTE, MINUTE) == Window(MINUTE, 5 * MINUTE)
    assert axis.window(made, -5, 9 * HOUR) == Window(0, HOUR)


def test_a_window_of_one_moment_is_widened() -> None:
    made = axis.of_time(0, HOUR)
    for moment in (0, MINUTE, HOUR):
        shown = axis.window(made, moment, moment)
        assert shown.lo <= moment <= shown.hi
        assert shown.hi - shown.lo == 10_000


def test_zooming_in_and_out_again_shows_the_same() -> None:
    made = axis.of_time(0, 8 * HOUR)
    shown = Window(2 * HOUR, 4 * HOUR)
    closer = axis.zoomed(made, shown, 0.5)

    assert closer == Window(int(2.5 * HOUR), int(3.5 * HOUR))
    assert axis.zoomed(made, closer, 2) == shown
    assert axis.zoomed(made, shown, 100) == axis.whole(made)
    assert axis.zoomed(made, shown, 0.5, 0) == Window(2 * HOUR, 3 * HOUR)


def test_panning_stops_at_the_ends_and_keeps_the_width() -> None:
    made = axis.of_time(0, 8 * HOUR)
    shown = Window(2 * HOUR, 4 * HOUR)

    assert axis.panned(made, shown, 0.5) == Window(3 * HOUR, 5 * HOUR)
    assert axis.panned(made, shown, -5) == Window(0, 2 * HOUR)
    assert axis.panned(made, shown, 5) == Window(6 * HOUR, 8 * HOUR)


@unhurried
@given(axes(), moments, moments, st.floats(0.01, 100), st.floats(0, 1), st.floats(-3, 3))
def test_every_window_lies_inside_the_axis_and_shows_something(
    made: Axis, a: int, b: int, factor: float, around: float, share: float
) -> None:
    first = axis.window(made, a, b)
    for shown in (first, axis.zoomed(made, first, factor, around), axis.panned(made, first, share)):
        assert made.first <= shown.lo <= shown.hi <= made.last
        assert made.place(shown.hi) > made.place(shown.lo)


# Bins ---------------------------------------------------------------------------------------------


@unhurried
@given(axes(), moments, moments, st.integers(1, 300), st.lists(moments, max_size=20))
def test_every_moment_of_a_window_is_in_exactly_one_bin(
    made: Axis, a: int, b: int, count: int, inside: list[int]
) -> None:
    shown = axis.window(made, a, b)
    found = axis.edges(made, shown, count)

    assert len(found) == count
    assert found == sorted(found)
    for moment in [shown.lo, shown.hi, *(m for m in inside if shown.lo <= m <= shown.hi)]:
        number = axis.bin_of(found, moment)
        assert 1 <= number <= count
        assert found[number - 1] <= moment
        assert number == count or moment < found[number]


@unhurried
@given(axes(), st.integers(1, 300), moments, moments)
def test_a_later_moment_is_never_in_an_earlier_bin(made: Axis, count: int, a: int, b: int) -> None:
    found = axis.edges(made, axis.whole(made), count)
    a, b = sorted((a, b))

    assert axis.bin_of(found, a) <= axis.bin_of(found, b)


@unhurried
@given(axes(), moments, moments)
def test_knots_lead_from_one_side_of_a_window_to_the_other(made: Axis, a: int, b: int) -> None:
    shown = axis.window(made, a, b)
    found = axis.knots_in(made, shown, most=10)

    assert found == sorted(found)
    assert found[0] == (0.0, shown.lo)
    assert found[-1] == (1.0, shown.hi)
    assert len(found) <= 12


# The ruler ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "least", "step"),
    [
        (Unit.EVENT, 1, 1),
        (Unit.EVENT, 3, 5),
        (Unit.EVENT, 11, 20),
        (Unit.EVENT, 6_000, 10_000),
        (Unit.TIME, 1, 1_000),
        (Unit.TIME, 3 * SECOND, 5 * SECOND),
        (Unit.TIME, 31 * SECOND, MINUTE),
        (Unit.TIME, 45 * MINUTE, HOUR),
        (Unit.TIME, 13 * HOUR, DAY),
        (Unit.TIME, 3 * DAY, 5 * DAY),
        (Unit.TIME, 900 * 365 * DAY, 500_000 * DAY),
    ],
)
def test_a_step_is_round(unit: Unit, least: int, step: int) -> None:
    assert axis.step_for(unit, least) == step


def test_ticks_stand_at_round_times_of_the_clock() -> None:
    made = axis.of_time(at(9, 3, 20), at(9, 58, 0))
    found = axis.ruler(made, axis.whole(made), width=600)

    assert [tick.moment for tick in found] == [at(9, m, 0) for m in (10, 20, 30, 40, 50)]
    assert {tick.step for tick in found} == {10 * MINUTE}


def test_no_tick_stands_in_a_compressed_pause() -> None:
    pause = Pause(at(9, 30, 0), at(17, 30, 0))
    made = axis.of_time(at(9, 0, 0), at(18, 0, 0), [pause])
    found = axis.ruler(made, axis.whole(made), width=1200)

    assert all(not pause.start < tick.moment < pause.end for tick in found)
    assert len(found) >= 6


def test_between_many_pauses_less_round_moments_fill_the_room() -> None:
    pauses = [Pause(at(9, n, 10), at(9, n, 10) + 118 * SECOND) for n in range(0, 40, 2)]
    made = axis.of_time(at(9, 0, 0), at(9, 40, 0), pauses, SECOND)
    found = axis.ruler(made, axis.whole(made), width=1200)

    assert len(found) >= 8
    assert len({tick.step for tick in found}) > 1


def test_events_are_counted_where_there_are_no_times() -> None:
    made = axis.of_events(250)
    found = axis.ruler(made, axis.whole(made), width=600)

    assert [tick.moment for tick in found] == [0, 50, 100, 150, 200, 250]


@unhurried
@given(axes(), moments, moments, st.integers(100, 3_000))
def test_ticks_are_few_apart_and_inside(made: Axis, a: int, b: int, width: int) -> None:
    shown = axis.window(made, a, b)
    found = axis.ruler(made, shown, width=width)
    shares = [tick.share for tick in found]

    assert len(shares) <= width / 89 + 1
    assert all(0 <= share <= 1 for share in shares)
    assert all((right - left) * width >= 88 for left, right in pairwise(shares))
    assert bisect_left([tick.moment for tick in found], shown.hi + 1) == len(shares)


def test_thousands_of_pauses_keep_the_ruler_bounded() -> None:
    pauses = [Pause(n * HOUR, n * HOUR + 50 * MINUTE) for n in range(axis.MOST_PAUSES)]
    made = axis.of_time(0, 2_000 * HOUR, pauses)

    assert 1 <= len(axis.ruler(made, axis.whole(made), width=1200)) <= 14
