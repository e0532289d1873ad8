"""The drawing of a timeline: lanes, ruler, map and milestones as numbers a template writes down.

Counts in bins become one path a lane, whose unit is a bin. Single events become bars, placed in
per cent of the width, so that the drawing fits any screen without being drawn again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.domain import axis, timeline
from sessions_app.domain.axis import Axis, Unit, Window
from sessions_app.domain.sorts import EVERYTHING, Sort, Sought
from sessions_app.domain.strips import Tool
from sessions_app.domain.timeline import Lane, Span
from sessions_app.models import Session
from sessions_app.store import moments
from sessions_app.store import timeline as store
from sessions_app.store.moments import Outline
from sessions_app.web.drawing import closeup, counted, milestones, pieces, ruler
from sessions_app.web.drawing.counted import Overview
from sessions_app.web.drawing.milestones import Life
from sessions_app.web.drawing.pieces import Piece, piece
from sessions_app.web.drawing.ruler import Tick
from sessions_app.web.drawing.stretch import ERRORS, Held, Part, Stretch

CURVE_WIDTH, CURVE_HEIGHT = 1_000, 40
SUBAGENT_ROWS = 3
LONGEST_NAME = 40
SORTS: dict[int, Sort] = {
    Lane.PROMPTS: Sort.PROMPTS,
    Lane.ASSISTANT: Sort.ANSWERS,
    ERRORS: Sort.ERRORS,
}
KEYS: dict[int, str] = {
    Lane.PROMPTS: "prompts",
    Lane.ASSISTANT: "assistant",
    Lane.TOOLS: "tools",
    Lane.SUBAGENTS: "lines",
    ERRORS: "errors",
    Lane.OTHER: "other",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    # What it is called where it is pinned: by a tool's name, because ranks change as a log grows.
    key: str
    number: int
    look: str
    label: str
    shown: int
    total: int
    # The transcript narrowed to what the lane is about, where there is a filter for it.
    url: str = ""
    path: str = ""
    # Bin, events and first event of every mark, for those who point at it.
    cells: str = ""
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    line: str
    most: str
    least: str
    peak: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentView:
    uid: UUID
    title: str
    events: int
    errors: int
    start: datetime | None
    end: datetime | None
    piece: Piece | None
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    lo: int
    hi: int
    bins: int
    is_close: bool
    tools: tuple[Tool, ...]
    tracks: tuple[Track, ...]
    subagents: tuple[SubagentView, ...]
    subagent_rows: int
    life: Life
    ticks: tuple[Tick, ...]
    bands: tuple[Piece, ...]
    curve: Curve | None
    overview: Overview
    map_window: Piece
    # Where on the map the window begins and ends.
    map_from: str
    map_to: str
    map_knots: str
    knots: str

    @property
    def events(self) -> int:
        return self.hi - self.lo


def drawn(session: Session, known: Outline, made: Axis, shown: Window, width: int) -> Drawing:
    tools = store.top_tools(known)
    top = tuple(tool.term for tool in tools)
    bins = timeline.bins_for(width)
    overall = counted.overview(known, made, bins, top)
    lo, hi = moments.stretch(known, shown.lo, shown.hi)
    found = Stretch(
        session=session, known=known, axis=made, shown=shown, width=width, top=top, lo=lo, hi=hi
    )
    part = closeup.part(found) if hi - lo <= timeline.MOST_BARS else counted.part(found, bins)
    helpers = _subagents(found)
    whole = axis.whole(made)
    on_map = made.scale(whole)
    return Drawing(
        lo=lo,
        hi=hi,
        bins=part.bins,
        is_close=part.is_close,
        tools=tools,
        tracks=_tracks(part, overall.totals, store.names_of(session, tools), top),
        subagents=helpers,
        subagent_rows=1 + max((each.row for each in helpers), default=0),
        life=milestones.life(known, made, shown, part.milestones, width),
        ticks=ruler.ticks(made, shown, width),
        bands=ruler.bands(made, shown, known.pauses, width),
        curve=_curve(part.contexts, part.before),
        overview=overall,
        map_window=piece(made, whole, Span(shown.lo, shown.hi), width),
        map_from=f"{on_map(shown.lo):.5f}",
        map_to=f"{on_map(shown.hi):.5f}",
        map_knots=ruler.knots(made, whole),
        knots=ruler.knots(made, shown),
    )


# Lanes ---------------------------------------------------------------------------------------


def _tracks(
    part: Part, totals: Mapping[int, int], names: dict[int, str], top: tuple[int, ...]
) -> tuple[Track, ...]:
    keys = dict(KEYS)
    lanes: list[tuple[int, str, str, bool]] = [
        (Lane.PROMPTS, "user", "Prompts", True),
        (Lane.ASSISTANT, "assistant", "Assistant", True),
    ]
    filters = {lane: Sought(sorts=frozenset({sort})) for lane, sort in SORTS.items()}
    for number, term in enumerate(top, start=1):
        name = names.get(term, "")
        if name:
            filters[Lane.TOOLS + number] = EVERYTHING.of_tool(name)
        keys[Lane.TOOLS + number] = f"tool:{name[:LONGEST_NAME] or number}"
        lanes.append((Lane.TOOLS + number, "tool", name[:LONGEST_NAME] or f"Tool {number}", True))
    lanes += [
        (Lane.TOOLS, "tool", "Other tools", False),
        (Lane.SUBAGENTS, "subagent", "Subagent lines", False),
        (ERRORS, "error", "Errors", True),
        (Lane.OTHER, "other", "Other lines", False),
    ]
    urls = {lane: f"./?{each.query}" for lane, each in filters.items()}
    return tuple(
        _track(part, keys[lane], lane, look, label, totals.get(lane, 0), urls.get(lane, ""))
        for lane, look, label, always in lanes
        if always or totals.get(lane)
    )


def _track(part: Part, key: str, lane: int, look: str, label: str, total: int, url: str) -> Track:
    return Track(
        key=key,
        number=lane,
        look=look,
        label=label,
        shown=part.shown.get(lane, 0),
        total=total,
        url=url,
        path=part.paths.get(lane, ""),
        cells=part.cells.get(lane, ""),
        pieces=part.pieces.get(lane, ()),
    )


def _subagents(found: Stretch) -> tuple[SubagentView, ...]:
    helpers = store.subagents(found.session)
    spans = [Span(each.start or 0, max(each.end or 0, each.start or 0)) for each in helpers]
    rows = timeline.packed(spans, SUBAGENT_ROWS)
    shown = found.shown
    return tuple(
        SubagentView(
            uid=each.uid,
            title=each.title,
            events=each.events,
            errors=each.errors,
            start=pieces.at(Unit.TIME, each.start),
            end=pieces.at(Unit.TIME, each.end),
            row=row,
            piece=piece(
                found.axis,
                shown,
                span,
                found.width,
                label=each.title,
                is_error=bool(each.errors),
                y=row * 18 + 2,
            )
            if found.axis.unit is Unit.TIME
            and each.start is not None
            and span.start <= shown.hi
            and span.end >= shown.lo
            else None,
        )
        for each, span, row in zip(helpers, spans, rows, strict=True)
    )


def _curve(points: Sequence[Held], before: int) -> Curve | None:
    """The size of the context as a line of steps; below it the area of the most and, where many
    answers share a step, of the least."""
    peak = max([before, *(point.most for point in points)], default=0)
    if not peak:
        return None
    most = _corners([(point.share, point.most) for point in points], before, peak)
    least = _corners([(point.share, point.least) for point in points], before, peak)
    ground = f"{CURVE_WIDTH},{CURVE_HEIGHT} 0,{CURVE_HEIGHT}z"
    return Curve(
        line=f"M{most}",
        most=f"M{most} {ground}",
        least=f"M{least} {ground}",
        peak=peak,
        last=points[-1].most if points else before,
    )


def _corners(points: Sequence[tuple[float, int]], before: int, peak: int) -> str:
    return " ".join(
        f"{share * CURVE_WIDTH:.0f},{CURVE_HEIGHT - tokens / peak * (CURVE_HEIGHT - 2):.1f}"
        for share, tokens in timeline.steps(points, before)
    )
