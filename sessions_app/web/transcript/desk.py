"""What is at hand while the events of one section are written out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sessions_app.domain import toolcalls
from sessions_app.domain.events import Message, Part, ToolCall, ToolResult
from sessions_app.domain.meanings import Meaning
from sessions_app.domain.transcript import Entry, is_quiet
from sessions_app.renderings.pen import Pen
from sessions_app.store.calls import Pairing
from sessions_app.store.read import Line
from sessions_app.store.threads import Started


class Density(StrEnum):
    """How much of an event is open, and how much room it takes."""

    COMFORTABLE = "comfortable"
    NORMAL = "normal"
    COMPACT = "compact"
    SKIM = "skim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A call of this section, for those who answer it."""

    seq: int
    at: datetime | None
    call: ToolCall
    told: Meaning


@dataclass(slots=True, kw_only=True)
class Desk:
    # Where the session's pages are, seen from the page that shows this.
    base: str
    pen: Pen
    prefix: str = ""
    density: Density = Density.NORMAL
    target: int | None = None
    # Everything is shown, nothing waits to be asked for.
    is_whole: bool = False
    calls: dict[str, Known] = field(default_factory=dict)
    pairs: dict[int, list[Pairing]] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    # Files that hold an output of which the log has only the beginning, by their names.
    outputs: dict[str, UUID] = field(default_factory=dict)
    # Calls and results that stand right below each other, bookkeeping aside.
    joined: set[int] = field(default_factory=set)
    # The last model named, and whether the last event was of a subagent.
    model: str = ""
    is_side: bool = False


def entry_of(line: Line) -> Entry:
    reading = line.reading
    return Entry(seq=line.seq, at=line.at, flags=line.flags, body=reading.body, notes=reading.notes)


def known_calls(lines: Iterable[Line]) -> dict[str, Known]:
    """The calls of a section by their ids."""
    return {
        part.call_id: Known(seq=line.seq, at=line.at, call=part, told=toolcalls.meaning(part))
        for line in lines
        for part in _message_parts(line)
        if isinstance(part, ToolCall) and part.call_id
    }


def joined(lines: Iterable[Line], calls: dict[str, Known]) -> set[int]:
    """Results that follow the one call they can answer, and those calls."""
    asked = Counter(each.seq for each in calls.values())
    found: set[int] = set()
    before: int | None = None
    for line in lines:
        ids = [part.call_id for part in _message_parts(line) if isinstance(part, ToolResult)]
        call = calls.get(ids[0]) if len(ids) == 1 else None
        if call is not None and call.seq == before and asked[call.seq] == 1:
            found |= {line.seq, call.seq}
        before = before if is_quiet(entry_of(line)) else line.seq
    return found


def _message_parts(line: Line) -> tuple[Part, ...]:
    body = line.reading.body
    return body.parts if isinstance(body, Message) else ()
