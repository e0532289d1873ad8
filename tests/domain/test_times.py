"""Times in a log are hostile text: plausible ones are read, the rest is none."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import times

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    [
        "2026-11-18T12:00:00Z",
        "2026-11-18T12:00:00+00:00",
        "2026-11-18T13:00:00+01:00",
        "2026-11-18 12:00:00",
        "20261118T120000Z",
        1_795_003_200,
        1_795_003_200.0,
        1_795_003_200_000,
        1_795_003_200_000_000,
        1_795_003_200_000_000_000,
    ],
)
def test_one_moment_in_many_spellings(said: object) -> None:
    assert times.read(said) == NOON


@pytest.mark.parametrize(
    "said",
    [
        None,
        True,
        False,
        "",
        "now",
        "2026",
        [],
        {},
        -1,
        -1e308,
        1e308,
        math.nan,
        math.inf,
        10**400,
        "0001-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59-23:59",
        "9" * 41,
        "2026-11-18T12:00:00Z" + "0" * 40,
        "2026-02-30T00:00:00Z",
        "٢٠٢٦-١١-١٨",
    ],
)
def test_what_is_no_plausible_time_is_none(said: object) -> None:
    assert times.read(said) is None


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.lists(st.integers())))
def test_nothing_raises_and_all_is_bounded(said: object) -> None:
    found = times.read(said)

    assert found is None or times.EARLIEST <= found <= times.LATEST


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 29)), st.integers(-1439, 1439))  # noqa: DTZ001
def test_any_iso_time_is_read_in_its_zone(naive: datetime, minutes: int) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    assert times.read(moment.isoformat()) == moment


def test_the_first_usual_field_with_a_time_counts() -> None:
    assert times.found_in({"timestamp": "rubbish", "created_at": NOON.isoformat()}) == NOON
    assert times.found_in({}) is None
