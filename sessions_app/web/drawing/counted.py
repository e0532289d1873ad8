"""Many events: counts in bins, as one path a lane whose unit is a bin.

What is drawn of a long session is kept until the session changes: it holds counts and no words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sessions_app.domain import axis, timeline
from sessions_app.domain.axis import Axis, Window
from sessions_app.domain.timeline import Cell, Mark, Milestone, Tally
from sessions_app.store import timeline as store
from sessions_app.store.moments import Outline
from sessions_app.web.drawing.stretch import ERRORS, HEIGHT, Held, Part, Stretch

MAP_HEIGHT = 40
# Drawing more events than this is worth remembering until the session changes.
WORTH_KEEPING = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The whole session: how much is in its lanes, and the map above them."""

    bins: int
    totals: Mapping[int, int]
    disordered: int
    path: str
    errors: str


def overview(known: Outline, made: Axis, bins: int, top: tuple[int, ...]) -> Overview:
    is_long = known.events > WORTH_KEEPING
    return (_kept_overview if is_long else _overview)(known, made, bins, top)


def _overview(known: Outline, made: Axis, bins: int, top: tuple[int, ...]) -> Overview:
    whole = axis.whole(made)
    tallies = _tallies(known, made, whole, 0, known.events, bins, top)
    errors = timeline.error_cells(tallies)
    totals = Counter({ERRORS: sum(cell.events for cell in errors)})
    for tally in tallies:
        totals[tally.lane] += tally.events
    return Overview(
        bins=bins,
        totals=totals,
        disordered=store.disordered(known),
        path=_path(timeline.all_cells(tallies), MAP_HEIGHT),
        errors=_path(errors, HEIGHT // 2),
    )


def part(found: Stretch, bins: int) -> Part:
    is_long = found.hi - found.lo > WORTH_KEEPING
    counted = _kept_part if is_long else _part
    return counted(found.known, found.axis, found.shown, found.lo, found.hi, bins, found.top)


def _part(
    known: Outline,
    made: Axis,
    shown: Window,
    lo: int,
    hi: int,
    bins: int,
    top: tuple[int, ...],
) -> Part:
    every = _tallies(known, made, shown, lo, hi, bins, top)
    tallies, fewer = timeline.fitted(every, bins)
    edges = axis.edges(made, shown, fewer)
    cells = timeline.cells_by_lane(tallies) | {ERRORS: timeline.error_cells(tallies)}
    return Part(
        is_close=False,
        bins=fewer,
        shown={lane: sum(cell.events for cell in each) for lane, each in cells.items()},
        paths={lane: _path(each, HEIGHT) for lane, each in cells.items()},
        cells={
            lane: " ".join(f"{cell.bin}:{cell.events}:{cell.first}" for cell in each)
            for lane, each in cells.items()
        },
        milestones=_milestones(tallies, edges),
        contexts=_contexts(known, hi, timeline.all_cells(tallies), fewer),
        before=store.context_before(known, lo),
    )


_kept_overview = lru_cache(maxsize=32)(_overview)
_kept_part = lru_cache(maxsize=32)(_part)


def _tallies(
    known: Outline,
    made: Axis,
    shown: Window,
    lo: int,
    hi: int,
    bins: int,
    top: tuple[int, ...],
) -> list[Tally]:
    return store.tallies(known, lo, hi, tuple(axis.edges(made, shown, bins)), top)


def _contexts(known: Outline, hi: int, cells: Sequence[Cell], bins: int) -> tuple[Held, ...]:
    starts = tuple(cell.first for cell in cells)
    return tuple(
        Held((cells[each.number - 1].bin - 1) / bins, each.most, each.least)
        for each in store.contexts(known, hi, starts)
    )


def _milestones(tallies: Sequence[Tally], edges: Sequence[int]) -> tuple[Milestone, ...]:
    return tuple(
        Milestone(edges[cell.bin - 1], cell.first, mark, times=cell.events)
        for mark, cells in (
            (Mark.COMPACTION, timeline.compaction_cells(tallies)),
            (Mark.MODEL, timeline.model_cells(tallies)),
        )
        for cell in cells
    )


def _path(cells: Sequence[Cell], height: int) -> str:
    """Bars standing on the ground, a unit apart and a little narrower."""
    bars = {
        events: f".08 {height}v-{share * height:.1f}h.84V{height}z"
        for events, share in timeline.heights(cells).items()
    }
    return "".join([f"M{cell.bin - 1}{bars[cell.events]}" for cell in cells])
