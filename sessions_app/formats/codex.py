"""Codex rollouts: `{timestamp, type, payload}` a line; until August 2025 a header and bare items.

What the model saw (`response_item`) is the conversation. What the screen showed (`event_msg`) says
most of it again and is marked as an echo, except a person's prompt: among the items it cannot be
told from what the program put there. Evidence: docs/formats/codex.md.
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

NAME = "codex"
AGENT = "codex"

LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
# What the program says in a person's place begins with one of these.
INJECTED = (
    *("<environment_context>", "# AGENTS.md instructions", "<user_instructions>", "<turn_aborted>"),
    *("<skill>", "<permissions instructions>", "<collaboration_mode>", "<user_shell_command>"),
    *("<subagent_notification>", "<hook_prompt", "<apps_instructions>", "<personality_spec>"),
)
# What an editor puts before the words of a person, and what it puts between.
EDITOR, REQUEST = "# Context from my IDE setup:", "## My request for Codex:"
INJECTED_KINDS = {"user_instructions", "environment_context"}
# The program's own words where a tool did not run to its end.
REFUSED = (
    *("exec command rejected", "exec command failed", "apply_patch verification failed"),
    *("aborted by user", "write_stdin failed", "execution error", "unsupported c"),
    *("command timed out", "failed to parse function arguments"),
)
EXIT_CODE = re.compile(
    r"(?:(?:Chunk ID|Wall time): [^\n]{0,80}\n){0,2}(?:Process exited with code|Exit code:) (-?\d+)"
)
QUIET = frozenset(
    {
        *("id", "call_id", "turn_id", "thread_id", "session_id", "encrypted_content", "window_id"),
        *("previous_window_id", "first_window_id", "replacement_history", "last_agent_message"),
        *("rate_limits", "info", "client_id", "item_id", "commit_hash", "process_id", "metadata"),
        *("internal_chat_message_metadata_passthrough", "sender_thread_id", "receiver_thread_id"),
    }
)
ECHO = Notes(flags=Flag.ECHO.value)
ERROR = Notes(flags=Flag.ERROR.value)
COMPACTION = Notes(flags=Flag.COMPACTION.value)
INTERRUPTED = Notes(flags=Flag.INTERRUPTED.value)

Fields = dict[str, Any]
Read = tuple[Body, Notes | None]


def recognises(records: list[Fields]) -> bool:
    return any(_is_line(record) or _is_old(record) for record in records)


def _is_line(record: Fields) -> bool:
    return json_lines.word(record.get("type")) in LINES and isinstance(record.get("payload"), dict)


def _is_old(record: Fields) -> bool:
    return record.get("record_type") == "state" or _is_old_header(record)


def _is_old_header(record: Fields) -> bool:
    return "type" not in record and {"id", "timestamp", "instructions"} <= record.keys()


def read(record: Fields) -> Reading:
    payload, kind = record.get("payload"), json_lines.word(record.get("type"))
    at = times.read(record.get("timestamp"))
    if isinstance(payload, dict) and kind:
        body, notes = READERS.get(kind, _other)(payload, kind)
    elif _is_old_header(record):
        body, notes = _session(record, "session_meta")
    elif kind in ITEMS:
        body, notes = ITEMS[kind](record), None
    else:
        body, notes = _record(record, kind or json_lines.word(record.get("record_type"))), None
    return Reading(body=body, at=at, notes=notes)


def _record(payload: Fields, label: str) -> Record:
    return Record(label=label or "record", fields=payload, quiet=QUIET)


def _other(payload: Fields, kind: str) -> Read:
    return _record(payload, kind), None


# The session -------------------------------------------------------------------------------------


def _session(payload: Fields, kind: str) -> Read:
    notes = Notes(
        ties=tuple([Tie(kind, tied) for kind, tied in _ties(payload) if tied]),
        cwd=fields.path(payload.get("cwd")),
        branch=json_lines.word(fields.inside(payload.get("git")).get("branch")),
        version=json_lines.word(payload.get("cli_version")),
        is_header=True,
    )
    return _record(payload, kind), notes


def _ties(payload: Fields) -> list[tuple[TieKind, str]]:
    """Every header of a file says whose it is. The first one is the file's own; a fork may hold
    its parent's header as well."""
    own = json_lines.word(payload.get("id"))
    subagent = fields.inside(fields.inside(payload.get("source")).get("subagent"))
    spawned = fields.inside(subagent.get("thread_spawn")).get("parent_thread_id")
    base = json_lines.word(fields.inside(payload.get("history_base")).get("thread_id"))
    forked = json_lines.word(payload.get("forked_from_id"))
    return [
        (TieKind.SELF, own or json_lines.word(payload.get("session_id"))),
        (TieKind.FORK_OF, forked),
        (TieKind.SUBAGENT_OF, json_lines.word(payload.get("parent_thread_id") or spawned)),
        (TieKind.CONTINUES, base if base not in (own, forked) else ""),
    ]


