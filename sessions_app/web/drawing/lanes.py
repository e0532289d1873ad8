"""The lanes of a timeline from top to bottom: those a reader has pinned come first."""

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.web.drawing.tracks import Drawing, Track

SUBAGENTS, CONTEXT = "subagents", "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    key: str
    # Part of an id on the page.
    number: str
    label: str
    is_pinned: bool
    # None: the lane has a drawing of its own kind.
    track: Track | None = None


def ordered(drawing: Drawing, pinned: Sequence[str], *, is_timed: bool) -> list[Lane]:
    """In the order they were pinned, then the others as they always stand."""
    found = list(_lanes(drawing, frozenset(pinned), is_timed))
    place = {key: number for number, key in enumerate(pinned)}
    return sorted(found, key=lambda lane: place.get(lane.key, len(place)))


def _lanes(drawing: Drawing, pinned: frozenset[str], is_timed: bool) -> list[Lane]:
    tracks = [
        Lane(
            key=each.key,
            number=str(each.number),
            label=each.label,
            is_pinned=each.key in pinned,
            track=each,
        )
        for each in drawing.tracks
    ]
    others = [(SUBAGENTS, "Subagents", bool(drawing.subagents) and is_timed)]
    others.append((CONTEXT, "Context", drawing.curve is not None))
    return tracks + [
        Lane(key=key, number=key, label=label, is_pinned=key in pinned)
        for key, label, is_drawn in others
        if is_drawn
    ]
