"""Goose: rows of its `sessions.db`, one a line; and the older `….jsonl`, a line about the session
and then one message a line.

Evidence: docs/formats/goose.md. How rows become lines: docs/formats/stores.md.
"""

from typing import Any

import orjson

from sessions_app.domain import times
from sessions_app.domain.events import (
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
from sessions_app.formats import json_lines
from sessions_app.formats.json_lines import count, inside, picodollars, word
from sessions_app.formats.shape import line_format

NAME = "goose"
AGENT = "goose"
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
SIGNS = {"toolRequest", "toolResponse", "toolConfirmationRequest", "systemNotification"}
QUIET = frozenset({"id", "store", "table", "session_id", "message_id", "created_timestamp"})

_COMPACTION, _ERROR = Flag.COMPACTION.value, Flag.ERROR.value
Fields = dict[str, Any]


def recognises(records: list[Fields]) -> bool:
    return any(
        record.get("store") == NAME or _is_header(record) or _has_sign(record) for record in records
    )


def _is_header(record: Fields) -> bool:
    return "working_dir" in record and "description" in record and "role" not in record


def _has_sign(record: Fields) -> bool:
    content = record.get("content")
    if not isinstance(content, list) or "created" not in record:
        return False
    return any(word(inside(item, "type")) in SIGNS for item in content)


def read(line: Fields) -> Reading:
    row = line.get("row")
    if isinstance(row, dict) and line.get("store") == NAME:
        return _row(word(line.get("table")), row)
    if isinstance(line.get("role"), str) and line["role"] in ROLES:
        return _message(line, line.get("content"), line.get("metadata"), line.get("created"))
    return _session(line) if _is_header(line) else json_lines.reading(line)


def _row(table: str, row: Fields) -> Reading:
    if table == "messages" and word(row.get("role")) in ROLES:
        content, metadata = _parsed(row.get("content_json")), _parsed(row.get("metadata_json"))
        return _message(row, content, metadata, row.get("created_timestamp"))
    if table == "sessions":
        return _session(row)
    if table == "usage_ledger":
        return _ledger(row)
    return Reading(body=Record(label=table[:80] or "row", fields=row, quiet=QUIET))


def _parsed(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _session(row: Fields) -> Reading:
    return Reading(
        body=Record(label="session", fields=row, quiet=QUIET),
        at=times.read(row.get("created_at")),
        notes=Notes(
            usage=_total(row),
            ties=_ties(row),
            title=word(row.get("name")) or word(row.get("description")),
            cwd=word(row.get("working_dir")),
        ),
    )


def _ties(row: Fields) -> tuple[Tie, ...]:
    """Ids count the sessions of a day: two machines have the same ones. With the time it began a
    session is told from its namesakes."""
    own, begun = word(row.get("id")), word(row.get("created_at"))
    ties = [Tie(TieKind.SELF, f"{own} {begun}")] if own and begun else []
    ties += [Tie(TieKind.SELF, own)] if own else []
    parent = word(row.get("parent_session_id"))
    return (*ties, Tie(TieKind.SUBAGENT_OF, parent)) if parent else tuple(ties)


def _total(row: Fields) -> tuple[Usage, ...]:
    """Of the whole session, in a log that has no ledger; of its last request, where that is all
    that is told."""
    for before in ("accumulated_", ""):
        sent, received = (count(row.get(f"{before}{name}_tokens")) for name in ("input", "output"))
        if sent or received:
            return (Usage(key="total", scope=Scope.SESSION, input=sent, output=received),)
    return ()


def _ledger(row: Fields) -> Reading:
    """One request. Whether what came from the cache is part of the input differs by provider: it
    is where the input is large enough."""
    read, written = count(row.get("cache_read_tokens")), count(row.get("cache_write_tokens"))
    sent, model = count(row.get("input_tokens")), word(row.get("model"))
    usage = Usage(
        key=f"ledger {row.get('id')}"[: json_lines.LONGEST_WORD],
        scope=Scope.SESSION,
        model=model,
        provider=word(row.get("provider")),
        input=sent - read - written if sent >= read + written else sent,
        output=count(row.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        reported=picodollars(row.get("cost")) if row.get("cost_source") == "reported" else None,
    )
    flags = _COMPACTION if row.get("is_compaction") in (1, True) else 0
    return Reading(
        body=Record(label="usage", fields=row, quiet=QUIET),
        at=times.read(row.get("created_timestamp")),
        notes=Notes(usage=(usage,), model=model, flags=flags),
    )


# Messages ----------------------------------------------------------------------------------------


def _message(line: Fields, content: object, metadata: object, created: object) -> Reading:
    items = content if isinstance(content, list) else [content]
    parts = [part for item in items for part in _parts(item)]
    role = ROLES[line["role"]]
    is_summary = inside(metadata, "userVisible") is False
    if is_summary:
        role = Role.SYSTEM
    elif parts and all(isinstance(part, ToolResult | Picture) for part in parts):
        role = Role.TOOL
    return Reading(
        body=Message(role=role, parts=tuple(parts)),
        at=times.read(created),
        notes=Notes(flags=_COMPACTION) if is_summary else None,
    )


def _parts(item: object) -> list[Part]:
    if isinstance(item, str):
        return [Text(text=item)] if item else []
    if not isinstance(item, dict):
        return [] if item is None else [Data(label="content", value=item)]
    kind = word(item.get("type"))
    if kind == "toolResponse":
        return _result(item)
    return [_part(item, kind)]


def _part(item: Fields, kind: str) -> Part:
    if kind == "text" and isinstance(text := item.get("text"), str):
        return Text(text=text)
    if kind == "thinking" and isinstance(text := item.get("thinking"), str):
        return Thinking(text=text)
    if kind == "image":
        return _picture(item)
    if kind in ("toolRequest", "frontendToolRequest"):
        return _call(item)
    return Data(label=kind or "content", value=item)


def _picture(item: Fields) -> Picture:
    data = item.get("data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return Picture(media_type=word(item.get("mimeType")), size=size)


def _call(item: Fields) -> Part:
    call = item.get("toolCall")
    made = inside(call, "value") or call
    name = word(inside(made, "name"))
    arguments = inside(made, "arguments") if name else call
    return ToolCall(name=name or "invalid", call_id=word(item.get("id")), arguments=arguments)


def _result(item: Fields) -> list[Part]:
    result, own = item.get("toolResult"), word(item.get("id"))
    value = inside(result, "value")
    content = inside(value, "content") if isinstance(value, dict) else value
    items = content if isinstance(content, list) else [content]
    error = inside(result, "error")
    texts = [_text(each) for each in (error, *items)]
    images = [each for each in items if isinstance(each, dict) and each.get("type") == "image"]
    is_error = inside(result, "status") == "error" or error is not None
    is_error |= inside(value, "isError") is True
    text = "\n".join(text for text in texts if text)
    return [ToolResult(call_id=own, text=text, is_error=is_error), *map(_picture, images)]


def _text(item: object) -> str:
    if isinstance(item, str):
        return item
    if item is None or inside(item, "type") == "image":
        return ""
    text = inside(item, "text")
    return text if isinstance(text, str) else json_lines.text(item)


FORMAT = line_format(NAME, AGENT, recognises, read)
