"""Claude Code transcripts: `~/.claude/projects/<slug>/<session>.jsonl`, one record a line.

Messages are read; every other record type is kept and shown as a record under its own name.
Evidence: docs/formats/claude_code.md.
"""

from collections.abc import Callable
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

NAME = "claude-code"
AGENT = "claude-code"

# Types no other known format uses together with these companions.
SIGNS = (
    ("user", "sessionId"),
    ("assistant", "sessionId"),
    ("system", "sessionId"),
    ("progress", "sessionId"),
    ("summary", "leafUuid"),
    ("file-history-snapshot", "messageId"),
    ("queue-operation", "sessionId"),
)
PICTURES = {"image", "document"}
ENVELOPE = frozenset(
    {
        *("uuid", "parentUuid", "sessionId", "timestamp", "version", "userType", "requestId"),
        *("promptId", "toolUseID", "parentToolUseID", "messageId", "leafUuid", "agentId"),
        *("signature", "slug", "id", "tool_use_id", "backupTime", "usage"),
    }
)


def recognises(records: list[dict[str, Any]]) -> bool:
    return any((r.get("type"), sign) in SIGNS for r in records for sign in r)


def read(record: dict[str, Any]) -> Reading:
    return Reading(body=_body(record), at=times.read(record.get("timestamp")))


def _body(record: dict[str, Any]) -> Body:
    kind, message = record.get("type"), record.get("message")
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return json_lines.record(record, ENVELOPE)
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return json_lines.record(record, ENVELOPE)
    return Message(
        role=_role(kind, record),
        parts=tuple([part for block in blocks for part in _parts(block)]),
        model=json_lines.word(message.get("model")),
    )


def _role(kind: str, record: dict[str, Any]) -> Role:
    """Text the program put in a person's mouth is the system's."""
    if kind == "assistant":
        return Role.ASSISTANT
    injected = record.get("isMeta") is True or record.get("isCompactSummary") is True
    return Role.SYSTEM if injected else Role.USER


def _parts(block: object) -> list[Part]:
    """Most blocks are one part; a tool's result may bring pictures along."""
    if isinstance(block, dict):
        kind = block.get("type")
        return READERS.get(kind, _data)(block) if isinstance(kind, str) else _data(block)
    if isinstance(block, str):
        return [Text(text=block)] if block else []
    return [Data(label="content", value=block)]


def _data(block: dict[str, Any]) -> list[Part]:
    return [Data(label=json_lines.word(block.get("type")) or "content", value=block)]


def _text(block: dict[str, Any]) -> list[Part]:
    text = block.get("text")
    return [Text(text=text)] if isinstance(text, str) else _data(block)


def _thinking(block: dict[str, Any]) -> list[Part]:
    """Its text may be empty: then only a signature was kept."""
    text = block.get("thinking")
    if not isinstance(text, str):
        return _data(block)
    return [Thinking(text=text)] if text else []


def _call(block: dict[str, Any]) -> list[Part]:
    name = block.get("name")
    if not isinstance(name, str) or "input" not in block:
        return _data(block)
    call_id = json_lines.word(block.get("id"))
    return [ToolCall(name=json_lines.word(name), call_id=call_id, arguments=block["input"])]


def _picture_alone(block: dict[str, Any]) -> list[Part]:
    return [_picture(block)]


def _result(block: dict[str, Any]) -> list[Part]:
    content = block.get("content")
    items = content if isinstance(content, list) else [content]
    texts = [_text_of(item) for item in items]
    found = [item for item in items if isinstance(item, dict) and _is_picture(item)]
    pictures = [_picture(item) for item in found]
    return [
        ToolResult(
            call_id=json_lines.word(block.get("tool_use_id")),
            text="\n".join(text for text in texts if text),
            is_error=block.get("is_error") is True,
        ),
        *pictures,
    ]


def _text_of(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and _is_picture(item):
        return ""
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return str(item["text"])
    return "" if item is None else json_lines.text(item)


def _is_picture(block: dict[str, Any]) -> bool:
    return json_lines.word(block.get("type")) in PICTURES


def _picture(block: dict[str, Any]) -> Picture:
    source = block.get("source")
    if not isinstance(source, dict):
        return Picture(media_type=json_lines.word(block.get("type")), size=0)
    data = source.get("data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return Picture(media_type=json_lines.word(source.get("media_type")), size=size)


READERS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "server_tool_use": _call,
    "tool_result": _result,
    "image": _picture_alone,
    "document": _picture_alone,
}
