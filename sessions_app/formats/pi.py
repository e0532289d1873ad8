"""pi sessions: a header, then entries, one a line. Version 1 is a list, 2 and 3 are a tree.

All branches of a tree are history and are read in the order of the file. OpenClaw writes the same
shape; `openclaw.py` tells it apart. Evidence: docs/formats/pi.md.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import (
    Body,
    Data,
    Flag,
    Message,
    Notes,
    Part,
    Reading,
    Role,
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    Usage,
)
from sessions_app.formats import fields, json_lines
from sessions_app.formats.shape import line_format

NAME = "pi"
AGENT = "pi"

ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "toolResult": Role.TOOL,
    # A command a person ran beside the conversation.
    "bashExecution": Role.USER,
}
QUIET = frozenset({"id", "parentId", "timestamp", "fromId", "targetId", "firstKeptEntryId"})

Fields = dict[str, Any]
Read = tuple[Body, Notes | None]


def recognises(records: list[Fields]) -> bool:
    return any(_is_header(record) or _is_entry(record) for record in records)


def _is_header(record: Fields) -> bool:
    keys = ("id", "timestamp", "cwd")
    return record.get("type") == "session" and all(isinstance(record.get(k), str) for k in keys)


def _is_entry(record: Fields) -> bool:
    """Other agents write trees of messages too, but none gives a result this role."""
    message = fields.inside(record.get("message"))
    return record.get("type") == "message" and message.get("role") == "toolResult"


def read(record: Fields) -> Reading:
    body, notes = READERS.get(json_lines.word(record.get("type")), _other)(record)
    own, stamp = json_lines.word(record.get("id")), json_lines.word(record.get("timestamp"))
    if own and stamp and record.get("type") != "session":
        # Ids are unique only inside a file; copies keep the time as well.
        tied = (Tie(TieKind.RECORD, f"{own} {stamp}"),)
        notes = replace(notes, ties=(*notes.ties, *tied)) if notes else Notes(ties=tied)
    at = times.read(record.get("timestamp"))
    if at is None:
        at = times.read(fields.inside(record.get("message")).get("timestamp"))
    return Reading(body=body, at=at, notes=notes)


def _other(record: Fields) -> Read:
    return json_lines.record(record, QUIET), None


# Entries -----------------------------------------------------------------------------------------


def _header(record: Fields) -> Read:
    parent = fields.uuid_in_name(record.get("parentSession") or record.get("branchedFrom"))
    own = json_lines.word(record.get("id"))
    ties = ((TieKind.SELF, own), (TieKind.FORK_OF, parent))
    notes = Notes(
        ties=tuple([Tie(kind, tied) for kind, tied in ties if tied]),
        cwd=fields.path(record.get("cwd")),
        model=json_lines.word(record.get("modelId")),
        version=f"session format {fields.count(record.get('version')) or 1}",
    )
    return json_lines.record(record, QUIET), notes


def _model_change(record: Fields) -> Read:
    """Also the choice of the first one."""
    return json_lines.record(record, QUIET), Notes(model=json_lines.word(record.get("modelId")))


def _session_info(record: Fields) -> Read:
    return json_lines.record(record, QUIET), Notes(title=json_lines.word(record.get("name")))


def _compaction(record: Fields) -> Read:
    return _summary(record, Flag.COMPACTION.value)


def _branch_summary(record: Fields) -> Read:
    return _summary(record, 0)


def _summary(record: Fields, flags: int) -> Read:
    """The tail an entry may keep is made of copies: it stays in the raw line."""
    summary = record.get("summary")
    usage = _usage(record.get("usage"), record.get("timestamp"), "")
    notes = Notes(usage=usage, flags=flags) if usage or flags else None
    if not isinstance(summary, str):
        return json_lines.record(record, QUIET | {"retainedTail"}), notes
    name = json_lines.word(record.get("type"))
    return Message(role=Role.SYSTEM, parts=(Text(text=summary),), name=name), notes


def _custom_message(record: Fields) -> Read:
    """Said to the model by an extension."""
    parts = tuple(_parts(record.get("content")))
    name = json_lines.word(record.get("customType"))
    return Message(role=Role.SYSTEM, parts=parts, name=name), None


def _message(record: Fields) -> Read:
    message = record.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return _other(record)
    role = json_lines.word(message["role"])
    body = Message(
        role=ROLES.get(role, Role.SYSTEM),
        parts=tuple(SPEAKERS.get(role, _said)(message)),
        model=json_lines.word(message.get("model")),
        name=json_lines.word(message.get("toolName") or message.get("customType")),
    )
    return body, _notes(message)


def _notes(message: Fields) -> Notes | None:
    model = json_lines.word(message.get("model"))
    usage = _usage(message.get("usage"), message.get("timestamp"), model)
    flags = STOPPED.get(json_lines.word(message.get("stopReason")), 0)
    if message["role"] == "compactionSummary":
        flags |= Flag.COMPACTION.value
    return Notes(usage=usage, model=model, flags=flags) if usage or flags or model else None


def _usage(usage: object, stamp: object, model: str) -> tuple[Usage, ...]:
    """A fork copies entries with their times: time, model and counters name the same answer in
    every file."""
    if not isinstance(usage, dict):
        return ()
    counters = [fields.count(usage.get(name)) for name in COUNTERS]
    reported = fields.picodollars(fields.inside(usage.get("cost")).get("total"))
    if not any(counters) and reported is None:
        return ()
    moment = stamp if isinstance(stamp, int | float | str) else ""
    read, output, cached, written = counters
    return (
        Usage(
            key=f"pi {str(moment)[:40]} {model} {read}.{output}.{cached}.{written}",
            model=model,
            input=read,
            output=output,
            cache_read=cached,
            cache_write=written,
            cache_write_1h=min(fields.count(usage.get("cacheWrite1h")), written),
            reasoning=fields.count(usage.get("reasoning")),
            reported=reported,
        ),
    )


# Messages ----------------------------------------------------------------------------------------


def _said(message: Fields) -> list[Part]:
    parts = _parts(message.get("content"))
    summary, trouble = message.get("summary"), message.get("errorMessage")
    if isinstance(summary, str):
        parts.append(Text(text=summary))
    if isinstance(trouble, str):
        parts.append(Data(label=json_lines.word(message.get("stopReason")), value=trouble))
    return parts


def _told(message: Fields) -> list[Part]:
    parts = _parts(message.get("content"))
    result = ToolResult(
        call_id=json_lines.word(message.get("toolCallId")),
        text="\n".join([part.text for part in parts if isinstance(part, Text)]),
        is_error=message.get("isError") is True,
    )
    return [result, *[part for part in parts if not isinstance(part, Text)]]


def _ran(message: Fields) -> list[Part]:
    code, output = message.get("exitCode"), message.get("output")
    call = ToolCall(name="bash", call_id="", arguments={"command": message.get("command")})
    text = output if isinstance(output, str) else ""
    return [call, ToolResult(call_id="", text=text, is_error=type(code) is int and code != 0)]


def _parts(content: object) -> list[Part]:
    items = content if isinstance(content, list) else [content]
    return [part for item in items for part in _part(item)]


def _part(item: object) -> list[Part]:
    if isinstance(item, str):
        return [Text(text=item)] if item else []
    if not isinstance(item, dict):
        return [] if item is None else [Data(label="content", value=item)]
    kind = json_lines.word(item.get("type"))
    if kind == "image":
        return [fields.picture(item.get("data"), item.get("mimeType"))]
    if kind == "toolCall" and isinstance(item.get("name"), str):
        return [_call(item)]
    text = item.get(kind) if kind in WORDS else None
    if isinstance(text, str):
        return [WORDS[kind](text=text)] if text else []
    return [Data(label=kind or "content", value=item)]


def _call(item: Fields) -> ToolCall:
    return ToolCall(
        name=json_lines.word(item["name"]),
        call_id=json_lines.word(item.get("id")),
        arguments=json_lines.inner(item.get("arguments")),
    )


WORDS: dict[str, type[Text] | type[Thinking]] = {"text": Text, "thinking": Thinking}
STOPPED = {"error": Flag.ERROR.value, "aborted": Flag.INTERRUPTED.value}
COUNTERS = ("input", "output", "cacheRead", "cacheWrite")
SPEAKERS: dict[str, Callable[[Fields], list[Part]]] = {"toolResult": _told, "bashExecution": _ran}
READERS: dict[str, Callable[[Fields], Read]] = {
    "session": _header,
    "message": _message,
    "model_change": _model_change,
    "session_info": _session_info,
    "compaction": _compaction,
    "branch_summary": _branch_summary,
    "custom_message": _custom_message,
}

FORMAT = line_format(NAME, AGENT, recognises, read)
