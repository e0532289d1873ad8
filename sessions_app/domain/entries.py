"""A line of the record as its readers want it: who speaks, what that is called, what it marks."""

from datetime import datetime
from typing import Protocol, assert_never

from sessions_app.domain import jsontext
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Reading,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
)

LABELS = {
    Role.USER: "User",
    Role.ASSISTANT: "Assistant",
    Role.SYSTEM: "System",
    Role.TOOL: "Tool result",
}
MARKS = {
    Flag.COMPACTION: "Compaction",
    Flag.SIDECHAIN: "Subagent",
    Flag.MODEL_CHANGE: "Model change",
    Flag.ECHO: "Repeated",
    Flag.INCOMPLETE: "Incomplete",
}
# Arguments that tell most about a call, in the order they are looked for.
TELLING = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt")
LONGEST_GIST = 160


class Entry(Protocol):
    """What `store.read` gives; said here so that pure rooms can take it."""

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> datetime | None: ...
    @property
    def flags(self) -> Flag: ...
    @property
    def length(self) -> int: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def reading(self) -> Reading: ...


def role(entry: Entry) -> str:
    """A role, or record or unreadable. A user's message of nothing but results is a tool's."""
    body = entry.reading.body
    if isinstance(body, Message):
        only_results = body.parts and all(isinstance(p, ToolResult | Picture) for p in body.parts)
        return "tool" if body.role is Role.USER and only_results else body.role.value
    is_calm = isinstance(body, Record) or entry.flags & Flag.INCOMPLETE
    return "record" if is_calm else "unreadable"


def label(entry: Entry) -> str:
    body = entry.reading.body
    match body:
        case Message():
            return "Tool result" if role(entry) == "tool" else LABELS[body.role]
        case Record():
            return body.label
        case Unreadable():
            return _unread_label(entry)
        case _:
            assert_never(body)


def _unread_label(entry: Entry) -> str:
    if entry.flags & Flag.INCOMPLETE:
        return "Line being written"
    return "Long line" if is_cut(entry) else "Unreadable line"


def is_cut(entry: Entry) -> bool:
    return len(entry.raw) < entry.length


def model(entry: Entry) -> str:
    body = entry.reading.body
    return body.model if isinstance(body, Message) else ""


def marks(entry: Entry) -> list[str]:
    """What the line marks in the life of its session, in words."""
    return [name for flag, name in MARKS.items() if entry.flags & flag]


def gist(call: ToolCall) -> str:
    """The one argument that says what a call was about, on one line."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    found = (arguments.get(key) for key in TELLING)
    telling = next((value for value in found if isinstance(value, str) and value), "")
    return " ".join(telling[:400].split())[:LONGEST_GIST]


def said(entry: Entry) -> str:
    """All text of a line, its parts apart; names and arguments of calls with it."""
    body = entry.reading.body
    match body:
        case Message():
            return "\n\n".join(filter(None, map(_said, body.parts)))
        case Record():
            return jsontext.laid_out(dict(body.fields))
        case Unreadable():
            return entry.raw.decode("utf-8", "replace")
        case _:
            assert_never(body)


def _said(part: Part) -> str:
    match part:
        case Text() | Thinking() | ToolResult():
            return part.text
        case ToolCall():
            return f"{part.name} {value_text(part.arguments)}".strip()
        case Picture():
            return f"[{part.media_type or 'picture'}, {part.size:,} bytes]"
        case Data():
            return f"{part.label} {value_text(part.value)}".strip()
        case _:
            assert_never(part)


def value_text(value: object) -> str:
    return value if isinstance(value, str) else jsontext.laid_out(value)
