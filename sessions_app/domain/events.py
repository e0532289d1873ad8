"""What a line of a log can mean. A closed union: a new kind walks the type checker to every room.

A line becomes one `Reading`: when it happened and its body. Adapters in `formats` make readings;
nothing here knows a vendor.
"""

from collections.abc import Iterator
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
    arguments: str


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
    json: str


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
    json: str


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


def kind_of(body: Body) -> Kind:
    match body:
        case Message():
            return KIND_OF_ROLE[body.role]
        case Record():
            return Kind.RECORD
        case Unreadable():
            return Kind.UNREADABLE
        case _:
            assert_never(body)


def is_error(body: Body) -> bool:
    return isinstance(body, Message) and any(
        isinstance(part, ToolResult) and part.is_error for part in body.parts
    )


def tool_of(body: Body) -> str:
    """The tool a line is about: the first one it calls."""
    if isinstance(body, Message):
        for part in body.parts:
            if isinstance(part, ToolCall):
                return part.name
        if body.role is Role.TOOL:
            return body.name
    return ""


def is_prompt(body: Body) -> bool:
    """A person's turn: a user message that says something, and is not a tool's answer."""
    return (
        isinstance(body, Message)
        and body.role is Role.USER
        and any(isinstance(part, Text) and part.text.strip() for part in body.parts)
    )


def texts(body: Body) -> Iterator[str]:
    """Everything in a line that a person might search for."""
    match body:
        case Message():
            for part in body.parts:
                yield from _part_texts(part)
            if body.model:
                yield body.model
        case Record():
            yield body.json
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
            yield part.arguments
        case Picture():
            yield part.media_type
        case Data():
            yield part.json
        case _:
            assert_never(part)


def title_of(body: Body, longest: int = 120) -> str:
    """The first line of a prompt, cut to a length a table can show."""
    if not isinstance(body, Message):
        return ""
    said = next((p.text for p in body.parts if isinstance(p, Text) and p.text.strip()), "")
    # Only the head is looked at: a prompt can be megabytes of pasted text.
    line = " ".join(said[: longest * 20].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