def _turn(payload: Fields, kind: str) -> Read:
    turn = json_lines.word(payload.get("turn_id"))
    copied = fields.uuid(turn)
    notes = Notes(
        turn=turn,
        model=json_lines.word(payload.get("model")),
        cwd=fields.path(payload.get("cwd")),
        ties=(Tie(TieKind.RECORD, copied),) if copied else (),
    )
    return _record(payload, kind), notes


def _compacted(payload: Fields, kind: str) -> Read:
    """The history that replaces the old one is made of copies: it stays in the raw line."""
    summary = payload.get("message")
    if not isinstance(summary, str) or not summary:
        return _record(payload, kind), COMPACTION
    return Message(role=Role.SYSTEM, parts=(Text(text=summary),)), COMPACTION


# What the model saw ------------------------------------------------------------------------------


def _response(payload: Fields, kind: str) -> Read:
    name = json_lines.word(payload.get("type"))
    if name not in ITEMS:
        return _record(payload, name or kind), None
    body = ITEMS[name](payload)
    is_prompt = isinstance(body, Message) and body.role is Role.USER
    return body, ECHO if is_prompt else None


def _message(item: Fields) -> Body:
    role, content = json_lines.word(item.get("role")), item.get("content")
    parts = _parts(content)
    first = next((part.text for part in parts if isinstance(part, Text)), "")
    if role == "user":
        role, parts = ("system", parts) if _is_injected(first) else (role, _asked(parts))
    return Message(role=ROLES.get(role, Role.SYSTEM), parts=tuple(parts))


def _asked(parts: list[Part]) -> list[Part]:
    """What an editor tells of itself is not said by the person."""
    return [piece for part in parts for piece in _request(part)]


def _request(part: Part) -> list[Part]:
    if not isinstance(part, Text) or not part.text.startswith(EDITOR):
        return [part]
    around, _, asked = part.text.partition(REQUEST)
    if not asked.strip():
        return [part]
    return [Data(label="surroundings", value=around.strip()), Text(text=asked.strip())]


def _is_injected(text: str) -> bool:
    return text[:80].lstrip().startswith(INJECTED)


def _agent_message(item: Fields) -> Body:
    """Between agents: no person speaks."""
    parts = tuple(_parts(item.get("content")))
    return Message(role=Role.SYSTEM, parts=parts, name=json_lines.word(item.get("author")))


def _parts(content: object) -> list[Part]:
    items = content if isinstance(content, list) else [content]
    return [part for item in items for part in _part(item)]


def _part(item: object) -> list[Part]:
    if isinstance(item, str):
        return [Text(text=item)] if item else []
    if not isinstance(item, dict):
        return [] if item is None else [Data(label="content", value=item)]
    kind, text = json_lines.word(item.get("type")), item.get("text")
    if kind.endswith("image"):
        url = item.get("image_url")
        return [fields.picture_at(fields.inside(url).get("url") or url)] if url else []
    if kind == "encrypted_content":
        return []
    if isinstance(text, str):
        return [Text(text=text)] if text else []
    return [Data(label=kind or "content", value=item)]


def _reasoning(item: Fields) -> Body:
    """Often there is only ciphertext: then the line is kept as it is."""
    texts = [part for key in ("summary", "content") for part in _parts(item.get(key))]
    parts = [Thinking(text=part.text) for part in texts if isinstance(part, Text)]
    if not parts:
        return _record(item, "reasoning")
    return Message(role=Role.ASSISTANT, parts=tuple(parts))


