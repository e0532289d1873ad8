"""How a session stands: every combination has one status, and the table says which."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.lifecycle import SPANS, TURNS, Ending, Status, Turn, status, turn

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

CASES = [
    (Ending.CALLING, MINUTE, Status.RUNNING),
    (Ending.ASKED, 9 * MINUTE, Status.RUNNING),
    (Ending.FAILED, MINUTE, Status.RUNNING),
    (Ending.CUT, MINUTE, Status.RUNNING),
    (Ending.CALLING, 10 * MINUTE, Status.STALE),
    (Ending.ASKED, 59 * MINUTE, Status.STALE),
    (Ending.CALLING, HOUR, Status.UNCLEAN),
    (Ending.FAILED, 400 * DAY, Status.UNCLEAN),
    (Ending.CUT, 2 * DAY, Status.UNCLEAN),
    (Ending.ANSWERED, MINUTE, Status.WAITING),
    (Ending.INTERRUPTED, 59 * MINUTE, Status.WAITING),
    (Ending.ANSWERED, HOUR, Status.IDLE),
    (Ending.ANSWERED, DAY, Status.CLOSED),
    (Ending.NOTHING, MINUTE, Status.IDLE),
    (Ending.NOTHING, 2 * DAY, Status.CLOSED),
    # A clock of another machine runs ahead.
    (Ending.CALLING, -HOUR, Status.RUNNING),
]


@pytest.mark.parametrize(("ending", "quiet", "stands"), CASES)
def test_an_ending_and_a_silence_make_a_status(
    ending: Ending, quiet: timedelta, stands: Status
) -> None:
    assert status(turn(ending, is_timed=True), quiet, is_archived=False) is stands


def test_a_log_without_times_never_runs_waits_or_breaks() -> None:
    for ending in Ending:
        assert turn(ending, is_timed=False) is Turn.NOBODY


def test_archived_is_archived_whatever_it_ended_with() -> None:
    for whose in Turn:
        assert status(whose, MINUTE, is_archived=True) is Status.ARCHIVED


def test_every_ending_says_whose_turn_it_is() -> None:
    assert set(TURNS) == set(Ending)


@given(st.sampled_from(Turn), st.timedeltas(-DAY, 1000 * DAY))
def test_exactly_one_status_holds(whose: Turn, quiet: timedelta) -> None:
    holding = [
        each
        for each, spans in SPANS.items()
        for span in spans
        if span.turn is whose
        and (span.over is None or quiet >= span.over)
        and (span.under is None or quiet < span.under)
    ]
    assert holding == [status(whose, quiet, is_archived=False)]
