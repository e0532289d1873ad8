"""Messages in the shape of chat completions, wherever they travel: alone on a line, many in a line.

No format of its own: `plain` and `plain_conversation` read with it.
"""

from collections.abc import Callable
from typing import Any

from sessions_app.domain.events import (
    Data,
    Notes,
    Part,
    Picture,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from sessions_app.formats import json_lines

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
# Fields whose meaning is given by `parts`.
UNDERSTOOD = frozenset(
    {
        *("role", "content", "tool_calls", "tool_call_id", "name", "model", "is_error"),
        *("reasoning_content", "reasoning", "refusal", "function_call"),
    }
)
TEXT_TYPES = {"text", "input_text", "output_text"}
FILE_TYPES = {"image", "image_url", "input_image", "file", "input_file", "document"}


def role_of(message: dict[str, Any]) -> Role | None:
    role = message.get("role")
    return ROLES.get(role) if isinstance(role, str) else None


def is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and role_of(value) is not None
        and ("content" in value or "tool_calls" in value or "function_call" in value)
    )


def parts(message: dict[str, Any]) -> list[Part]:
    """In the order they came about: what was thought, said, called; then what is not understood."""
    out = [*_thoughts(message), *_content(message), *_refusal(message)]
    out += _calls(message.get("tool_calls"))
    out += _legacy_call(message.get("function_call"))
    return out


def other_fields(message: dict[str, Any], understood: frozenset[str] = UNDERSTOOD) -> list[Part]:
    rest = {key: value for key, value in message.items() if key not in understood}
    return [Data(label="other fields", value=rest)] if rest else []


def usage(fields: dict[str, Any]) -> Notes | None:
    """Tokens of a whole answer. What was cached is part of the prompt's count here."""
    told = fields.get("usage")
    if not isinstance(told, dict):
        return None
    sent = _first(told, "prompt_tokens", "input_tokens")
    received = _first(told, "completion_tokens", "output_tokens")
    if not sent and not received:
        return None
    cached = _detail(told, "cached_tokens", "prompt_tokens_details", "input_tokens_details")
    thought = _detail(
        told, "reasoning_tokens", "completion_tokens_details", "output_tokens_details"
    )
    used = Usage(
        key=json_lines.word(fields.get("id")),
        model=json_lines.word(fields.get("model")),
        input=max(sent - cached, 0),
        output=received,
        cache_read=cached,
        reasoning=thought,
    )
    return Notes(usage=(used,))


def _first(told: dict[str, Any], *names: str) -> int:
    return next((json_lines.count(told[name]) for name in names if name in told), 0)


def _detail(told: dict[str, Any], name: str, *groups: str) -> int:
    return max(json_lines.count(json_lines.inside(told, group, name)) for group in groups)


def _thoughts(message: dict[str, Any]) -> list[Part]:
    """Stacks other than OpenAI's hand the reasoning over as text beside the content."""
    said = (message.get("reasoning_content"), message.get("reasoning"))
    texts = [text for text in said if isinstance(text, str) and text]
    odd = [value for value in said if value is not None and not isinstance(value, str)]
    # Some stacks fill both fields with the same text.
    return [
        *(Thinking(text=text) for text in dict.fromkeys(texts)),
        *(Data(label="reasoning", value=value) for value in odd),
    ]


def _content(message: dict[str, Any]) -> list[Part]:
    content = message.get("content")
    if role_of(message) is Role.TOOL:
        return [
            ToolResult(
                call_id=json_lines.word(message.get("tool_call_id")),
                text=flat(content),
                is_error=message.get("is_error") is True,
            )
        ]
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if isinstance(content, list):
        return [_part(item) for item in content]
    return [] if content is None else [Data(label="content", value=content)]


def flat(content: object) -> str:
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
    if kind in FILE_TYPES:
        return Picture(media_type=kind, size=len(json_lines.text(item)))
    return OTHERS.get(kind, _unknown)(item)


def _unknown(item: dict[str, Any]) -> Part:
    return Data(label=json_lines.word(item.get("type")) or "content", value=item)


def _reasoning(item: dict[str, Any]) -> Part:
    text = item.get("text")
    return Thinking(text=text) if isinstance(text, str) else _unknown(item)


def _refused(item: dict[str, Any]) -> Part:
    text = item.get("refusal")
    return Text(text=text) if isinstance(text, str) else _unknown(item)


def _audio(item: dict[str, Any]) -> Part:
    sound = json_lines.inside(item, "input_audio", "data")
    if not isinstance(sound, str):
        return _unknown(item)
    kind = json_lines.word(json_lines.inside(item, "input_audio", "format")) or "audio"
    return Picture(media_type=f"audio/{kind}"[: json_lines.LONGEST_WORD], size=len(sound) * 3 // 4)


OTHERS: dict[str, Callable[[dict[str, Any]], Part]] = {
    "thinking": _reasoning,
    "reasoning": _reasoning,
    "refusal": _refused,
    "input_audio": _audio,
}


def _refusal(message: dict[str, Any]) -> list[Part]:
    """What the assistant said instead of an answer."""
    text = message.get("refusal")
    if isinstance(text, str):
        return [Text(text=text)] if text else []
    return [] if text is None else [Data(label="refusal", value=text)]


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


def _legacy_call(call: object) -> list[Part]:
    """The one call a message could hold before there were several; it has no id."""
    if call is None:
        return []
    if not isinstance(call, dict):
        return [Data(label="function_call", value=call)]
    arguments = json_lines.inner(call.get("arguments", ""))
    return [ToolCall(name=json_lines.word(call.get("name")), call_id="", arguments=arguments)]
