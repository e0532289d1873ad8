"""What a line of a log can mean. A closed union: a new kind walks the type checker to every room.

A line becomes one `Reading`: when it happened and its body. Adapters in `formats` make readings;
nothing here knows a vendor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import NamedTuple, assert_never


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


class Gist(NamedTuple):
    """What an event row and a session's counts say of a line; made for every line."""

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


def says_something(text: str) -> bool:
    """Not blank; without the copy that `strip` would make of a long text."""
    return bool(text) and not text.isspace()


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
        elif isinstance(part, Text) and body.role is Role.USER and says_something(part.text):
            flags |= _PROMPT
    return Gist(KIND_OF_ROLE[body.role], flags, tool)


def texts(body: Body) -> list[str]:
    """Everything in a line that a person might search for."""
    out: list[str] = []
    match body:
        case Message():
            for part in body.parts:
                _collect_part(part, out)
            if body.model:
                out.append(body.model)
        case Record():
            _collect(body.fields, body.quiet, out)
        case Unreadable():
            pass
        case _:
            assert_never(body)
    return out


def _collect_part(part: Part, out: list[str]) -> None:
    match part:
        case Text() | Thinking() | ToolResult():
            out.append(part.text)
        case ToolCall():
            out.append(part.name)
            _collect(part.arguments, _ALL, out)
        case Picture():
            out.append(part.media_type)
        case Data():
            _collect(part.value, _ALL, out)
        case _:
            assert_never(part)


_ALL: frozenset[str] = frozenset()


def _collect(value: object, quiet: frozenset[str], out: list[str]) -> None:
    """Every string inside a JSON value, keys included; a stack, because depth is hostile too."""
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            out.append(item)
        elif isinstance(item, dict):
            if quiet:
                item = {key: inner for key, inner in item.items() if key not in quiet}
            out.extend(item)
            stack.extend(item.values())
        elif type(item) is list:
            stack.extend(item)
        elif type(item) in (int, float):
            out.append(str(item))


def title_of(body: Body, longest: int = 120) -> str:
    """The first line of a prompt, cut to a length a table can show."""
    if not isinstance(body, Message):
        return ""
    said = next((p.text for p in body.parts if isinstance(p, Text) and says_something(p.text)), "")
    # Only the head is looked at: a prompt can be megabytes of pasted text.
    line = " ".join(said[: longest * 20].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
