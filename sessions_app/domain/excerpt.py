"""Events as Markdown, to be pasted elsewhere: what was said and done, as text anybody can read."""

import json
import re
from collections.abc import Iterable, Iterator

from sessions_app.domain import outcomes, toolcalls
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
    says_something,
)
from sessions_app.domain.meanings import Command, Patch
from sessions_app.domain.transcript import Entry

# Of one part; a pasted excerpt is to be read, the record itself is a click away.
LONGEST = 20_000
NAMES = {
    Role.USER: "User",
    Role.ASSISTANT: "Assistant",
    Role.SYSTEM: "System",
    Role.TOOL: "Tool",
}
_FENCES = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def markdown(entries: Iterable[Entry]) -> str:
    """Lines that repeat others and bare bookkeeping are left out."""
    told = (_entry(entry) for entry in entries if not entry.flags & Flag.ECHO)
    return "\n\n".join(text for text in told if text) + "\n"


def _entry(entry: Entry) -> str:
    body = entry.body
    match body:
        case Message():
            told = [text for part in body.parts for text in _part(part)]
            parts = [text for text in told if says_something(text)]
            return "\n\n".join((_head(entry, NAMES[body.role]), *parts)) if parts else ""
        case Record():
            return _head(entry, body.label) if entry.flags & Flag.COMPACTION else ""
        case Unreadable():
            return f"{_head(entry, 'Unreadable line')}\n\n{body.reason}"


def _head(entry: Entry, name: str) -> str:
    at = f", {entry.at:%Y-%m-%d %H:%M:%S} UTC" if entry.at else ""
    return f"**{one_line(name)}** (event {entry.seq}{at})"


def one_line(text: str) -> str:
    return toolcalls.one_line(text, 200)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield _cut(part.text).strip("\n")
        case Thinking():
            yield _quoted(_cut(part.text))
        case ToolCall():
            yield from _call(part)
        case ToolResult():
            yield _fenced(_cut(outcomes.of(part.text).text), "")
        case Picture():
            yield f"(a picture: {one_line(part.media_type) or 'image'})"
        case Data():
            yield _fenced(_cut(_json(part.value)), "json")


def _call(call: ToolCall) -> Iterator[str]:
    told = toolcalls.meaning(call)
    yield f"Tool: {one_line(call.name)}"
    match told:
        case Command():
            yield _fenced(_cut(told.command), told.language)
        case Patch():
            yield _fenced(_cut(told.text), "diff")
        case _:
            text = call.arguments if isinstance(call.arguments, str) else _json(call.arguments)
            yield _fenced(_cut(text), "" if isinstance(call.arguments, str) else "json")


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (ValueError, RecursionError):
        return "(nested too deeply to be written out)"


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"


def _fenced(text: str, language: str) -> str:
    """A fence longer than any in the text, so that the text cannot end it."""
    fence = "`" * (max((len(found) for found in _FENCES.findall(text)), default=2) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
