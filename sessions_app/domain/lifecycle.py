"""How a session stands: what its log ends with, and what that means after so much silence.

Inferred from the log alone. The rules are a table, so that one row (`status`) and the database
(which asks for all sessions of a status) go by the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum


class Ending(IntEnum):
    """What the last thing in a log is. Numbers are a stored format: never renumber."""

    NOTHING = 0
    # The assistant said what it had to say.
    ANSWERED = 1
    # A prompt, or the result of a tool: the assistant has not answered yet.
    ASKED = 2
    # A tool was called and has not answered yet.
    CALLING = 3
    FAILED = 4
    INTERRUPTED = 5
    # A line that is not whole: it is still being written, or the writing broke off.
    CUT = 6


class Turn(StrEnum):
    """Who should act next."""

    MACHINE = "machine"
    HUMAN = "human"
    NOBODY = "nobody"


class Status(StrEnum):
    RUNNING = "running"
    # For a human.
    WAITING = "waiting"
    IDLE = "idle"
    # Should have gone on by now.
    STALE = "stale"
    # Did not go on: it ended in the middle of something.
    UNCLEAN = "unclean"
    CLOSED = "closed"
    ARCHIVED = "archived"


TURNS: Mapping[Ending, Turn] = {
    Ending.NOTHING: Turn.NOBODY,
    Ending.ANSWERED: Turn.HUMAN,
    Ending.INTERRUPTED: Turn.HUMAN,
    Ending.ASKED: Turn.MACHINE,
    Ending.CALLING: Turn.MACHINE,
    # Agents try again, or another way.
    Ending.FAILED: Turn.MACHINE,
    Ending.CUT: Turn.MACHINE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """How long it may have been silent at whose turn; from `over` up to `under`."""

    turn: Turn
    over: timedelta | None = None
    under: timedelta | None = None


# Tools and answers rarely take longer than the first; after the second nobody waits any more.
_SOON, _LATE, _DAY = timedelta(minutes=10), timedelta(hours=1), timedelta(days=1)

SPANS: Mapping[Status, tuple[Span, ...]] = {
    Status.RUNNING: (Span(turn=Turn.MACHINE, under=_SOON),),
    Status.STALE: (Span(turn=Turn.MACHINE, over=_SOON, under=_LATE),),
    Status.UNCLEAN: (Span(turn=Turn.MACHINE, over=_LATE),),
    Status.WAITING: (Span(turn=Turn.HUMAN, under=_LATE),),
    Status.IDLE: (
        Span(turn=Turn.HUMAN, over=_LATE, under=_DAY),
        Span(turn=Turn.NOBODY, under=_DAY),
    ),
    Status.CLOSED: (Span(turn=Turn.HUMAN, over=_DAY), Span(turn=Turn.NOBODY, over=_DAY)),
}


def turn(ending: Ending, *, is_timed: bool) -> Turn:
    """Of a log without times nobody can say whether it goes on."""
    return TURNS[ending] if is_timed else Turn.NOBODY


def status(whose: Turn, quiet: timedelta, *, is_archived: bool) -> Status:
    if is_archived:
        return Status.ARCHIVED
    return next(found for under, found in _STEPS[whose] if under is None or quiet < under)


def _steps(whose: Turn) -> list[tuple[timedelta | None, Status]]:
    """One after the other, each up to which silence."""
    own = [(span, found) for found, spans in SPANS.items() for span in spans if span.turn is whose]
    own.sort(key=lambda step: step[0].over or timedelta.min)
    return [(span.under, found) for span, found in own]


_STEPS = {whose: _steps(whose) for whose in Turn}
