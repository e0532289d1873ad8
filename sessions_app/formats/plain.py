"""Plain chat JSONL: one `{"role": …, "content": …}` object a line.

`content` is a string or a list of parts; tool calls in the widespread `tool_calls` /
`tool_call_id` form are understood. Every other field is kept and shown.
"""

from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import (
    Body,
    Data,
    Message,
    Part,
    Picture,
    Reading,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from sessions_app.formats import json_lines

NAME = "plain"
AGENT = "chat"

ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
UNDERSTOOD = {
    *("role", "content", "tool_calls", "tool_call_id", "name", "model", "is_error"),
    *times.USUAL_FIELDS,
}
TEXT_TYPES = {"text", "input_text", "output_text"}
PICTURE_TYPES = {"image", "image_url", "input_image", "file", "input_file", "document"}


def recognises(records: list[dict[str, Any]]) -> bool:
    """Every readable line of the head that has a role has content or tool calls beside it."""
    spoken = [r for r in records if isinstance(r.get("role"), str)]
    return (
        bool(spoken)
        and len(spoken) * 2 >= len(records)
        and all(r["role"] in ROLES and ("content" in r or "tool_calls" in r) for r in spoken)
    )


def read(record: dict[str, Any]) -> Reading:
    return Reading(body=_body(record), at=times.found_in(record))


def _body(record: dict[str, Any]) -> Body:
    role = record.get("role")
    if not isinstance(role, str) or role not in ROLES:
        return json_lines.record(record)
    parts = [*_parts(record), *_calls(record.get("tool_calls"))]
    if rest := {k: v for k, v in record.items() if k not in UNDERSTOOD}:
        parts.append(Data(label="other fields", value=rest))
    return Message(
        role=ROLES[role],
        parts=tuple(parts),
        model=json_lines.word(record.get("model")),
        name=json_lines.word(record.get("name")),
    )


def _parts(record: dict[str, Any]) -> list[Part]:
    content = record.get("content")
    if ROLES[record["role"]] is Role.TOOL:
        return [
            ToolResult(
                call_id=json_lines.word(record.get("tool_call_id")),
                text=_flat(content),
                is_error=record.get("is_error") is True,
            )
        ]
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if isinstance(content, list):
        return [_part(item) for item in content]
    return [] if content is None else [Data(label="content", value=content)]


def _flat(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(_is_text(item) for item in content):
        return "\n".join(item["text"] for item in content)
    return json_lines.text(content)


def _is_text(item: object) -> bool:
    return (
        isinstance(item, dict)
        and json_lines.word(item.get("type")) in TEXT_TYPES
        and isinstance(item.get("text"), str)
    )


def _part(item: object) -> Part:
    if isinstance(item, str):
        return Text(text=item)
    if not isinstance(item, dict):
        return Data(label="content", value=item)
    kind = json_lines.word(item.get("type"))
    if _is_text(item):
        return Text(text=item["text"])
    if kind in ("thinking", "reasoning") and isinstance(item.get("text"), str):
        return Thinking(text=item["text"])
    if kind in PICTURE_TYPES:
        return Picture(media_type=kind, size=len(json_lines.text(item)))
    return Data(label=kind or "content", value=item)


def _calls(calls: object) -> list[Part]:
    if not isinstance(calls, list):
        return [] if calls is None else [Data(label="tool_calls", value=calls)]
    return [_call(call) for call in calls]


def _call(call: object) -> Part:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return Data(label="tool_calls", value=call)
    return ToolCall(
        name=json_lines.word(function.get("name")),
        call_id=json_lines.word(call.get("id")),
        arguments=json_lines.inner(function.get("arguments", "")),
    )
