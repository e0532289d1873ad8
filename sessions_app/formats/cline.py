"""Tasks of Cline and Roo Code: what was sent to the model, what the panel showed, and facts beside.

Both conversations are lists in one JSON document that is written anew with every change.
"""

import re
from collections.abc import Iterator
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
    Text,
    Thinking,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    Unreadable,
    Usage,
)
from sessions_app.formats import blocks, documents, json_lines
from sessions_app.formats.documents import Place
from sessions_app.formats.shape import Format, Head

AGENT = "cline"
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
# Text that begins like this was typed by a person, or stands for what was.
TYPED = ("<task>", "<user_message>", "<feedback>", "<answer>")
INJECTED = ("<environment_details>", "# task_progress", "[TASK RESUMPTION]")
RESULT = re.compile(r"\[([a-z_]{3,40})(?: for [^\n]{0,2000})?\] Result:")
# Tools of the time when they were written as XML into the answer.
XML_TOOLS = (
    *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff"),
    *("insert_content", "search_and_replace", "search_files", "list_files", "new_task"),
    *("list_code_definition_names", "browser_action", "use_mcp_tool", "access_mcp_resource"),
    *("ask_followup_question", "attempt_completion", "plan_mode_respond", "switch_mode"),
)
OPENING = re.compile(rf"<({'|'.join(XML_TOOLS)})>")
ARGUMENT = re.compile(r"<([a-z_]{1,40})>")

# Of `ui_messages.json`, by what is said or asked.
PERSON = {"task", "user_feedback", "user_feedback_diff"}
SPOKEN = {"text", "completion_result", "followup", "plan_mode_respond", "act_mode_respond"}
CALLED = {
    *("command", "tool", "use_mcp_server", "browser_action", "browser_action_launch"),
    "use_subagents",
}
ANSWERED = {"command_output", "mcp_server_response", "browser_action_result"}
WRONG = {
    *(
        "error",
        "error_retry",
        "api_req_failed",
        "diff_error",
        "clineignore_error",
        "rooignore_error",
    ),
    *("mistake_limit_reached", "command_permission_denied"),
}
CONDENSED = {"condense", "condense_context", "summarize_task", "sliding_window_truncation"}
PAID = {"api_req_started", "subagent_usage", "condense_context"}
# Why a request came to no answer.
ENDED = {
    "user_cancelled": Flag.INTERRUPTED.value,
    "streaming_failed": Flag.ERROR.value,
    "retries_exhausted": Flag.ERROR.value,
}
UNDERSTOOD = frozenset({"ts", "type", "say", "ask", "text", "images", "reasoning"})
PICODOLLARS = 10**12
MOST_DOLLARS = 10**6


# What was sent to the model ------------------------------------------------------------------


def _is_history(head: Head) -> bool:
    first = documents.first(head.raw)
    content = first.get("content") if first else None
    if not first or first.get("role") not in ROLES or not isinstance(content, list):
        return False
    texts = [json_lines.inside(block, "text") for block in content]
    said = [text for text in texts if isinstance(text, str)]
    return isinstance(first.get("ts"), int) or any(
        text.startswith(TYPED) or "<environment_details>" in text for text in said
    )


def _sent(message: dict[str, Any]) -> Reading:
    role = ROLES.get(json_lines.word(message.get("role")))
    at = times.read(message.get("ts"))
    if role is None:
        return Reading(body=json_lines.record(message), at=at)
    found = [part for each in blocks.parts(message.get("content")) for part in _told(each, role)]
    model = json_lines.inside(message, "modelInfo", "modelId")
    body = Message(role=role, parts=tuple(found), model=json_lines.word(model))
    is_summary = message.get("isSummary") is True
    notes = Notes(flags=Flag.COMPACTION.value) if is_summary else None
    return Reading(body=body, at=at, notes=notes)


def _told(part: Part, role: Role) -> list[Part]:
    """Text that is more than text: calls in an answer; results and surroundings in a question."""
    if not isinstance(part, Text):
        return [part]
    if role is Role.ASSISTANT:
        return list(_with_calls(part.text))
    if RESULT.match(part.text):
        return [ToolResult(call_id="", text=part.text, is_error=False)]
    if part.text.lstrip()[:40].startswith(INJECTED):
        return [Data(label="surroundings", value=part.text)]
    return [Text(text=_typed(part.text))]


