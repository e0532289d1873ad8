"""Few events: each is a bar as long as it took."""

from collections import Counter
from collections.abc import Sequence

from sessions_app.domain import timeline
from sessions_app.domain.axis import SECOND, Unit
from sessions_app.domain.events import Flag
from sessions_app.domain.timeline import Bar, Lane, Span
from sessions_app.store import timeline as store
from sessions_app.templatetags.show import duration
from sessions_app.web.drawing.pieces import Piece, piece
from sessions_app.web.drawing.stretch import ERRORS, HEIGHT, Held, Part, Stretch

BAR_ROWS = 3
# A bar lower than this has no room for words.
LABEL_HEIGHT = 10


def part(found: Stretch) -> Part:
    near = store.close_up(found.session, found.known, found.lo, found.hi)
    bars = _bars(found, near)
    by_lane: dict[int, list[Bar]] = {}
    for bar in bars:
        by_lane.setdefault(bar.lane, []).append(bar)
    return Part(
        is_close=True,
        bins=1,
        shown=dict(Counter(bar.lane for bar in bars)),
        pieces={lane: _bar_pieces(found, lane, each) for lane, each in by_lane.items()},
        milestones=tuple(timeline.flagged(near.rows)),
        contexts=_contexts(found, near),
        before=store.context_before(found.known, found.lo),
    )


def _bars(found: Stretch, near: store.Close) -> list[Bar]:
    rows = {row.seq: row for row in near.rows}
    ends = {
        call: rows[result].moment if result in rows else found.shown.hi
        for call, result in near.results.items()
    }
    failed = frozenset(
        call
        for call, result in near.results.items()
        if result in rows and rows[result].flags & Flag.ERROR
    )
    errors = [
        Bar(ERRORS, row.moment, row.moment, row.seq, True)
        for row in near.rows
        if row.flags & Flag.ERROR
    ]
    bars = timeline.bars(near.rows, found.top, ends, failed, is_subagent=found.known.is_subagent)
    return [*bars, *errors]


def _contexts(found: Stretch, near: store.Close) -> tuple[Held, ...]:
    if not near.rows:
        return ()
    share = found.axis.scale(found.shown)
    starts = tuple(row.seq for row in near.rows)
    return tuple(
        Held(min(max(share(near.rows[each.number - 1].moment), 0), 1), each.most, each.least)
        for each in store.contexts(found.known, found.hi, starts)
    )


def _bar_pieces(found: Stretch, lane: int, bars: Sequence[Bar]) -> tuple[Piece, ...]:
    """Calls that run side by side lie one above the other."""
    spans = [_pixels(found, bar) for bar in bars]
    rows = timeline.packed(spans, BAR_ROWS) if lane >= Lane.TOOLS else [0] * len(bars)
    height = (HEIGHT - 6) // (max(rows) + 1)
    return tuple(
        _bar_piece(found, bar, 3 + row * (height + 1), height)
        for bar, row in zip(bars, rows, strict=True)
    )


def _pixels(found: Stretch, bar: Bar) -> Span:
    share = found.axis.scale(found.shown)
    return Span(*(round(share(moment) * found.width) for moment in (bar.start, bar.end)))


def _bar_piece(found: Stretch, bar: Bar, y: int, height: int) -> Piece:
    end = bar.end + 1 if found.axis.unit is Unit.EVENT else bar.end
    label = ""
    if found.axis.unit is Unit.TIME and height > LABEL_HEIGHT:
        label = str(duration((bar.end - bar.start) / SECOND))
    return piece(
        found.axis,
        found.shown,
        Span(bar.start, end),
        found.width,
        seq=bar.seq,
        is_error=bar.is_error,
        label=label,
        y=y,
        height=height,
    )
