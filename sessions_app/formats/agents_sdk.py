"""Sessions of the OpenAI Agents SDK: rows of its SQLite store, each with one item of the Responses
interface as JSON. `ingest/stores/agents_sdk.py` tells the rows.
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
    Reading,
    Role,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
)
from sessions_app.formats import chat, json_lines
from sessions_app.formats.shape import line_format

NAME = "agents-sdk"
AGENT = "agents-sdk"
STORE = "agents-sdk"
MESSAGES = "agent_messages"

UNDERSTOOD = frozenset({*chat.UNDERSTOOD, "type", "id", "status"})
# Tools of the provider that say what they did in one item.
HOSTED = {
    *("web_search_call", "file_search_call", "computer_call", "image_generation_call"),
    *("code_interpreter_call", "local_shell_call", "shell_call", "apply_patch_call"),
    *("tool_search_call", "mcp_call"),
}


def recognises(records: list[dict[str, Any]]) -> bool:
    return any(record.get("store") == STORE and "row" in record for record in records)


def read(record: dict[str, Any]) -> Reading:
    row = record.get("row")
    if record.get("store") != STORE or not isinstance(row, dict):
        return json_lines.reading(record)
    item = json_lines.inner(row.get("message_data")) if record.get("table") == MESSAGES else None
    body = _item(item) if isinstance(item, dict) else None
    return Reading(
        body=body or json_lines.record(record),
        at=times.read(row.get("created_at")),
        notes=_notes(row, item),
    )


def _notes(row: dict[str, Any], item: object) -> Notes:
    session = json_lines.word(row.get("session_id"))
    own = json_lines.word(json_lines.inside(item, "id"))
    ties = [Tie(TieKind.SELF, session)] if session else []
    if own:
        ties.append(Tie(TieKind.RECORD, own))
    is_summary = json_lines.inside(item, "type") == "compaction"
    return Notes(ties=tuple(ties), flags=Flag.COMPACTION.value if is_summary else 0)


def _item(item: dict[str, Any]) -> Body | None:
    kind = json_lines.word(item.get("type"))
    role = chat.role_of(item)
    if role is not None and kind in ("", "message"):
        return Message(role=role, parts=(*chat.parts(item), *chat.other_fields(item, UNDERSTOOD)))
    found = READERS.get(kind)
    if found is not None:
        parts = found(item)
        is_answer = isinstance(parts[0], ToolResult)
        return Message(role=Role.TOOL if is_answer else Role.ASSISTANT, parts=tuple(parts))
    return json_lines.record(item) if kind else None


def _call(item: dict[str, Any]) -> list[Part]:
    arguments = item.get("arguments", item.get("input", ""))
    return [
        ToolCall(
            name=json_lines.word(item.get("name")),
            call_id=json_lines.word(item.get("call_id")),
            arguments=json_lines.inner(arguments),
        )
    ]


def _output(item: dict[str, Any]) -> list[Part]:
    status = json_lines.word(item.get("status"))
    return [
        ToolResult(
            call_id=json_lines.word(item.get("call_id")),
            text=chat.flat(item.get("output")),
            is_error=status in ("failed", "incomplete"),
        )
    ]


def _hosted(item: dict[str, Any]) -> list[Part]:
    """Call and, where the item has one, answer: the tool ran at the provider."""
    kind = json_lines.word(item.get("type"))
    call_id = json_lines.word(item.get("call_id") or item.get("id"))
    name = json_lines.word(item.get("name")) or kind.removesuffix("_call")
    about = ("action", "queries", "code", "operation", "arguments")
    told: object = next((item[key] for key in about if item.get(key) is not None), {})
    parts: list[Part] = [
        ToolCall(name=name, call_id=call_id, arguments=json_lines.inner(told)),
        Data(label=kind, value=item),
    ]
    if item.get("error") is not None or isinstance(item.get("output"), str):
        error = item.get("error")
        text = chat.flat(item.get("output") if error is None else error)
        parts.insert(1, ToolResult(call_id=call_id, text=text, is_error=error is not None))
    return parts


def _reasoning(item: dict[str, Any]) -> list[Part]:
    """Often only ciphertext is kept, of which nothing can be said but that it is there."""
    lists = (item.get("summary"), item.get("content"))
    inner = [each for found in lists if isinstance(found, list) for each in found]
    texts = [json_lines.inside(each, "text") for each in inner]
    thoughts: list[Part] = [Thinking(text=text) for text in texts if isinstance(text, str) and text]
    return thoughts or [Data(label="reasoning", value=item)]


READERS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    "function_call": _call,
    "custom_tool_call": _call,
    "reasoning": _reasoning,
    **dict.fromkeys(HOSTED, _hosted),
    **dict.fromkeys(
        (
            *("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
            *("computer_call_output", "shell_call_output", "apply_patch_call_output"),
        ),
        _output,
    ),
}


FORMAT = line_format(NAME, AGENT, recognises, read)
