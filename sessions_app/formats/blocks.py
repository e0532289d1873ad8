"""Content blocks of Anthropic's messages, for the formats that carry them.

No format of its own.
"""

from collections.abc import Callable
from typing import Any

from sessions_app.domain.events import Data, Part, Picture, Text, Thinking, ToolCall, ToolResult
from sessions_app.formats import json_lines

FILES = {"image", "document"}


def parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if isinstance(content, list):
        return [part for block in content for part in _parts(block)]
    return [] if content is None else [Data(label="content", value=content)]


def result(content: object, *, call_id: object, is_error: object) -> list[Part]:
    """A tool's answer as one text, and the pictures that came with it."""
    items = content if isinstance(content, list) else [content]
    texts = [_text_of(item) for item in items]
    answer = ToolResult(
        call_id=json_lines.word(call_id),
        text="\n".join(text for text in texts if text),
        is_error=is_error is True,
    )
    return [answer, *(_file(item) for item in items if _is_file(item))]


def _parts(block: object) -> list[Part]:
    if isinstance(block, str):
        return [Text(text=block)] if block else []
    if not isinstance(block, dict):
        return [Data(label="content", value=block)]
    kind = json_lines.word(block.get("type"))
    if kind == "tool_result":
        return result(
            block.get("content"), call_id=block.get("tool_use_id"), is_error=block.get("is_error")
        )
    return [READERS.get(kind, _data)(block)]


def _data(block: dict[str, Any]) -> Part:
    return Data(label=json_lines.word(block.get("type")) or "content", value=block)


def _text(block: dict[str, Any]) -> Part:
    text = block.get("text")
    return Text(text=text) if isinstance(text, str) else _data(block)


def _thinking(block: dict[str, Any]) -> Part:
    text = block.get("thinking")
    return Thinking(text=text) if isinstance(text, str) and text else _data(block)


def _call(block: dict[str, Any]) -> Part:
    name, call_id = json_lines.word(block.get("name")), json_lines.word(block.get("id"))
    return ToolCall(name=name, call_id=call_id, arguments=block.get("input"))


def _text_of(item: object) -> str:
    if isinstance(item, str):
        return item
    if item is None or _is_file(item):
        return ""
    text = json_lines.inside(item, "text")
    return text if isinstance(text, str) else json_lines.text(item)


def _is_file(item: object) -> bool:
    return isinstance(item, dict) and json_lines.word(item.get("type")) in FILES


def _file(block: Any) -> Part:
    media = json_lines.inside(block, "source", "media_type") or block.get("type")
    data = json_lines.inside(block, "source", "data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return Picture(media_type=json_lines.word(media), size=size)


READERS: dict[str, Callable[[dict[str, Any]], Part]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "server_tool_use": _call,
    "image": _file,
    "document": _file,
}
