"""OpenTelemetry spans of generative AI: one span a line as the endpoint stores them, or one export
request a line as file exporters write them.

A span of a model call repeats the whole history it was sent. Only what is new since the last answer
is laid out; what came before is folded. Names of conventions up to 1.36 and after are understood.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

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
from sessions_app.formats import chat, json_lines, otlp
from sessions_app.formats.shape import line_format

NAME = "otel"
AGENT = "otel"

# What these used is the sum of what their children used.
AGENTS = {"create_agent", "invoke_agent", "invoke_workflow", "plan"}
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
DETAILS = "gen_ai.client.inference.operation.details"
# Message events of conventions up to 1.36.
EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
ANSWER_EVENTS = {"gen_ai.choice", "gen_ai.content.completion"}
# `gen_ai.prompt.3.content`, `gen_ai.completion.0.tool_calls.0.name`
NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,4})\.(.{1,80})\Z")
QUIET = frozenset({"traceId", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano"})
MOST_SPANS = 500
FAILED = {2, "STATUS_CODE_ERROR"}


class _Said(NamedTuple):
    word: str
    role: Role
    parts: list[Part]


def recognises(records: list[dict[str, Any]]) -> bool:
    first = records[0]
    return isinstance(first.get("resourceSpans"), list) or _is_stored(first)


def _is_stored(record: dict[str, Any]) -> bool:
    return record.get("otel") == 1 and isinstance(record.get("span"), dict)


def read(record: dict[str, Any]) -> Reading:
    if _is_stored(record):
        return _span(record)
    if isinstance(record.get("resourceSpans"), list):
        return _export(record)
    return json_lines.reading(record)


def _export(record: dict[str, Any]) -> Reading:
    """Many spans in one line: what their messages say, one after the other."""
    found = list(otlp.spans(record))
    readings = [_span(line) for line in found[:MOST_SPANS]]
    if len(readings) == 1:
        return readings[0]
    spoken = [each.body for each in readings if isinstance(each.body, Message)]
    at = max((each.at for each in readings if each.at), default=None)
    return Reading(body=_together(record, spoken, len(found)), at=at, notes=_merged(readings))


def _together(record: dict[str, Any], spoken: list[Message], number: int) -> Body:
    if not spoken:
        return Record(label=f"{number} spans", fields=record, quiet=QUIET)
    first, *others = spoken
    parts = list(first.parts)
    for message in others:
        parts += [Text(text=f"{message.role.value}:"), *message.parts]
    if number > len(spoken):
        parts.append(Data(label="spans", value=record))
    return Message(role=first.role, parts=tuple(parts), model=first.model)


def _merged(readings: list[Reading]) -> Notes | None:
    notes = [each.notes for each in readings if each.notes]
    flags = 0
    for each in notes:
        flags |= each.flags
    return Notes(
        usage=tuple(used for each in notes for used in each.usage),
        ties=tuple(dict.fromkeys(tie for each in notes for tie in each.ties)),
        version=next((each.version for each in notes if each.version), ""),
        flags=flags,
    )


# One span ----------------------------------------------------------------------------------


def _span(line: dict[str, Any]) -> Reading:
    span: dict[str, Any] = line["span"]
    told = span.get("attributes")
    attributes: dict[str, Any] = told if isinstance(told, dict) else {}
    return Reading(
        body=_body(line, span, attributes),
        at=_moment(span.get("endTimeUnixNano")) or _moment(span.get("startTimeUnixNano")),
        notes=_notes(line, span, attributes),
    )


def _moment(nanos: object) -> datetime | None:
    """64-bit numbers travel as text."""
    if isinstance(nanos, str) and nanos.isascii() and nanos.isdigit() and len(nanos) <= 20:
        nanos = int(nanos)
    return times.read(nanos) if isinstance(nanos, int) and nanos else None


def _body(line: dict[str, Any], span: dict[str, Any], attributes: dict[str, Any]) -> Body:
    operation = _operation(attributes)
    if operation == "execute_tool":
        return _tool(line, span, attributes)
    events = _events(span)
    said, answered = _asked(attributes, events), _answered(attributes, events)
    if operation in AGENTS or not (said or answered):
        return _record(line, span)
    return _exchange(line, attributes, said, answered)


def _record(line: dict[str, Any], span: dict[str, Any]) -> Record:
    return Record(label=json_lines.word(span.get("name")) or "span", fields=line, quiet=QUIET)


def _operation(attributes: dict[str, Any]) -> str:
    named = json_lines.word(attributes.get("gen_ai.operation.name"))
    return named or ("execute_tool" if "gen_ai.tool.name" in attributes else "")


def _tool(line: dict[str, Any], span: dict[str, Any], attributes: dict[str, Any]) -> Message:
    name = json_lines.word(attributes.get("gen_ai.tool.name"))
    call_id = json_lines.word(attributes.get("gen_ai.tool.call.id"))
    arguments = json_lines.inner(attributes.get("gen_ai.tool.call.arguments", ""))
    result = attributes.get("gen_ai.tool.call.result", "")
    return Message(
        role=Role.TOOL,
        name=name,
        parts=(
            ToolCall(name=name, call_id=call_id, arguments=arguments),
            ToolResult(
                call_id=call_id,
                text=result if isinstance(result, str) else json_lines.text(result),
                is_error=_has_failed(span, attributes),
            ),
            Data(label="span", value=line),
        ),
    )


def _has_failed(span: dict[str, Any], attributes: dict[str, Any]) -> bool:
    code = json_lines.inside(span, "status", "code")
    return "error.type" in attributes or (isinstance(code, int | str) and code in FAILED)


def _exchange(
    line: dict[str, Any], attributes: dict[str, Any], said: list[_Said], answered: list[_Said]
) -> Message:
    """The first new message gives the event its role; every other one is announced by its own."""
    last_answer = max(
        (no for no, each in enumerate(said) if each.role is Role.ASSISTANT), default=-1
    )
    new = [each for each in said[last_answer + 1 :] if each.role is not Role.SYSTEM]
    first, *others = [*new, *answered] or said
    parts = list(first.parts)
    for each in others:
        parts += [Text(text=f"{each.word}:"), *each.parts]
    parts.append(Data(label="span, with everything it was sent", value=line))
    return Message(role=first.role, parts=tuple(parts), model=_model(attributes))


def _model(attributes: dict[str, Any]) -> str:
    told = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    return json_lines.word(told)


# What it was sent and what it answered -------------------------------------------------------


def _events(span: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    events = span.get("events")
    found = [each for each in events if isinstance(each, dict)] if isinstance(events, list) else []
    pairs = [(json_lines.word(each.get("name")), each.get("attributes")) for each in found]
    return [(name, told if isinstance(told, dict) else {}) for name, told in pairs]


def _asked(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> list[_Said]:
    told = [attributes, *(inner for name, inner in events if name == DETAILS)]
    found = [said for each in told for said in _messages(each.get(INPUT), "user")]
    found = found or _numbered(attributes, "prompt", "user")
    for name, inner in events if not found else []:
        if name in EVENT_ROLES and name not in ANSWER_EVENTS:
            found += _messages([inner], EVENT_ROLES[name])
        elif name == "gen_ai.content.prompt":
            found += _messages(inner.get("gen_ai.prompt"), "user")
    return found


def _answered(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> list[_Said]:
    told = [attributes, *(inner for name, inner in events if name == DETAILS)]
    found = [said for each in told for said in _messages(each.get(OUTPUT), "assistant")]
    found = found or _numbered(attributes, "completion", "assistant")
    for name, inner in events if not found else []:
        if name == "gen_ai.choice":
            message = json_lines.inner(inner.get("message", inner))
            found += _messages([message], "assistant")
        elif name == "gen_ai.content.completion":
            found += _messages(inner.get("gen_ai.completion"), "assistant")
    return found


def _messages(value: object, usual: str) -> list[_Said]:
    """A structured value or its JSON as text; text that is neither is one message."""
    value = json_lines.inner(value)
    if isinstance(value, str):
        value = [{"role": usual, "content": value}] if value else []
    items = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    return [_said(item, usual) for item in items]


def _said(item: object, usual: str) -> _Said:
    if not isinstance(item, dict):
        return _Said(usual, chat.ROLES[usual], [Data(label="content", value=item)])
    word = json_lines.word(item.get("role")) or usual
    role = chat.ROLES.get(word, chat.ROLES[usual])
    parts = item.get("parts")
    if isinstance(parts, list):
        return _Said(word, role, [_part(part) for part in parts])
    return _Said(word, role, _chat_parts(item, role))


def _chat_parts(item: dict[str, Any], role: Role) -> list[Part]:
    """As chat completions have them; in attributes lists travel as JSON text."""
    plain = {**item, "role": role.value}
    for key in ("tool_calls", "content"):
        if key in plain and role is not Role.TOOL:
            plain[key] = json_lines.inner(plain[key])
    if role is Role.TOOL:
        plain.setdefault("tool_call_id", item.get("id"))
    return chat.parts(plain)


def _part(part: object) -> Part:
    if not isinstance(part, dict):
        return Data(label="content", value=part)
    kind, content = json_lines.word(part.get("type")), part.get("content")
    if kind in ("text", "reasoning") and isinstance(content, str):
        return Text(text=content) if kind == "text" else Thinking(text=content)
    if kind == "tool_call":
        arguments = json_lines.inner(part.get("arguments", ""))
        name, call_id = json_lines.word(part.get("name")), json_lines.word(part.get("id"))
        return ToolCall(name=name, call_id=call_id, arguments=arguments)
    if kind == "tool_call_response":
        result = part.get("response", part.get("result", ""))
        text = result if isinstance(result, str) else json_lines.text(result)
        return ToolResult(call_id=json_lines.word(part.get("id")), text=text, is_error=False)
    if kind in ("blob", "uri", "file"):
        media = json_lines.word(part.get("mime_type") or part.get("modality")) or kind
        return Picture(
            media_type=media, size=len(content) * 3 // 4 if isinstance(content, str) else 0
        )
    return Data(label=kind or "content", value=part)


def _numbered(attributes: dict[str, Any], which: str, usual: str) -> list[_Said]:
    """Messages spread over attributes with a number in their names, as OpenLLMetry has them."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        match = NUMBERED.match(key)
        if match and match[1] == which:
            found.setdefault(int(match[2]), {})[match[3]] = value
    return [_said(_gathered(fields), usual) for _, fields in sorted(found.items())]