def _typed(text: str) -> str:
    """Without the marks around what a person typed."""
    for opening in TYPED:
        closing = f"</{opening[1:]}"
        bare = text.strip()
        if bare.startswith(opening) and bare.endswith(closing):
            return bare[len(opening) : -len(closing)].strip()
    return text


def _with_calls(text: str) -> Iterator[Part]:
    at = 0
    endless: set[str] = set()
    for opening in OPENING.finditer(text):
        name = opening[1]
        end = -1 if name in endless else text.find(f"</{name}>", opening.end())
        if end < 0:
            endless.add(name)
        elif opening.start() >= at:
            if before := text[at : opening.start()].strip():
                yield Text(text=before)
            arguments = _arguments(text[opening.end() : end])
            yield ToolCall(name=name, call_id="", arguments=arguments)
            at = end + len(name) + 3
    if not at or text[at:].strip():
        yield Text(text=text[at:] if at else text)


def _arguments(inner: str) -> object:
    out: dict[str, str] = {}
    at = 0
    while opening := ARGUMENT.search(inner, at):
        end = inner.find(f"</{opening[1]}>", opening.end())
        if end < 0:
            break
        out[opening[1]] = inner[opening.end() : end].strip("\n")
        at = end + len(opening[1]) + 3
    return out or inner


# What the panel showed -----------------------------------------------------------------------


def _is_panel(head: Head) -> bool:
    first = documents.first(head.raw)
    return (
        first is not None
        and first.get("type") in ("say", "ask")
        and isinstance(first.get("ts"), int)
        and isinstance(first.get(first["type"]), str)
    )


def _shown(entry: dict[str, Any], *, is_first: bool) -> Reading:
    """The first entry is the task, whatever it is called."""
    asked = json_lines.word(entry.get("type"))
    kind = json_lines.word(entry.get(asked)) if asked in ("say", "ask") else ""
    if is_first and kind == "text":
        kind = "task"
    notes = _notes(entry, kind)
    return Reading(body=_entry(entry, kind), at=times.read(entry.get("ts")), notes=notes)


def _entry(entry: dict[str, Any], kind: str) -> Body:
    text = entry.get("text")
    said = text if isinstance(text, str) else ""
    spoken = _spoken(kind, said)
    if spoken is None:
        return Record(label=kind or "entry", fields=entry, quiet=frozenset({"ts"}))
    role, parts = spoken
    thought = entry.get("reasoning")
    if isinstance(thought, str) and thought:
        parts.insert(0, Thinking(text=thought))
    return Message(role=role, parts=(*parts, *_pictures(entry.get("images")), *_rest(entry)))


def _spoken(kind: str, text: str) -> tuple[Role, list[Part]] | None:
    if kind in PERSON:
        return Role.USER, [Text(text=text)]
    if kind in SPOKEN:
        return Role.ASSISTANT, [Text(text=_question(text))]
    if kind == "reasoning":
        return Role.ASSISTANT, [Thinking(text=text)]
    if kind in CALLED:
        return Role.ASSISTANT, [_call(kind, text)]
    if kind in ANSWERED:
        return Role.TOOL, [ToolResult(call_id="", text=text, is_error=False)]
    return (Role.SYSTEM, [Text(text=text)]) if kind in WRONG else None


def _question(text: str) -> str:
    """Questions and plans come with the answers one could choose."""
    told = json_lines.inner(text)
    found = [json_lines.inside(told, name) for name in ("question", "response")]
    return next((each for each in found if isinstance(each, str)), text)


def _call(kind: str, text: str) -> ToolCall:
    if kind == "command":
        return ToolCall(name="execute_command", call_id="", arguments={"command": text})
    told = json_lines.inner(text)
    names = [json_lines.word(json_lines.inside(told, name)) for name in ("tool", "toolName")]
    return ToolCall(name=next(filter(None, names), kind), call_id="", arguments=told)