def _call(item: Fields) -> Body:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    name = json_lines.word(item.get("name")) or CALLS.get(json_lines.word(item.get("type")), "")
    call = ToolCall(
        name=_qualified(json_lines.word(item.get("namespace")), name),
        call_id=json_lines.word(item.get("call_id")),
        arguments=json_lines.inner(arguments),
    )
    return Message(role=Role.ASSISTANT, parts=(call,))


def _qualified(server: str, name: str) -> str:
    """A tool of a server from outside is named in two pieces, cut at an underscore."""
    if not server.startswith("mcp__"):
        return name
    between = "" if name.startswith("_") or server.endswith("__") else "__"
    return f"{server}{between}{name}"


def _drawn(item: Fields) -> Body:
    result = item.get("result")
    call = ToolCall(name="image_generation", call_id="", arguments=item.get("revised_prompt"))
    pictures = (fields.picture(result, "image/png"),) if isinstance(result, str) else ()
    return Message(role=Role.ASSISTANT, parts=(call, *pictures))


def _result(item: Fields) -> Body:
    output = item.get("output", item.get("tools"))
    text, failed, pictures = _output(output)
    result = ToolResult(call_id=json_lines.word(item.get("call_id")), text=text, is_error=failed)
    return Message(role=Role.TOOL, parts=(result, *pictures))


def _output(output: object) -> tuple[str, bool, list[Part]]:
    """Text, text that is JSON and holds the text and an exit code, or a list of parts."""
    if isinstance(output, str):
        told = json_lines.inner(output) if output.startswith('{"output":') else None
        if isinstance(told, dict) and isinstance(told.get("output"), str):
            code = fields.inside(told.get("metadata")).get("exit_code")
            return told["output"], type(code) is int and code != 0, []
        return output, _failed(output), []
    is_whole = isinstance(output, dict) and "content" in output
    whole = fields.inside(output)
    parts = _parts(whole["content"] if is_whole else output)
    texts = [_text_of(part) for part in parts]
    text = "\n".join([text for text in texts if text])
    failed = whole.get("success") is False or _failed(text)
    return text, failed, [part for part in parts if not isinstance(part, Text | Data)]


