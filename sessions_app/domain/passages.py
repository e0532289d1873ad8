"""What of an event can be searched: its texts, each with the place it stands in.

The same texts as `events.texts`, told apart, because a hit in what a person said is worth more
than one in what a tool printed, and because `file:` and `cmd:` ask for certain places only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from sessions_app.domain import words
from sessions_app.domain.events import (
    Body,
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
    gist_of,
)


class Where(Enum):
    SAID = "text"
    THOUGHT = "thinking"
    CALL = "call"
    PATH = "path"
    COMMAND = "command"
    ADDRESS = "address"
    RESULT = "result"
    OTHER = "record"
    RAW = "raw line"


# Names of arguments that hold a path, a command or an address, whatever the tool.
_PATHS = (
    *("path", "paths", "file", "files", "file_path", "file_paths", "filepath", "filename"),
    *("notebook_path", "target_file", "target_directory", "absolute_path", "relative_path"),
    *("dir", "dir_path", "directory", "folder", "cwd", "workdir", "working_directory"),
)
_COMMANDS = ("command", "commands", "cmd", "script", "shell_command")
_ADDRESSES = ("url", "urls", "uri", "href", "link")
_PLACES = {
    **dict.fromkeys(_PATHS, Where.PATH),
    **dict.fromkeys(_COMMANDS, Where.COMMAND),
    **dict.fromkeys(_ADDRESSES, Where.ADDRESS),
}
# Bodies of lines no adapter can read are looked at up to here; longer lines come in pieces.
LONGEST_RAW = 4 * 1024 * 1024


class Passage:
    """One text. Its bytes are made when they are first asked for: most passages of most events are
    never looked at as a whole, and there are thousands."""

    __slots__ = ("_data", "_low", "_separated", "_spelled", "_wide", "text", "where")

    def __init__(self, where: Where, text: str) -> None:
        self.where = where
        self.text = text
        self._data: bytes | None = None
        self._low: bytes | None = None
        self._separated: bytes | None = None
        self._spelled: set[bytes] | None = None
        self._wide: tuple[bytes, ...] | None = None

    @property
    def data(self) -> bytes:
        if self._data is None:
            self._data = self.text.encode("utf-8", "replace")
        return self._data

    @property
    def low(self) -> bytes:
        if self._low is None:
            self._low = self.data.lower()
        return self._low

    @property
    def separated(self) -> bytes:
        """Of the same length, with a space for whatever no word contains."""
        if self._separated is None:
            self._separated = self.data.translate(words.SEPARATED)
        return self._separated

    @property
    def spelled(self) -> set[bytes]:
        """Every spelling of every word."""
        if self._spelled is None:
            found = words.words_in(self.data)
            self._spelled = {each for word in found for each in words.spellings(word)}
        return self._spelled

    @property
    def wide(self) -> tuple[bytes, ...]:
        """The words that have letters outside ASCII."""
        if self._wide is None:
            found = () if self.data.isascii() else words.words_in(self.data)
            self._wide = tuple(each for each in found if not each.isascii())
        return self._wide

    def character(self, offset: int) -> int:
        """Where in the text a byte stands."""
        if self.data.isascii():
            return offset
        return len(self.data[:offset].decode("utf-8", "ignore"))

    def offset(self, character: int) -> int:
        """Which byte a character begins with."""
        if self.data.isascii():
            return character
        return len(self.text[:character].encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A line as a question looks at it."""

    body: Body
    raw: bytes
    is_error: bool
    # The model in force, for lines that name none.
    model: str = ""

    def passages(self, *, has_results: bool) -> list[Passage]:
        return list(_passages(self, has_results=has_results))


_ERROR = Flag.ERROR.value


def event_of(reading: Reading, raw: bytes, *, model: str = "") -> Event:
    noted = reading.notes.flags if reading.notes else 0
    is_error = bool(gist_of(reading.body, noted).flags & _ERROR)
    return Event(body=reading.body, raw=raw, is_error=is_error, model=model)


def _passages(event: Event, *, has_results: bool) -> Iterator[Passage]:
    body = event.body
    match body:
        case Message():
            for part in body.parts:
                if has_results or not isinstance(part, ToolResult):
                    yield from _of_part(part)
            if body.model:
                yield Passage(Where.OTHER, body.model)
        case Record():
            yield from _inside(body.fields, Where.OTHER, body.quiet)
        case Unreadable():
            if not words.is_noise(event.raw):
                yield Passage(Where.RAW, event.raw[:LONGEST_RAW].decode("utf-8", "replace"))
        case _:
            assert_never(body)


def _of_part(part: Part) -> Iterator[Passage]:
    match part:
        case Text():
            yield Passage(Where.SAID, part.text)
        case Thinking():
            yield Passage(Where.THOUGHT, part.text)
        case ToolResult():
            yield Passage(Where.RESULT, part.text)
        case ToolCall():
            yield Passage(Where.CALL, part.name)
            yield from _inside(part.arguments, Where.CALL)
        case Picture():
            yield Passage(Where.OTHER, part.media_type)
        case Data():
            yield from _inside(part.value, Where.OTHER)
        case _:
            assert_never(part)


def _inside(value: object, where: Where, quiet: frozenset[str] = frozenset()) -> Iterator[Passage]:
    """Every string inside a JSON value, keys included; a stack, because depth is hostile too."""
    is_call = where is Where.CALL
    stack = [(value, where)]
    while stack:
        item, place = stack.pop()
        if type(item) is str:
            yield Passage(place, item)
        elif isinstance(item, dict):
            for key, inner in item.items():
                if key not in quiet:
                    yield Passage(where, key)
                    stack.append((inner, _PLACES.get(_bare(key), place) if is_call else place))
        elif type(item) is list:
            stack.extend((inner, place) for inner in item)
        elif type(item) in (int, float):
            yield Passage(where, str(item))


def _bare(key: str) -> str:
    """filePath and file_path are one name."""
    if key.islower():
        return key
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key[:40]).lstrip("_")


def role_of(body: Body) -> str:
    """Who speaks, as the transcript labels it."""
    if not isinstance(body, Message):
        return ""
    only_results = body.parts and all(isinstance(p, ToolResult | Picture) for p in body.parts)
    return "tool" if body.role is Role.USER and only_results else body.role.value


def label_of(body: Body) -> str:
    """Who speaks, or what kind of line it is."""
    return role_of(body) or gist_of(body).kind.name.lower()


def called(body: Body) -> list[str]:
    """Names of the tools a line calls, or of the one it speaks for."""
    if not isinstance(body, Message):
        return []
    names = [part.name for part in body.parts if isinstance(part, ToolCall)]
    return [*names, body.name] if body.role is Role.TOOL and body.name else names


def answers(body: Body) -> bool:
    """Does it hold results of calls that other lines made?"""
    return isinstance(body, Message) and any(
        isinstance(part, ToolResult) and part.call_id for part in body.parts
    )
