"""Small parts of the pages about the whole workspace."""

import pytest

from sessions_app.templatetags import workspace
from sessions_app.templatetags.show import dollars


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.034, "3.4 %"),
        (0.456, "46 %"),
        (0.9999, "99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(share: float, shown: str) -> None:
    assert workspace.percent(share).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_949, "59.9 s"),
        (60_000, "1 min 0 s"),
        (125_400, "2 min 5 s"),
        (3_600_000, "1 h 0 min"),
        (2**31 - 1, "596 h 31 min"),
    ],
)
def test_a_length_is_told_in_units_of_its_size(length: int, shown: str) -> None:
    assert workspace.milliseconds(length).replace("\u00a0", " ") == shown


def test_what_is_not_known_is_told_so() -> None:
    assert "not known" in workspace.percent(None)
    assert "not known" in workspace.milliseconds(None)


def test_a_bar_stays_inside_its_box() -> None:
    assert 'width="64.0"' in workspace.bar(7)
    assert 'width="0.0"' in workspace.bar(-1)


@pytest.mark.parametrize(
    ("picodollars", "shown"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (28_000_000, "$0.000028"),
        (2_720_000_000, "$0.0027"),
        (10_000_000_000, "$0.01"),
        (1_234_567_000_000_000, "$1,234.57"),
    ],
)
def test_a_cost_is_told_in_plain_digits(picodollars: int | None, shown: str) -> None:
    assert dollars(picodollars) == shown
