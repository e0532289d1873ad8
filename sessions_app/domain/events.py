"""What a line of a log can mean. A closed union: a new kind walks the type checker to every room.

A line becomes one `Reading`: when it happened and its body. Adapters in `formats` make readings;
nothing here knows a vendor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import NamedTuple, TypeVar, assert_never, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(cls: type[Class]) -> type[Class]:
    """Frozen for the type checker only. Made several times for every line, and a class that is
    frozen when it runs takes twice as long to make."""
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@value
class Text:
    text: str


@value
class Thinking:
    text: str


@value
class ToolCall:
    name: str
    call_id: str
    # As parsed: text, or any JSON value.
    arguments: object


@value
class ToolResult:
    call_id: str
    text: str
    is_error: bool


@value
class Picture:
    """An image or file inside a message, described and not drawn."""

    media_type: str
    size: int


@value
class Data:
    """Fields that are kept and shown as they are, because no meaning is known for them."""

    label: str
    value: object


Part = Text | Thinking | ToolCall | ToolResult | Picture | Data


@value
class Message:
    role: Role
    parts: tuple[Part, ...]
    model: str = ""
    name: str = ""


@value
class Record:
    """A readable line that is not a message: a marker, a snapshot, something not yet known."""

    label: str
    fields: Mapping[str, object]
    # Keys that hold ids, times and other bookkeeping: shown, but nothing to search for.
    quiet: frozenset[str] = frozenset()


@value
class Unreadable:
    """A line that is not what the format promises. It is kept, shown and counted."""

    reason: str


Body = Message | Record | Unreadable


class TieKind(IntEnum):
    """How an id in a line ties its session to others. Numbers are a stored format."""

    # An id others know this session by.
    SELF = 1
    # An id of one record. Two sessions that share some hold copies of the same lines.
    RECORD = 2
    # The id of the session this one was made from.
    FORK_OF = 3
    SUBAGENT_OF = 4
    CONTINUES = 5
    # The id of a session this one started.
    STARTED = 6
    # Where the file lies: made from paths, never by a format.
    FOLDER = 7
    BELOW_FOLDER = 8
    # Of usage, by the key of a whole (`Scope.WHOLE`): a part of it tells tokens; it tells them
    # itself.
    PART_TOLD = 9
    WHOLE_TOLD = 10


class Tie(NamedTuple):
    kind: TieKind
    id: str


class Scope(IntEnum):
    """Among which lines a usage key means the same answer of a provider."""

    CORPUS = 1
    # The key is unique inside the turn in force (`Notes.turn`), or the session if none is. A line
    # whose key is that of the last such line of its session tells of the same answer, even if a
    # turn began in between.
    TURN = 2
    # The key is unique inside the session, by the id its lines name (`TieKind.SELF`).
    SESSION = 3
    # The key names a whole that is made of answers: it counts while none of them is told
    # (`TieKind.PART_TOLD`).
    WHOLE = 4


@value
class Usage:
    """Tokens of one answer of a provider, as one line tells it. Lines with the same key tell of
    the same answer: the largest of each counter counts, once."""

    key: str
    scope: Scope = Scope.CORPUS
    # Empty: the model in force.
    model: str = ""
    provider: str = ""
    # Without what was read from or written to a cache.
    input: int = 0
    # With the reasoning.
    output: int = 0
    cache_read: int = 0
    # All writes, those kept for an hour included.
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    # What the log itself says it cost, in millionths of a millionth of a dollar.
    reported: int | None = None


# Rank of a title that, before anything was said, is one of another session.
TITLE_OF_WHAT_WAS_SAID = 0


@value
class Notes:
    """What a line says about its session, beside what is said in it. Empty means: nothing new."""

    usage: tuple[Usage, ...] = ()
    ties: tuple[Tie, ...] = ()
    # A name for the session; the last one of the highest rank wins.
    title: str = ""
    title_rank: int = 1
    cwd: str = ""
    branch: str = ""
    version: str = ""
    # In force from here on.
    model: str = ""
    turn: str = ""
    # Bits of `Flag` that follow from the envelope and not from the body.
    flags: int = 0
    # All of this is about the session the line names. If that is not the session it stands in,
    # the line was copied when this session was made from that one.
    is_header: bool = False


@value
class Reading:
    body: Body
    at: datetime | None = None
    notes: Notes | None = None


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
    # The context was replaced by a summary here, or the line is that summary.
    COMPACTION = 16
    # Belongs to a subagent's conversation inside the session.
    SIDECHAIN = 32
    THINKING = 64
    PICTURE = 128
    MODEL_CHANGE = 256
    # Says again what another line of the session says: shown folded, counted nowhere.
    ECHO = 512
    # A person stopped the assistant here.
    INTERRUPTED = 1024


KIND_OF_ROLE = {
    Role.USER: Kind.USER,
    Role.ASSISTANT: Kind.ASSISTANT,
    Role.SYSTEM: Kind.SYSTEM,
    Role.TOOL: Kind.TOOL,
}


class Gist(NamedTuple):
    """What an event row and a session's counts say of a line."""

    kind: Kind
    flags: int
    tool: str