def _gathered(fields: dict[str, Any]) -> dict[str, Any]:
    calls: dict[str, dict[str, Any]] = {}
    out: dict[str, Any] = {}
    for key, value in fields.items():
        head, _, rest = key.partition(".")
        number, _, name = rest.partition(".")
        if head == "tool_calls" and name:
            calls.setdefault(number, {})[name] = value
        else:
            out[key] = value
    return {**out, "tool_calls": list(calls.values())} if calls else out


# What it used ------------------------------------------------------------------------------


def _notes(line: dict[str, Any], span: dict[str, Any], attributes: dict[str, Any]) -> Notes:
    ids = (otlp.hex_id(span.get("traceId"), 16), otlp.hex_id(span.get("spanId"), 8))
    used = _usage(attributes, ids)
    version = json_lines.inside(line, "resource", "service.version")
    return Notes(
        usage=(used,) if used else (),
        ties=(*_ties(attributes, ids), *_told(used, ids[0])),
        version=json_lines.word(version),
        flags=Flag.ERROR.value if _has_failed(span, attributes) else 0,
    )


def _ties(attributes: dict[str, Any], ids: tuple[str, str]) -> Iterable[Tie]:
    """Spans that came before one that names the conversation are kept by their trace."""
    trace, span = ids
    conversation = json_lines.word(attributes.get("gen_ai.conversation.id"))
    if conversation:
        yield Tie(TieKind.SELF, conversation)
    if trace:
        yield Tie(TieKind.CONTINUES if conversation else TieKind.SELF, trace)
    if trace and span:
        yield Tie(TieKind.RECORD, f"{trace}:{span}")


