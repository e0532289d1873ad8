"""Copilot CLI sessions: `events.jsonl`, one `{type, data, id, timestamp, parentId}` a line.

Evidence: docs/formats/copilot.md.
"""

from collections.abc import Callable
from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import (
    Body,
    Data,
    Flag,
    Message,
    Notes,
    Part,
    Picture,
    Reading,
    Record,
    Role,
    Scope,
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

NAME = "copilot-cli"
AGENT = "copilot-cli"

ROOMS = ("session.", "user.", "assistant.", "tool.", "system.", "hook.", "subagent.")
QUIET = frozenset(
    {
        *("sessionId", "toolCallId", "parentToolCallId", "messageId", "interactionId", "turnId"),
        *("requestId", "serviceRequestId", "apiCallId", "hookInvocationId", "reasoningOpaque"),
        *("parentAgentTaskId", "toolTelemetry", "headCommit", "baseCommit", "reasoningId"),
    }
)
ECHO, ERROR = Flag.ECHO.value, Flag.ERROR.value
COMPACTION, SIDECHAIN = Flag.COMPACTION.value, Flag.SIDECHAIN.value
INTERRUPTED = Flag.INTERRUPTED.value
# An event that says again what a message or a result says.
ECHOES = {"tool.execution_start", "assistant.reasoning"}
FAILURES = {"session.error", "subagent.failed"}
# What a kind of event says beside its body.
MODELS = {
    "session.start": "selectedModel",
    "session.resume": "selectedModel",
    "session.model_change": "newModel",
    "session.auto_mode_resolved": "chosenModel",
    "assistant.message": "model",
}
MOST_MODELS = 50

Fields = dict[str, Any]


def recognises(records: list[Fields]) -> bool:
    return any(_is_event(record) for record in records)


def _is_event(record: Fields) -> bool:
    kind = record.get("type")
    return (
        isinstance(kind, str)
        and kind.startswith(ROOMS)
        and isinstance(record.get("data"), dict)
        and {"id", "timestamp", "parentId"} <= record.keys()
    )


def read(record: Fields) -> Reading:
    kind, data = json_lines.word(record.get("type")), record.get("data")
    at = times.read(record.get("timestamp"))
    if not isinstance(data, dict):
        return Reading(body=json_lines.record(record, QUIET), at=at)
    body = READERS[kind](data) if kind in READERS else None
    if body is None:
        body = Record(label=kind or "record", fields=data, quiet=QUIET)
    return Reading(body=body, at=at, notes=_notes(record, kind, data))


# What an event says of its session ---------------------------------------------------------------


def _notes(record: Fields, kind: str, data: Fields) -> Notes | None:
    ties = _ties(record, data if kind == "session.start" else fields.NOTHING)
    flags = _flags(kind, data)
    if kind in PLAIN:
        return Notes(ties=ties, flags=flags) if ties or flags else None
    place = fields.inside(data.get("context")) or data
    is_place = kind.startswith("session.")
    return Notes(
        usage=_usage(record, kind, data),
        ties=ties,
        title=json_lines.word(data.get("title")) if kind == "session.title_changed" else "",
        cwd=fields.path(place.get("cwd")) if is_place else "",
        branch=json_lines.word(place.get("branch")) if is_place else "",
        version=json_lines.word(data.get("copilotVersion")),
        model=_model(kind, data, flags),
        flags=flags,
    )


def _ties(record: Fields, start: Fields) -> tuple[Tie, ...]:
    own, event = json_lines.word(start.get("sessionId")), fields.uuid(record.get("id"))
    ties = ((TieKind.SELF, own), (TieKind.RECORD, event))
    return tuple([Tie(kind, tied) for kind, tied in ties if tied])


def _flags(kind: str, data: Fields) -> int:
    flags = SIDECHAIN if data.get("parentToolCallId") else 0
    if kind in ECHOES:
        flags |= ECHO
    elif kind in FAILURES or (kind == "hook.end" and data.get("success") is False):
        flags |= ERROR
    elif kind == "session.compaction_complete":
        flags |= COMPACTION if data.get("success") is not False else ERROR
    elif kind == "abort":
        flags |= INTERRUPTED
    return flags


def _model(kind: str, data: Fields, flags: int) -> str:
    """A subagent's model is not the session's."""
    return "" if flags & SIDECHAIN else json_lines.word(data.get(MODELS.get(kind, "")))


def _usage(record: Fields, kind: str, data: Fields) -> tuple[Usage, ...]:
    """A message tells its output, the end of a run everything else: neither tells the other's."""
    if kind == "session.shutdown":
        metrics = fields.inside(data.get("modelMetrics"))
        runs = [_run(record, *metric) for metric in list(metrics.items())[:MOST_MODELS]]
        return tuple([usage for usage in runs if usage.input or usage.cache_read])
    output = fields.count(data.get("outputTokens"))
    if kind != "assistant.message" or not output:
        return ()
    key = json_lines.word(data.get("messageId"))
    model = json_lines.word(data.get("model"))
    return (Usage(key=key, scope=Scope.SESSION, model=model, output=output),)


def _run(record: Fields, model: str, metric: object) -> Usage:
    told = fields.inside(fields.inside(metric).get("usage"))
    taken, read = fields.count(told.get("inputTokens")), fields.count(told.get("cacheReadTokens"))
    return Usage(
        key=f"{json_lines.word(record.get('id'))} {json_lines.word(model)}",
        scope=Scope.SESSION,
        model=json_lines.word(model),
        input=max(taken - read, 0),
        cache_read=read,
        cache_write=fields.count(told.get("cacheWriteTokens")),
        reasoning=fields.count(told.get("reasoningTokens")),
    )


# What it says ------------------------------------------------------------------------------------


def _text(data: Fields, *keys: str) -> list[Part]:
    texts = [data.get(key) for key in keys]
    return [Text(text=text) for text in texts if isinstance(text, str) and text]


def _prompt(data: Fields) -> Body | None:
    """What the person wrote, not what the program made of it."""
    attached = data.get("attachments")
    files = [_file(each) for each in attached] if isinstance(attached, list) else []
    parts = [*_text(data, "content"), *files]
    return Message(role=Role.USER, parts=tuple(parts)) if "content" in data else None


def _file(attachment: object) -> Picture:
    told = fields.inside(attachment)
    kind = json_lines.word(told.get("type")) or "file"
    return fields.picture(told.get("data"), told.get("mimeType"), kind)


def _answer(data: Fields) -> Body | None:
    thoughts = data.get("reasoningText")
    parts: list[Part] = [Thinking(text=thoughts)] if thoughts and isinstance(thoughts, str) else []
    parts += _text(data, "content")
    asked = data.get("toolRequests")
    parts += [_call(each) for each in asked] if isinstance(asked, list) else []
    return Message(
        role=Role.ASSISTANT, parts=tuple(parts), model=json_lines.word(data.get("model"))
    )


def _call(request: object) -> Part:
    if not isinstance(request, dict) or not isinstance(request.get("name"), str):
        return Data(label="toolRequests", value=request)
    return ToolCall(
        name=json_lines.word(request["name"]),
        call_id=json_lines.word(request.get("toolCallId")),
        arguments=json_lines.inner(request.get("arguments")),
    )


def _thought(data: Fields) -> Body | None:
    text = data.get("content")
    parts = (Thinking(text=text),) if isinstance(text, str) and text else ()
    return Message(role=Role.ASSISTANT, parts=parts)


def _result(data: Fields) -> Body | None:
    """What the model was given; the longer text for the screen stays in the raw line."""
    result, error = data.get("result"), data.get("error")
    told = fields.inside(result).get("content", result)
    if told is None:
        told = fields.inside(error).get("message", error)
    part = ToolResult(
        call_id=json_lines.word(data.get("toolCallId")),
        text=told if isinstance(told, str) else json_lines.text(told),
        is_error=data.get("success") is False,
    )
    return Message(role=Role.TOOL, parts=(part, *_pictures(result)))


def _pictures(result: object) -> list[Part]:
    shown = fields.inside(result).get("contents")
    items = [fields.inside(each) for each in shown] if isinstance(shown, list) else []
    kinds = ("image", "audio", "resource")
    return [
        fields.picture(item.get("data"), item.get("mimeType"), item["type"])
        for item in items
        if json_lines.word(item.get("type")) in kinds
    ]


def _system(data: Fields) -> Body | None:
    parts = tuple(_text(data, "content"))
    return Message(role=Role.SYSTEM, parts=parts) if parts else None


def _compaction(data: Fields) -> Body | None:
    parts = tuple(_text(data, "summaryContent"))
    return Message(role=Role.SYSTEM, parts=parts) if parts else None


READERS: dict[str, Callable[[Fields], Body | None]] = {
    "user.message": _prompt,
    "assistant.message": _answer,
    "assistant.reasoning": _thought,
    "tool.execution_complete": _result,
    "system.message": _system,
    "system.notification": _system,
    "session.compaction_complete": _compaction,
}
# Half of all events: they say nothing of their session.
PLAIN = {
    *("hook.start", "hook.end", "tool.execution_start", "tool.execution_complete"),
    *("assistant.turn_start", "assistant.turn_end", "user.message", "system.message"),
}

FORMAT = line_format(NAME, AGENT, recognises, read)
