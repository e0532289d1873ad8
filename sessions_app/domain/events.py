"""What a line of a log can mean. A closed union: a new kind walks the type checker to every room.

A line becomes one `Reading`: when it happened and its body. Adapters in `formats` make readings;
nothing here knows a vendor.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import assert_never


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    name: str
    call_id: str
    # As parsed: text, or any JSON value.
    arguments: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image or file inside a message, described and not drawn."""

    media_type: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Fields that are kept and shown as they are, because no meaning is known for them."""

    label: str
    value: object


Part = Text | Thinking | ToolCall | ToolResult | Picture | Data


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: Role
    parts: tuple[Part, ...]
    model: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A readable line that is not a message: a marker, a snapshot, something not yet known."""

    label: str
    fields: Mapping[str, object]
    # Keys that hold ids, times and other bookkeeping: shown, but nothing to search for.
    quiet: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line that is not what the format promises. It is kept, shown and counted."""

    reason: str


Body = Message | Record | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    body: Body
    at: datetime | None = None


class Kind(IntEnum):
    """The kind stored in an event row. Numbers are a stored format: never renumber."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3
    TOOL = 4
    RECORD = 5
    UNREADABLE = 6


class Flag(IntFlag):
    """Bits stored in an event row."""

    ERROR = 1
    INCOMPLETE = 2
    OVERSIZED = 4
    PROMPT = 8


KIND_OF_ROLE = {
    Role.USER: Kind.USER,
    Role.ASSISTANT: Kind.ASSISTANT,
    Role.SYSTEM: Kind.SYSTEM,
    Role.TOOL: Kind.TOOL,
}


@dataclass(frozen=True, slots=True)
class Gist:
    """What an event row and a session's counts say of a line."""

    kind: Kind
    flags: int
    tool: str


_RECORD = Gist(Kind.RECORD, 0, "")
_UNREADABLE = Gist(Kind.UNREADABLE, 0, "")
# Plain numbers: arithmetic on enum members would cost more than reading the line.
_PROMPT = Flag.PROMPT.value
_ERROR = Flag.ERROR.value


def gist_of(body: Body) -> Gist:
    match body:
        case Message():
            return _gist_of_message(body)
        case Record():
            return _RECORD
        case Unreadable():
            return _UNREADABLE
        case _:
            assert_never(body)


def _gist_of_message(body: Message) -> Gist:
    """A prompt is a person's turn: a user message that says something. The tool of a line is the
    first one it calls, or the one it answers for."""
    flags = 0
    tool = body.name if body.role is Role.TOOL else ""
    for part in body.parts:
        if isinstance(part, ToolResult):
            if part.is_error:
                flags |= _ERROR
        elif isinstance(part, ToolCall):
            tool = tool or part.name
        elif isinstance(part, Text) and body.role is Role.USER and part.text.strip():
            flags |= _PROMPT
    return Gist(KIND_OF_ROLE[body.role], flags, tool)


def texts(body: Body) -> Iterator[str]:
    """Everything in a line that a person might search for."""
    match body:
        case Message():
            for part in body.parts:
                yield from _part_texts(part)
            if body.model:
                yield body.model
        case Record():
            yield from _leaves(body.fields, body.quiet)
        case Unreadable():
            return
        case _:
            assert_never(body)


def _part_texts(part: Part) -> Iterator[str]:
    match part:
        case Text() | Thinking() | ToolResult():
            yield part.text
        case ToolCall():
            yield part.name
            yield from _leaves(part.arguments)
        case Picture():
            yield part.media_type
        case Data():
            yield from _leaves(part.value)
        case _:
            assert_never(part)


def _leaves(value: object, quiet: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every string inside a JSON value, and its keys; a stack, because depth is hostile too."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            for key, inner in item.items():
                if key not in quiet:
                    yield key
                    stack.append(inner)
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, int | float):
            yield str(item)


def title_of(body: Body, longest: int = 120) -> str:
    """The first line of a prompt, cut to a length a table can show."""
    if not isinstance(body, Message):
        return ""
    said = next((p.text for p in body.parts if isinstance(p, Text) and p.text.strip()), "")
    # Only the head is looked at: a prompt can be megabytes of pasted text.
    line = " ".join(said[: longest * 20].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
