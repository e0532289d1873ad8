"""Formats with many kinds of lines: every kind, every field of it filled with hostile content."""

import json

import pytest

from sessions_app import formats
from sessions_app.formats import codex, copilot, pi
from tests.formats.test_contract import HOSTILE, wholly_read

LIGHT = {name: content for name, content in HOSTILE.items() if len(json.dumps(content)) < 300}
LIGHT |= {"a number below zero": -1, "half": 0.5, "text": "x", "a list of texts": ["x", ""]}

CODEX = (
    *("message", "content", "summary", "text", "output", "arguments", "action", "input", "tools"),
    *("images", "local_images", "item", "info", "result", "error", "thread_settings", "source"),
    *("git", "history_base", "id", "call_id", "turn_id", "model", "cwd", "name", "role", "kind"),
    *("revised_prompt", "thread_name", "new_thread_id", "author", "parent_thread_id"),
)
PI = (
    *("message", "content", "summary", "usage", "name", "modelId", "parentSession", "version"),
    *("role", "toolCallId", "toolName", "isError", "errorMessage", "stopReason", "exitCode"),
    *("output", "command", "provider", "model", "customType", "cwd"),
)
COPILOT = (
    *("content", "attachments", "toolRequests", "reasoningText", "result", "error", "context"),
    *("modelMetrics", "outputTokens", "messageId", "model", "success", "sessionId", "newModel"),
    *("parentToolCallId", "summaryContent", "toolCallId", "title", "copilotVersion"),
)


def _codex(content: object) -> list[dict[str, object]]:
    full = dict.fromkeys(CODEX, content)
    within = [
        {"type": "item_completed", "item": {**full, "type": "UserMessage"}},
        {"type": "message", "role": "user", "content": [content]},
        {"type": "function_call_output", "output": [content]},
        {"type": "function_call_output", "output": {"content": content, "success": content}},
        {"type": "function_call_output", "output": {"type": "input_image", "image_url": content}},
        {"type": "token_count", "info": {"last_token_usage": content}},
        {
            "type": "token_count",
            "info": {"last_token_usage": dict.fromkeys(codex.TOTALS, content)},
        },
    ]
    items = [{**full, "type": name} for name in (*codex.ITEMS, *codex.EVENTS)]
    lines = [("response_item", each) for each in (*within, *items)]
    lines += [("event_msg", each) for each in (*within, *items)]
    lines += [(kind, full) for kind in codex.READERS]
    return [
        *[{"type": kind, "payload": each} for kind, each in lines],
        *items,
        {"id": content, "timestamp": content, "instructions": content, "git": content},
        {"record_type": content},
        {"type": "event_msg", "payload": content},
    ]


def _pi(content: object) -> list[dict[str, object]]:
    full: dict[str, object] = dict.fromkeys(PI, content)
    roles = (*pi.ROLES, "custom", "compactionSummary")
    usage = {**dict.fromkeys(pi.COUNTERS, content), "cost": {"total": content}}
    messages: list[object] = [
        {**full, "role": role, "usage": usage, "timestamp": content} for role in roles
    ]
    blocks = [{"type": name, name: content, "data": content} for name in (*pi.WORDS, "image")]
    blocks.append({"type": "toolCall", "name": "x", "id": content, "arguments": content})
    messages.append({"role": "assistant", "content": [*blocks, content]})
    entries = [{**full, "type": kind, "usage": usage} for kind in pi.READERS]
    return entries + [{"type": "message", "parentId": None, "message": x} for x in messages]


def _copilot(content: object) -> list[dict[str, object]]:
    full = dict.fromkeys(COPILOT, content)
    kinds = {*copilot.READERS, *copilot.MODELS, *copilot.PLAIN, "session.shutdown"}
    within = [
        {"modelMetrics": {"m": content}},
        {"modelMetrics": {"m": {"usage": content}}},
        {"modelMetrics": {"m": {"usage": {"inputTokens": content, "cacheReadTokens": content}}}},
        {"content": "x", "attachments": [content], "toolRequests": [content]},
        {"toolRequests": [{"name": "x", "toolCallId": content, "arguments": content}]},
        {"result": {"content": content, "contents": content}},
        {"result": {"contents": [content, {"type": "image", "data": content}]}},
    ]
    return [
        {"type": kind, "id": content, "timestamp": content, "parentId": None, "data": data}
        for kind in sorted(kinds)
        for data in (content, full, *within)
    ]


LINES = {"codex": _codex, "pi": _pi, "openclaw": _pi, "copilot-cli": _copilot}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("content", LIGHT.values(), ids=LIGHT)
def test_hostile_content_in_every_field_is_read(name: str, content: object) -> None:
    for line in LINES[name](content):
        wholly_read(formats.BY_NAME[name], json.dumps(line).encode())
