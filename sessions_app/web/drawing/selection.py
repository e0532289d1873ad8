"""What was chosen on a timeline: a range of it, or one event."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sessions_app.domain import axis, spending, timeline
from sessions_app.domain.axis import SECOND, Axis, Unit, Window
from sessions_app.domain.events import Body, Flag, Kind, Message, Record, ToolResult, gist_of
from sessions_app.domain.spending import Sums
from sessions_app.domain.strips import Tool
from sessions_app.models import Session
from sessions_app.store import calls, moments, read, usage
from sessions_app.store import timeline as store
from sessions_app.store.moments import Outline

KINDS = {
    Kind.USER: "User line",
    Kind.ASSISTANT: "Assistant",
    Kind.SYSTEM: "System line",
    Kind.TOOL: "Tool result",
    Kind.RECORD: "Other line",
    Kind.UNREADABLE: "Unreadable line",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`first` and `last` are numbers of events; none where the range holds no event."""

    first: int | None
    last: int | None
    start: datetime | None
    end: datetime | None
    seconds: float | None
    counts: store.Counts
    spending: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    seq: int
    moment: int
    at: datetime | None
    label: str
    tool: str
    said: str
    took: float | None
    is_error: bool
    spending: Sums
    earlier: int | None
    later: int | None
    # When the order of the lines says it happened, if its own time says otherwise.
    drawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    range: Range | None
    picked: Picked | None


def chosen(
    session: Session,
    known: Outline,
    tools: tuple[Tool, ...],
    made: Axis,
    selected: Window | None,
    picked: int | None,
) -> Chosen:
    top = tuple(tool.term for tool in tools)
    return Chosen(
        range=None if selected is None else _range(session, known, made, selected),
        picked=None if picked is None else _picked(session, known, top, picked),
    )


def _range(session: Session, known: Outline, made: Axis, selected: Window) -> Range:
    lo, hi = moments.stretch(known, selected.lo, selected.hi)
    is_timed = made.unit is Unit.TIME
    return Range(
        first=lo if lo < hi else None,
        last=hi - 1 if lo < hi else None,
        start=axis.datetime_of(selected.lo) if is_timed else None,
        end=axis.datetime_of(selected.hi) if is_timed else None,
        seconds=(selected.hi - selected.lo) / SECOND if is_timed else None,
        counts=store.counts(known, lo, hi),
        spending=spending.added(usage.of_range(session.id, lo, hi)),
    )


def _picked(session: Session, known: Outline, top: tuple[int, ...], seq: int) -> Picked:
    line = read.event(session, seq)
    (row,) = moments.rows(known, seq, seq + 1)
    lane = timeline.lane_of(row.kind, row.flags, row.tool, top, is_subagent=known.is_subagent)
    beside = store.neighbours(known, seq, lane, top)
    gist = gist_of(line.reading.body)
    drawn_at = axis.datetime_of(row.moment) if known.unit is Unit.TIME else None
    return Picked(
        seq=seq,
        moment=row.moment,
        at=line.at,
        label=_label(line.reading.body, line.kind, line.flags, gist.tool),
        tool=gist.tool,
        said=timeline.said(line.reading.body),
        took=_took(session, known, row),
        is_error=bool(line.flags & Flag.ERROR),
        spending=spending.added(usage.of_range(session.id, seq, seq + 1)),
        earlier=beside.earlier,
        later=beside.later,
        drawn_at=drawn_at if _is_elsewhere(line.at, drawn_at) else None,
    )


def _is_elsewhere(said: datetime | None, drawn: datetime | None) -> bool:
    return said is not None and drawn is not None and abs(drawn - said) >= timedelta(seconds=1)


def _label(body: Body, kind: Kind, flags: Flag, tool: str) -> str:
    if flags & Flag.PROMPT:
        return "Prompt"
    if flags & Flag.COMPACTION:
        return "Compaction"
    if isinstance(body, Record):
        return body.label
    if isinstance(body, Message) and any(isinstance(part, ToolResult) for part in body.parts):
        return KINDS[Kind.TOOL]
    return "Tool call" if kind is Kind.ASSISTANT and tool else KINDS[kind]


def _took(session: Session, known: Outline, row: timeline.Row) -> float | None:
    """From a call to its result."""
    pairs = calls.pairings(session, row.seq, row.seq + 1).get(row.seq, [])
    ends = [pair.other for pair in pairs if not pair.is_result and pair.other is not None]
    if known.unit is Unit.EVENT or not ends or max(ends) <= row.seq:
        return None
    (end,) = moments.rows(known, max(ends), max(ends) + 1)
    return (end.moment - row.moment) / SECOND
