"""The line of an event: who, what, the most telling words, how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from sessions_app import renderings
from sessions_app.domain import ansi, outcomes, toolcalls
from sessions_app.domain.events import (
    Flag,
    Message,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
)
from sessions_app.domain.meanings import Edit, Meaning, Patch, Plan, Write
from sessions_app.domain.toolcalls import one_line
from sessions_app.domain.transcript import Entry, is_work
from sessions_app.renderings.shape import Chip
from sessions_app.store.read import Line
from sessions_app.templatetags.show import duration
from sessions_app.web.transcript.desk import Desk, Known

LABELS = {
    Role.USER: "User",
    Role.ASSISTANT: "Assistant",
    Role.SYSTEM: "System",
    Role.TOOL: "Tool result",
}
ROLE_ICONS = {"user": "user", "assistant": "bot", "system": "settings", "tool": "arrow-right"}
LONGEST_GIST = 140
NO_TIME = "0.0\u00a0s"
# A longer word of the program itself is folded: it is there, but nobody came to read it.
SHORT_SYSTEM = 300
# Calls whose results only say that it worked.
DULL = (Edit, Write, Patch, Plan)
# What is opened by itself: short enough to be taken in at a glance.
SHORT_LINES, SHORT_TEXT = 8, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """What the line of an event says."""

    role: str
    icon: str
    label: str
    gist: str = ""
    chips: tuple[Chip, ...] = ()
    is_result: bool = False
    is_joined: bool = False
    # Short enough to be read at a glance, and worth it.
    is_short: bool = False


def face(line: Line, entry: Entry, desk: Desk) -> Face:
    body = entry.body
    match body:
        case Message():
            return _of_work(line, body, desk) if is_work(entry) else _of_words(entry, body)
        case Record():
            return Face(role="record", icon="file-text", label=body.label, gist=_record_gist(body))
        case Unreadable():
            is_calm = bool(line.flags & Flag.INCOMPLETE)
            return Face(
                role="record" if is_calm else "unreadable",
                icon="clock" if is_calm else "triangle-alert",
                label=_unread_label(line),
            )
        case _:
            assert_never(body)


def _unread_label(line: Line) -> str:
    if line.flags & Flag.INCOMPLETE:
        return "Line being written"
    return "Long line" if line.is_cut else "Unreadable line"


def _of_words(entry: Entry, body: Message) -> Face:
    role = body.role.value
    gist = _first_line(body) if is_long_system(entry) else ""
    label = "Summary" if entry.flags & Flag.COMPACTION else LABELS[body.role]
    return Face(role=role, icon=ROLE_ICONS[role], label=label, gist=gist)


def _of_work(line: Line, body: Message, desk: Desk) -> Face:
    calls = [part for part in body.parts if isinstance(part, ToolCall)]
    results = [part for part in body.parts if isinstance(part, ToolResult)]
    if line.flags & Flag.ECHO:
        return Face(
            role="record", icon="file-text", label=LABELS[body.role], gist=_first_line(body)
        )
    if len(calls) == 1 and len(results) < 2:
        return _of_call(calls[0], results)
    if len(results) == 1 and not calls:
        return _of_result(line, results[0], desk)
    if calls or results:
        return _of_several(calls, results)
    return _of_thoughts(body)


def _of_call(call: ToolCall, results: list[ToolResult]) -> Face:
    """Some agents write a call and what came of it into one line."""
    told = toolcalls.meaning(call)
    result = results[0] if results else None
    return Face(
        role="tool",
        icon="circle-x" if result and result.is_error else renderings.icon(told),
        label=renderings.name(call),
        gist=toolcalls.gist(call, told),
        chips=tuple(chips(result, "")) if result else (),
        is_short=result is not None and _is_worth(result.text, told),
    )


def _is_worth(text: str, told: Meaning | None) -> bool:
    return is_short_text(text) and not isinstance(told, DULL)


def _of_result(line: Line, result: ToolResult, desk: Desk) -> Face:
    call = desk.calls.get(result.call_id)
    is_joined = line.seq in desk.joined
    return Face(
        role="tool",
        icon="circle-x" if result.is_error else "arrow-right",
        label=_answer(result, None if is_joined or call is None else renderings.name(call.call)),
        gist=result_gist(result),
        chips=tuple(chips(result, _took(line, call, is_joined))),
        is_result=True,
        is_joined=is_joined,
        is_short=_is_worth(result.text, call.told if call else None),
    )


def _answer(result: ToolResult, name: str | None) -> str:
    if name is None:
        return "Failed" if result.is_error else "Result"
    return f"{name} failed" if result.is_error else f"Result of {name}"


def _of_several(calls: list[ToolCall], results: list[ToolResult]) -> Face:
    names = ", ".join(dict.fromkeys(renderings.name(call) for call in calls))
    number = len(calls) or len(results)
    word = "tool call" if calls else "result"
    label = f"{number} {word}{'s' if number > 1 else ''}"
    return Face(role="tool", icon="wrench", label=label, gist=one_line(names, LONGEST_GIST))


def _of_thoughts(body: Message) -> Face:
    thoughts = [part.text for part in body.parts if isinstance(part, Thinking)]
    if thoughts:
        gist = one_line(thoughts[0], LONGEST_GIST)
        return Face(role="assistant", icon="brain", label="Thinking", gist=gist)
    role = body.role.value
    gist = "" if body.parts else "no text"
    return Face(role=role, icon=ROLE_ICONS[role], label=LABELS[body.role], gist=gist)


def _first_line(body: Message) -> str:
    said = (part.text for part in body.parts if isinstance(part, Text | Thinking))
    return one_line(next(said, ""), LONGEST_GIST)


def _record_gist(record: Record) -> str:
    """The fields a record has, so that a folded one still says something."""
    names = [name for name in record.fields if name not in record.quiet and name != "type"]
    return one_line(", ".join(names[:20]), LONGEST_GIST)


def result_gist(result: ToolResult) -> str:
    printed = ansi.uncoloured(outcomes.of(result.text).text[:4000])
    lines = (line.strip() for line in printed.split("\n"))
    return one_line(next(filter(None, lines), ""), LONGEST_GIST)


def is_short_text(text: str) -> bool:
    return len(text) <= SHORT_TEXT and text.count("\n") < SHORT_LINES


def chips(result: ToolResult, took: str) -> Iterator[Chip]:
    ended = outcomes.of(result.text)
    if ended.exit_code is not None:
        yield Chip(text=f"exit {ended.exit_code}", tone="err" if ended.exit_code else "quiet")
    seconds = took if ended.seconds is None else _seconds(ended.seconds)
    if seconds and not seconds.endswith(NO_TIME):
        yield Chip(text=seconds)
    lines = ended.text.strip("\n").count("\n") + 1
    if lines > 1:
        yield Chip(text=f"{lines:,} lines")


def _took(line: Line, call: Known | None, is_joined: bool) -> str:
    """A call that others stood between may have ended earlier than its result was written."""
    if call is None or call.at is None or line.at is None or line.at < call.at:
        return ""
    time = _seconds((line.at - call.at).total_seconds())
    return time if is_joined else f"≤ {time}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}\u00a0s" if seconds < 10 else str(duration(timedelta(seconds=seconds)))


def is_long_system(entry: Entry) -> bool:
    body = entry.body
    if not isinstance(body, Message) or body.role is not Role.SYSTEM:
        return False
    return sum(len(part.text) for part in body.parts if isinstance(part, Text)) > SHORT_SYSTEM