# What is said in a line, and what tools printed in it.
Said = tuple[list[str], list[str]]

# Plain names and numbers: to look a member up by its class, or to calculate with one, takes ten
# times as long, and adds up to more than reading the line.
_USER, _TOOL = Role.USER, Role.TOOL
_RECORD, _UNREADABLE = Kind.RECORD, Kind.UNREADABLE
_PROMPT = Flag.PROMPT.value
_ERROR = Flag.ERROR.value
_THINKING = Flag.THINKING.value
_PICTURE = Flag.PICTURE.value
# A person speaks in none of these.
_NO_PROMPT = (Flag.SIDECHAIN | Flag.COMPACTION | Flag.ECHO).value


def gist_of(body: Body, noted: int = 0) -> Gist:
    """`noted` are the flags of the line's notes."""
    kind, flags, tool, _ = survey(body, noted)
    return Gist(kind, flags, tool)


def survey(body: Body, noted: int = 0) -> tuple[Kind, int, str, Said]:
    """The gist of a line and its texts, in one walk: made for every line.

    A prompt is a person's turn: a user message that says something. The tool of a line is the
    first one it calls, or the one it answers for."""
    match body:
        case Message():
            flags, tool, texts = _survey_of(body)
            if noted:
                flags |= noted
                if noted & _NO_PROMPT:
                    flags &= ~_PROMPT
            return KIND_OF_ROLE[body.role], flags, tool, texts
        case Record():
            out: list[str] = []
            _collect(body.fields, body.quiet, out)
            return _RECORD, noted, "", (out, [])
        case Unreadable():
            return _UNREADABLE, 0, "", ([], [])
        case _:
            assert_never(body)


def says_something(text: str) -> bool:
    """Not blank; without the copy that `strip` would make of a long text."""
    return bool(text) and not text.isspace()


def _survey_of(body: Message) -> tuple[int, str, Said]:
    flags = 0
    role = body.role
    tool = body.name if role is _TOOL else ""
    said: list[str] = []
    printed: list[str] = []
    for part in body.parts:
        if isinstance(part, ToolResult):
            printed.append(part.text)
            flags |= part.is_error * _ERROR
        elif isinstance(part, Text):
            said.append(part.text)
            if role is _USER and says_something(part.text):
                flags |= _PROMPT
        else:
            flags |= _collect_part(part, said)
            if isinstance(part, ToolCall):
                tool = tool or part.name
    if body.model:
        said.append(body.model)
    return flags, tool, (said, printed)


def _collect_part(part: ToolCall | Thinking | Picture | Data, out: list[str]) -> int:
    """Returns its flag."""
    match part:
        case ToolCall():
            out.append(part.name)
            _collect(part.arguments, _ALL, out)
        case Thinking():
            out.append(part.text)
            return _THINKING
        case Picture():
            out.append(part.media_type)
            return _PICTURE
        case Data():
            _collect(part.value, _ALL, out)
        case _:
            assert_never(part)
    return 0


def texts(body: Body) -> list[str]:
    """Everything in a line that a person might search for."""
    said, printed = survey(body)[3]
    return said + printed


def said(body: Body) -> list[str]:
    """All texts but those that tools printed: most of the text of most logs, and looked for only
    if somebody asks."""
    return survey(body)[3][0]


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
            out += item
            stack += item.values()
        elif type(item) is list:
            stack += item
        elif type(item) in _NUMBERS:
            out.append(str(item))


_NUMBERS = (int, float)


LONGEST_TITLE = 120


def title_of(body: Body) -> str:
    """The first line of a prompt, cut to a length a table can show."""
    if not isinstance(body, Message):
        return ""
    said = next((p.text for p in body.parts if isinstance(p, Text) and says_something(p.text)), "")
    return short(said)


def short(said: str) -> str:
    # Only the head is looked at: a prompt can be megabytes of pasted text.
    line = " ".join(said[: LONGEST_TITLE * 20].split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"