def _told(used: Usage | None, trace: str) -> Iterable[Tie]:
    if used and trace:
        is_whole = used.scope is Scope.WHOLE
        yield Tie(TieKind.WHOLE_TOLD if is_whole else TieKind.PART_TOLD, _whole(trace))


def _whole(trace: str) -> str:
    return f"trace {trace}"


def _usage(attributes: dict[str, Any], ids: tuple[str, str]) -> Usage | None:
    """What an agent used is the sum of what its calls used: it counts where no call of its trace
    says so. Of agents inside agents the outermost says the most."""
    is_whole = _operation(attributes) in AGENTS
    if is_whole and not ids[0]:
        return None
    sent = _count(attributes, "input_tokens", "prompt_tokens")
    received = _count(attributes, "output_tokens", "completion_tokens")
    if not sent and not received:
        return None
    read = _count(attributes, *_spellings("cache_read"), "input_tokens.cached")
    written = _count(attributes, *_spellings("cache_creation"))
    provider = attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system")
    own = json_lines.word(attributes.get("gen_ai.response.id")) or ":".join(filter(None, ids))
    return Usage(
        key=_whole(ids[0]) if is_whole else own,
        scope=Scope.WHOLE if is_whole else Scope.CORPUS,
        model=_model(attributes),
        provider=json_lines.word(provider),
        # Parts of the total; an instrumentation that counts them beside it is told by their sum.
        input=sent - read - written if read + written <= sent else sent,
        output=received,
        cache_read=read,
        cache_write=written,
        reasoning=_count(attributes, "reasoning.output_tokens", "reasoning_tokens"),
    )


def _spellings(name: str) -> tuple[str, str]:
    return f"{name}.input_tokens", f"{name}_input_tokens"


def _count(attributes: dict[str, Any], *names: str) -> int:
    return max(json_lines.count(attributes.get(f"gen_ai.usage.{name}")) for name in names)


FORMAT = line_format(NAME, AGENT, recognises, read)
