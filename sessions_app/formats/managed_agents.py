"""Events of Anthropic's Managed Agents: one a line, or a page of them as the API lists it.

A tool's answer names the event that called it. Tokens are told where a request to the model ends.
"""

import re
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
    Reading,
    Record,
    Role,
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    Unreadable,
    Usage,
)
from sessions_app.formats import blocks, documents, json_lines
from sessions_app.formats.documents import Place
from sessions_app.formats.shape import Format, Head, line_format

NAME = "managed-agents"
AGENT = "managed-agents"
PROVIDER = "anthropic"

TYPE = re.compile(r"(user|agent|session|span|system)\.[a-z_]{1,60}\Z")
ENVELOPE = frozenset({"id", "type", "processed_at", "created_at", "content"})
CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
# Which field of an answer names the event that called.
ANSWERS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.tool_result": "tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
}
SPEAKERS = {
    "user.message": Role.USER,
    "system.message": Role.SYSTEM,
    "agent.message": Role.ASSISTANT,
    "agent.thread_message_sent": Role.ASSISTANT,
    "agent.thread_message_received": Role.USER,
}
_ERROR = Flag.ERROR.value
MARKED = {
    "agent.thread_context_compacted": Flag.COMPACTION.value,
    "user.interrupt": Flag.INTERRUPTED.value,
}


def _is_event(record: dict[str, Any] | None) -> bool:
    """Other agents name their events alike, but keep what they say under `data`."""
    return (
        record is not None
        and isinstance(kind := record.get("type"), str)
        and TYPE.match(kind) is not None
        and "processed_at" in record
        and "data" not in record
    )


def recognises(records: list[dict[str, Any]]) -> bool:
    return any(_is_event(record) for record in records)


def read(event: dict[str, Any]) -> Reading:
    at = times.read(event.get("processed_at")) or times.read(event.get("created_at"))
    return Reading(body=_body(event), at=at, notes=_notes(event))


def _body(event: dict[str, Any]) -> Body:
    kind = json_lines.word(event.get("type"))
    found = READERS.get(kind)
    parts = found(event) if found else []
    if not parts:
        return json_lines.record(event, ENVELOPE - {"content"})
    return Message(role=_role(kind), parts=tuple(parts))


def _role(kind: str) -> Role:
    if kind in ANSWERS:
        return Role.TOOL
    return SPEAKERS.get(kind, Role.USER if kind.startswith("user.") else Role.ASSISTANT)


def _spoken(event: dict[str, Any]) -> list[Part]:
    return [*blocks.parts(event.get("content")), *_rest(event, ENVELOPE)]


def _thought(event: dict[str, Any]) -> list[Part]:
    """Most only say that there was thinking."""
    text = event.get("thinking")
    found = [Thinking(text=text)] if isinstance(text, str) and text else []
    inside = [part for part in blocks.parts(event.get("content")) if isinstance(part, Text)]
    return [*found, *(Thinking(text=part.text) for part in inside)]


def _called(event: dict[str, Any]) -> list[Part]:
    name = json_lines.word(event.get("name"))
    call = ToolCall(
        name=name, call_id=json_lines.word(event.get("id")), arguments=event.get("input")
    )
    return [call, *_rest(event, ENVELOPE | {"name", "input"})]


def _answered(event: dict[str, Any]) -> list[Part]:
    field = ANSWERS[event["type"]]
    answer = blocks.result(
        event.get("content"), call_id=event.get(field), is_error=event.get("is_error")
    )
    return [*answer, *_rest(event, ENVELOPE | {field, "is_error"})]


def _outcome(event: dict[str, Any]) -> list[Part]:
    """A task with the measure of its success."""
    text = event.get("description")
    if not isinstance(text, str):
        return []
    return [Text(text=text), *_rest(event, ENVELOPE | {"description"})]


def _rest(event: dict[str, Any], understood: frozenset[str]) -> list[Part]:
    rest = {
        key: value
        for key, value in event.items()
        if key not in understood and value not in (None, [], {})
    }
    return [Data(label="other fields", value=rest)] if rest else []


READERS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    **dict.fromkeys(SPEAKERS, _spoken),
    **dict.fromkeys(CALLS, _called),
    **dict.fromkeys(ANSWERS, _answered),
    "agent.thinking": _thought,
    "user.define_outcome": _outcome,
}


# What an event says about its session ---------------------------------------------------------


def _notes(event: dict[str, Any]) -> Notes:
    kind = json_lines.word(event.get("type"))
    used = _usage(event) if kind == "span.model_request_end" else None
    about = kind == "session"
    return Notes(
        usage=(used,) if used else (),
        ties=tuple(_ties(event, kind)),
        title=json_lines.word(event.get("title")) if about else "",
        model=json_lines.word(_model(event)) if about else "",
        flags=_flags(event, kind),
    )


def _model(event: dict[str, Any]) -> object:
    told = json_lines.inside(event, "agent", "model")
    return json_lines.inside(told, "id") if isinstance(told, dict) else told


def _ties(event: dict[str, Any], kind: str) -> list[Tie]:
    own = json_lines.word(event.get("id"))
    thread = json_lines.word(event.get("session_thread_id"))
    ties = []
    if own:
        ties.append(Tie(TieKind.SELF if kind == "session" else TieKind.RECORD, own))
    if thread and kind == "session.thread_created":
        ties.append(Tie(TieKind.STARTED, thread))
    return ties


def _flags(event: dict[str, Any], kind: str) -> int:
    flags = MARKED.get(kind, 0)
    stopped = json_lines.inside(event, "stop_reason", "type")
    if kind == "session.error" or event.get("is_error") is True or stopped == "retries_exhausted":
        flags |= _ERROR
    # Shown in this stream for another thread, or come from one.
    if kind == "agent.thread_message_received" or (
        event.get("session_thread_id") and kind in CALLS
    ):
        flags |= Flag.SIDECHAIN.value
    return flags


def _usage(event: dict[str, Any]) -> Usage | None:
    told = event.get("model_usage")
    if not isinstance(told, dict):
        return None
    return Usage(
        key=json_lines.word(event.get("model_request_start_id") or event.get("id")),
        provider=PROVIDER,
        input=json_lines.count(told.get("input_tokens")),
        output=json_lines.count(told.get("output_tokens")),
        cache_read=json_lines.count(told.get("cache_read_input_tokens")),
        cache_write=json_lines.count(told.get("cache_creation_input_tokens")),
    )


# A page of events -----------------------------------------------------------------------------


def _is_page(head: Head) -> bool:
    return _is_event(documents.first(head.raw, "data"))


def _read_slice(raw: bytes) -> Reading:
    place, fields = documents.read(raw)
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    if place is Place.ELEMENT:
        return read(fields)
    return Reading(body=Record(label=f"page {place.value}", fields=fields))


def _cut(raw: bytes) -> list[int]:
    return documents.cut(raw, "data")


FORMAT = line_format(NAME, AGENT, recognises, read)
PAGE = Format(
    name="managed-agents-page", agent=AGENT, recognises=_is_page, read=_read_slice, cut=_cut
)