def _pictures(images: object) -> list[Part]:
    found = [each for each in images if isinstance(each, str)] if isinstance(images, list) else []
    return [Picture(media_type="image", size=len(each) * 3 // 4) for each in found]


def _rest(entry: dict[str, Any]) -> list[Part]:
    """`partial` among it: the entry was still being written."""
    rest = {key: value for key, value in entry.items() if key not in UNDERSTOOD}
    return [Data(label="other fields", value=rest)] if rest else []


def _notes(entry: dict[str, Any], kind: str) -> Notes | None:
    used = _usage(entry) if kind in PAID else None
    model = json_lines.word(json_lines.inside(entry, "modelInfo", "modelId"))
    flags = Flag.ERROR.value if kind in WRONG else 0
    if kind in CONDENSED:
        flags |= Flag.COMPACTION.value
    if kind == "api_req_started":
        told = json_lines.inner(entry.get("text"))
        flags |= ENDED.get(json_lines.word(json_lines.inside(told, "cancelReason")), 0)
    if not (used or model or flags):
        return None
    return Notes(usage=(used,) if used else (), model=model, flags=flags)


def _usage(entry: dict[str, Any]) -> Usage | None:
    """Filled in when the answer is there. The time of the entry stays the same from one writing
    of the document to the next, and tells requests apart to the millisecond."""
    told = json_lines.inner(entry.get("text"))
    stamp = entry.get("ts")
    if not isinstance(told, dict) or type(stamp) is not int:
        return None
    sent, received = json_lines.count(told.get("tokensIn")), json_lines.count(told.get("tokensOut"))
    if not sent and not received:
        return None
    return Usage(
        key=f"cline {stamp}",
        model=json_lines.word(json_lines.inside(entry, "modelInfo", "modelId")),
        provider=json_lines.word(json_lines.inside(entry, "modelInfo", "providerId")),
        input=sent,
        output=received,
        cache_read=json_lines.count(told.get("cacheReads")),
        cache_write=json_lines.count(told.get("cacheWrites")),
        reported=_picodollars(told.get("cost")),
    )


def _picodollars(cost: object) -> int | None:
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return round(cost * PICODOLLARS) if 0 <= cost <= MOST_DOLLARS else None


# Documents -----------------------------------------------------------------------------------


def _history_slice(raw: bytes) -> Reading:
    place, fields = documents.read(raw)
    return _edge(place, fields) or _sent(fields)  # type: ignore[arg-type]


def _panel_cut(raw: bytes) -> list[int]:
    """The first entry is kept with the bracket before it: that tells it from all others."""
    starts = documents.cut(raw)
    is_entry = len(starts) > 1 and not raw.startswith(b"]", starts[1])
    return [0, *starts[2:]] if is_entry else starts


def _panel_slice(raw: bytes) -> Reading:
    bare = raw.removeprefix(json_lines.BOM).lstrip()
    is_first = bare.startswith(b"[") and len(bare.rstrip()) > 1
    place, fields = documents.read(bare[1:] if is_first else raw)
    edge = _edge(place, fields)
    return edge or _shown(fields, is_first=is_first)  # type: ignore[arg-type]


def _edge(place: Place, fields: dict[str, Any] | Unreadable) -> Reading | None:
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    if place is not Place.ELEMENT:
        return Reading(body=Record(label=f"list {place.value}", fields=fields))
    return None


def _is_task(head: Head) -> bool:
    fields = None if head.is_lines else json_lines.parse(head.raw.strip())
    if not isinstance(fields, dict):
        return False
    is_item = {"id", "ts", "task", "tokensIn", "tokensOut"} <= fields.keys()
    return is_item or {"files_in_context", "model_usage"} <= fields.keys()


def _task(raw: bytes) -> Reading:
    fields = json_lines.parse(raw.strip())
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    kinds = ((TieKind.SELF, "id"), (TieKind.SUBAGENT_OF, "parentTaskId"))
    ties = [Tie(kind, json_lines.word(fields.get(name))) for kind, name in kinds]
    notes = Notes(
        ties=tuple(tie for tie in ties if tie.id),
        title=json_lines.word(fields.get("task")),
        cwd=json_lines.word(fields.get("workspace")),
    )
    return Reading(body=Record(label="task", fields=fields), at=times.found_in(fields), notes=notes)


HISTORY = Format(
    name="cline-api",
    agent=AGENT,
    recognises=_is_history,
    read=_history_slice,
    cut=documents.cut,
)
PANEL = Format(
    name="cline-ui", agent=AGENT, recognises=_is_panel, read=_panel_slice, cut=_panel_cut
)
TASK = Format(
    name="cline-task",
    agent=AGENT,
    recognises=_is_task,
    read=_task,
    cut=lambda _: [0],
    is_side=True,
)
