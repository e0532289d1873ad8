"""How a session reads: turns, stretches of work between two answers, breaks in its life.

A turn is a prompt and all that follows until the next. What only calls tools, answers for them,
thinks or keeps books is work, and consecutive work folds into one line.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from sessions_app.domain.events import (
    Body,
    Data,
    Flag,
    Message,
    Notes,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    says_something,
)

# A longer silence is a pause, and what comes after it a resumption.
IDLE = timedelta(minutes=30)

_PLAIN = Flag.ERROR | Flag.COMPACTION | Flag.MODEL_CHANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line with what its row says of it."""

    seq: int
    at: datetime | None
    flags: Flag
    body: Body
    notes: Notes | None = None


class BreakKind(StrEnum):
    COMPACTION = "compaction"
    RESUMED = "resumed"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Begins with this prompt."""

    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Stands before this event."""

    seq: int
    kind: BreakKind
    gap: timedelta | None = None
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Consecutive work."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An event that stands alone."""

    entry: Entry


Item = Turn | Break | Run | Said


def is_work(entry: Entry) -> bool:
    """Tools, thoughts and books; nothing anybody said."""
    if entry.flags & Flag.ECHO:
        return True
    if isinstance(entry.body, Record):
        return not entry.flags & _PLAIN
    if not isinstance(entry.body, Message) or entry.flags & (Flag.PROMPT | Flag.COMPACTION):
        return False
    parts = entry.body.parts
    # A picture comes from a person, unless it comes with what a tool answered.
    is_answer = entry.body.role is not Role.USER or any(isinstance(p, ToolResult) for p in parts)
    return all(_is_work(part, is_answer) for part in parts)


def _is_work(part: object, is_answer: bool) -> bool:
    if isinstance(part, Text):
        return not says_something(part.text)
    if isinstance(part, Picture):
        return is_answer
    return isinstance(part, ToolCall | ToolResult | Thinking | Data)


def is_quiet(entry: Entry) -> bool:
    """Bookkeeping, and lines that say again what another line says."""
    return bool(entry.flags & Flag.ECHO) or isinstance(entry.body, Record)


@dataclass(slots=True)
class _Reader:
    idle: timedelta
    latest: datetime | None
    items: list[Item] = field(default_factory=list)
    work: list[Entry] = field(default_factory=list)
    is_compacting: bool = False

    def take(self, entry: Entry) -> None:
        if breaks := list(self._breaks(entry)):
            self.close()
            self.items += breaks
        if is_work(entry):
            self.work.append(entry)
            return
        self.close()
        if entry.flags & Flag.PROMPT:
            self.items.append(Turn(seq=entry.seq))
        self.items.append(Said(entry=entry))

    def close(self) -> None:
        if self.work:
            self.items.append(Run(entries=tuple(self.work)))
            self.work = []

    def _breaks(self, entry: Entry) -> Iterable[Break]:
        # Logs are not in the order of their times: only what lies behind all before is a gap.
        gap = entry.at - self.latest if entry.at and self.latest else timedelta()
        if entry.at and (self.latest is None or gap > timedelta()):
            self.latest = entry.at
        if gap > self.idle:
            yield Break(seq=entry.seq, kind=BreakKind.RESUMED, gap=gap)
        if entry.flags & Flag.MODEL_CHANGE:
            yield Break(seq=entry.seq, kind=BreakKind.MODEL, model=_model(entry))
        is_compaction = bool(entry.flags & Flag.COMPACTION)
        # A compaction is often told twice in a row: the boundary, then the summary.
        if is_compaction and not self.is_compacting:
            yield Break(seq=entry.seq, kind=BreakKind.COMPACTION)
        if is_compaction or not is_quiet(entry):
            self.is_compacting = is_compaction


def _model(entry: Entry) -> str:
    if entry.notes and entry.notes.model:
        return entry.notes.model
    return entry.body.model if isinstance(entry.body, Message) else ""


def items(
    entries: Iterable[Entry], *, latest: datetime | None = None, idle: timedelta = IDLE
) -> list[Item]:
    """`latest` is the latest time of what came before."""
    reader = _Reader(idle, latest)
    for entry in entries:
        reader.take(entry)
    reader.close()
    return reader.items
