"""The events in view: which they are, and how they are drawn by lane."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sessions_app.domain.axis import Axis, Window
from sessions_app.domain.timeline import Milestone
from sessions_app.models import Session
from sessions_app.store.moments import Outline
from sessions_app.web.drawing.pieces import Piece

HEIGHT = 20
# Errors have a lane, beside the one that each event is in.
ERRORS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The events lo ≤ seq < hi, those in the window."""

    session: Session
    known: Outline
    axis: Axis
    shown: Window
    width: int
    # Blind terms of the tools that have lanes of their own.
    top: tuple[int, ...]
    lo: int
    hi: int


class Held(NamedTuple):
    """The size of the context from some share of the window on."""

    share: float
    most: int
    least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """By lane: how many events, and either one path of counts or single bars."""

    is_close: bool
    bins: int
    shown: Mapping[int, int]
    paths: Mapping[int, str] = field(default_factory=dict)
    # Bin, events and first event of every mark, for those who point at it.
    cells: Mapping[int, str] = field(default_factory=dict)
    pieces: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)
    milestones: tuple[Milestone, ...]
    contexts: tuple[Held, ...]
    before: int