def _text_of(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return json_lines.text(part.value) if isinstance(part, Data) else ""


def _failed(output: str) -> bool:
    found = EXIT_CODE.match(output)
    return found[1] != "0" if found else output.startswith(REFUSED)


CALLS = {
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
}
ITEMS: dict[str, Callable[[Fields], Body]] = {
    "message": _message,
    "agent_message": _agent_message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    **dict.fromkeys(CALLS, _call),
    "image_generation_call": _drawn,
    "function_call_output": _result,
    "custom_tool_call_output": _result,
    "local_shell_call_output": _result,
    "mcp_tool_call_output": _result,
    "tool_search_output": _result,
}


# What the screen showed --------------------------------------------------------------------------


def _event(payload: Fields, kind: str) -> Read:
    name = json_lines.word(payload.get("type"))
    if name in EVENTS:
        return EVENTS[name](payload)
    return _record(payload, name or kind), ECHO if name in ECHOES else None


def _prompt(event: Fields) -> Read:
    text = event.get("message")
    parts = _asked(_parts(text if isinstance(text, str) else None))
    is_injected = json_lines.word(event.get("kind")) in INJECTED_KINDS or any(
        _is_injected(part.text) for part in parts if isinstance(part, Text)
    )
    for key in ("images", "local_images"):
        images = event.get(key)
        parts += [fields.picture_at(each) for each in images] if isinstance(images, list) else []
    return Message(role=Role.SYSTEM if is_injected else Role.USER, parts=tuple(parts)), None


def _answer(event: Fields) -> Read:
    return Message(role=Role.ASSISTANT, parts=tuple(_parts(event.get("message")))), ECHO


def _thought(event: Fields) -> Read:
    texts = [part for part in _parts(event.get("text")) if isinstance(part, Text)]
    parts = tuple([Thinking(text=part.text) for part in texts])
    return Message(role=Role.ASSISTANT, parts=parts), ECHO


def _item(event: Fields) -> Read:
    """Threads whose history is read in pages have these instead of the other events."""
    item = fields.inside(event.get("item"))
    kind = json_lines.word(item.get("type"))
    if kind == "UserMessage":
        return Message(role=Role.USER, parts=tuple(_asked(_parts(item.get("content"))))), None
    if kind == "AgentMessage":
        return Message(role=Role.ASSISTANT, parts=tuple(_parts(item.get("content")))), ECHO
    label = f"item_completed {kind}".strip()
    return _record(event, label), None if kind in ALONE else ECHO


def _tokens(event: Fields) -> Read:
    """The running total names the answer: a line that repeats it tells of no new one."""
    info = fields.inside(event.get("info"))
    last = fields.inside(info.get("last_token_usage"))
    whole = fields.inside(info.get("total_token_usage")) or last
    read, written = fields.count(last.get(CACHED)), fields.count(last.get(WRITTEN))
    output, taken = fields.count(last.get("output_tokens")), fields.count(last.get("input_tokens"))
    if not taken and not output:
        return _record(event, "token_count"), None
    usage = Usage(
        key=".".join([str(fields.count(whole.get(name))) for name in TOTALS]),
        scope=Scope.TURN,
        input=max(taken - read - written, 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=fields.count(last.get("reasoning_output_tokens")),
    )
    return _record(event, "token_count"), Notes(usage=(usage,))


def _turn_began(event: Fields) -> Read:
    return _record(event, "task_started"), Notes(turn=json_lines.word(event.get("turn_id")))


def _turn_ended(event: Fields) -> Read:
    return _record(event, "task_complete"), ERROR if event.get("error") else None


def _turn_stopped(event: Fields) -> Read:
    return _record(event, "turn_aborted"), INTERRUPTED


def _trouble(event: Fields) -> Read:
    return _record(event, json_lines.word(event.get("type"))), ERROR


def _named(event: Fields) -> Read:
    title = json_lines.word(event.get("thread_name"))
    return _record(event, "thread_name_updated"), Notes(title=title)


def _settings(event: Fields) -> Read:
    settings = fields.inside(event.get("thread_settings"))
    model = json_lines.word(settings.get("model"))
    return _record(event, "thread_settings_applied"), Notes(model=model)


def _started(event: Fields) -> Read:
    started = json_lines.word(event.get("new_thread_id") or event.get("agent_thread_id"))
    notes = Notes(ties=(Tie(TieKind.STARTED, started),)) if started else None
    return _record(event, json_lines.word(event.get("type"))), notes


def _outside_call(event: Fields) -> Read:
    """The item that answers such a call does not say whether it failed."""
    result = fields.inside(event.get("result"))
    failed = "Err" in result or fields.inside(result.get("Ok")).get("isError") is True
    return _record(event, "mcp_tool_call_end"), ERROR if failed else ECHO


CACHED, WRITTEN = "cached_input_tokens", "cache_write_input_tokens"
TOTALS = ("input_tokens", CACHED, "output_tokens", "reasoning_output_tokens", "total_tokens")
# Items that nothing else in the file tells of.
ALONE = {"Plan", "Sleep", "Extension"}
ECHOES = {
    *("exec_command_begin", "exec_command_end", "patch_apply_begin", "patch_apply_end"),
    *("web_search_begin", "web_search_end", "mcp_tool_call_begin", "context_compacted"),
    *("image_generation_end", "view_image_tool_call", "dynamic_tool_call_request"),
    "dynamic_tool_call_response",
}
EVENTS: dict[str, Callable[[Fields], Read]] = {
    "user_message": _prompt,
    "agent_message": _answer,
    "agent_reasoning": _thought,
    "agent_reasoning_raw_content": _thought,
    "item_completed": _item,
    "token_count": _tokens,
    "task_started": _turn_began,
    "turn_started": _turn_began,
    "task_complete": _turn_ended,
    "turn_complete": _turn_ended,
    "turn_aborted": _turn_stopped,
    "error": _trouble,
    "stream_error": _trouble,
    "thread_name_updated": _named,
    "thread_settings_applied": _settings,
    "collab_agent_spawn_end": _started,
    "sub_agent_activity": _started,
    "mcp_tool_call_end": _outside_call,
}
READERS: dict[str, Callable[[Fields, str], Read]] = {
    "session_meta": _session,
    "turn_context": _turn,
    "compacted": _compacted,
    "response_item": _response,
    "event_msg": _event,
}

FORMAT = line_format(NAME, AGENT, recognises, read)
