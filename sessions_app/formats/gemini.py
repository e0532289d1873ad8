"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-….json`, one document that is rewritten, or
`….jsonl`, a log in which a message is written again in full whenever it changes.

Evidence: docs/formats/gemini.md.
"""

import re
from dataclasses import replace
from typing import Any

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
    Unreadable,
    Usage,
)
from sessions_app.formats import documents, json_lines
from sessions_app.formats.documents import Place
from sessions_app.formats.json_lines import count, word
from sessions_app.formats.shape import Format, Head, line_format

AGENT = "gemini-cli"
LISTS = ("messages", "history")
ROLES = {
    "user": Role.USER,
    "gemini": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    **dict.fromkeys(("info", "warning", "error"), Role.SYSTEM),
}
PATCHES = {"$set": "update", "$rewindTo": "rewind"}
# A shorter id may stand for other messages elsewhere.
SHORTEST_ID = 20
FAILED = {"error", "cancelled"}
UNFINISHED = {"validating", "scheduled", "executing", "awaiting_approval"}
FAILED_COMMAND = re.compile(r"Exit Code: [1-9]")
COMPRESSED = "compressed from"
CANCELLED = "Request cancelled"
# What the program says in a person's name when an answer ends before it is whole.
GO_ON = "System: Please continue."
# In one patch; the place of an answer in its line is a small number.
MOST_MESSAGES = 10_000
QUIET = frozenset({"id", "sessionId", "projectHash", "startTime", "lastUpdated", "timestamp"})

_ECHO, _ERROR, _COMPACTION = Flag.ECHO.value, Flag.ERROR.value, Flag.COMPACTION.value
_INTERRUPTED = Flag.INTERRUPTED.value


def is_document(head: Head) -> bool:
    keys = documents.keys(head.raw)
    if "messages" in keys:
        return {"sessionId", "projectHash"} <= keys
    first = documents.first(head.raw, "history") if "history" in keys else None
    return first is not None and "parts" in first and "role" in first


def is_log(records: list[dict[str, Any]]) -> bool:
    first = records[0]
    is_header = {"sessionId", "projectHash", "startTime"} <= set(first) and "messages" not in first
    return is_header or any(_is_sign(record) for record in records)


def _is_sign(record: dict[str, Any]) -> bool:
    if len(record) == 1:
        return not PATCHES.keys().isdisjoint(record)
    return record.get("type") == "gemini" and "id" in record and "timestamp" in record


def read_slice(piece: bytes) -> Reading:
    place, fields = documents.read(piece)
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    return read(fields) if place is Place.ELEMENT else _session(fields, "session")


def read(record: dict[str, Any]) -> Reading:
    said = record.get("type", record.get("role"))
    if isinstance(said, str) and said in ROLES:
        return _message(record, said)
    for name, label in PATCHES.items():
        if name in record:
            return _patch(record, name, label)
    return _session(record, word(said) or "session")


def _patch(record: dict[str, Any], name: str, label: str) -> Reading:
    """A patch may bring all messages again."""
    patch = record[name]
    fields = patch if isinstance(patch, dict) else {}
    notes = _notes_of_session(fields, flags=_ECHO if "messages" in fields else 0)
    if used := _used_again(fields.get("messages")):
        notes = replace(notes or Notes(), usage=used)
    body = Record(label=label, fields=record, quiet=QUIET)
    return Reading(body=body, at=times.read(fields.get("lastUpdated")), notes=notes)


def _used_again(messages: object) -> tuple[Usage, ...]:
    """A log that goes on from a document begins with its messages: they have no other line."""
    items = messages if isinstance(messages, list) else []
    answers = [item for item in items[:MOST_MESSAGES] if isinstance(item, dict)]
    return tuple([used for each in answers for used in _usage(each, word(each.get("model")))])


def _session(fields: dict[str, Any], label: str) -> Reading:
    return Reading(
        body=Record(label=label, fields=fields, quiet=QUIET),
        at=times.read(fields.get("startTime", fields.get("start_time"))),
        notes=_notes_of_session(fields),
    )


def _notes_of_session(fields: dict[str, Any], flags: int = 0) -> Notes | None:
    own, title = word(fields.get("sessionId")), word(fields.get("summary"))
    folders = fields.get("directories")
    cwd = word(folders[0]) if isinstance(folders, list) and folders else ""
    if not (own or title or cwd or flags):
        return None
    ties = (Tie(TieKind.SELF, own),) if own else ()
    return Notes(ties=ties, title=title, cwd=cwd, flags=flags)


# Messages ----------------------------------------------------------------------------------------


def _message(record: dict[str, Any], said: str) -> Reading:
    calls = record.get("toolCalls")
    calls = calls if isinstance(calls, list) else []
    parts = [
        *_thoughts(record.get("thoughts")),
        *_content(record.get("content", record.get("parts"))),
        *(part for call in calls for part in _call(call)),
    ]
    model = word(record.get("model"))
    role = Role.SYSTEM if said == "user" and parts == [Text(text=GO_ON)] else ROLES[said]
    body = Message(role=role, parts=tuple(parts), model=model)
    at = times.read(record.get("timestamp", record.get("ts")))
    return Reading(body=body, at=at, notes=_notes(record, said, model, calls, parts))


def _notes(
    record: dict[str, Any], said: str, model: str, calls: list[object], parts: list[Part]
) -> Notes | None:
    flags = _ERROR if said == "error" else 0
    told = [part.text for part in parts if isinstance(part, Text)] if said == "info" else []
    if any(COMPRESSED in text for text in told):
        flags = _COMPACTION
    elif any(text.startswith(CANCELLED) for text in told):
        flags = _INTERRUPTED
    usage = _usage(record, model)
    ties = _ties(record, said, calls)
    if not (flags or usage or ties or model):
        return None
    return Notes(usage=usage, ties=ties, model=model, flags=flags)


def _ties(record: dict[str, Any], said: str, calls: list[object]) -> tuple[Tie, ...]:
    own = word(record.get("id"))
    ties = [Tie(TieKind.RECORD, own)] if said == "user" and len(own) >= SHORTEST_ID else []
    agents = [word(json_lines.inside(call, "agentId")) for call in calls]
    return (*ties, *(Tie(TieKind.STARTED, agent) for agent in agents if agent))


def _usage(record: dict[str, Any], model: str) -> tuple[Usage, ...]:
    """Every version of a message may tell its tokens: its id makes them one."""
    tokens = record.get("tokens")
    if not isinstance(tokens, dict):
        return ()
    cached, thoughts = count(tokens.get("cached")), count(tokens.get("thoughts"))
    return (
        Usage(
            key=word(record.get("id")),
            scope=Scope.SESSION,
            model=model,
            provider="google" if model.startswith("gemini") else "",
            input=max(count(tokens.get("input")) - cached, 0) + count(tokens.get("tool")),
            output=count(tokens.get("output")) + thoughts,
            cache_read=cached,
            reasoning=thoughts,
        ),
    )


def _thoughts(thoughts: object) -> list[Part]:
    if not isinstance(thoughts, list):
        return []
    return [part for thought in thoughts for part in _thought(thought)]


def _thought(thought: object) -> list[Part]:
    if not isinstance(thought, dict):
        return [Data(label="thought", value=thought)]
    said = [thought.get("subject"), thought.get("description")]
    text = "\n\n".join(each for each in said if isinstance(each, str) and each)
    return [Thinking(text=text)] if text else []


def _content(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [part for item in items for part in _part(item)]


def _part(item: object) -> list[Part]:
    if isinstance(item, str):
        return [Text(text=item)] if item else []
    if not isinstance(item, dict):
        return [Data(label="content", value=item)]
    if isinstance(text := item.get("text"), str):
        return [Thinking(text=text) if item.get("thought") is True else Text(text=text)]
    return _other(item)


def _other(item: dict[str, Any]) -> list[Part]:
    if picture := _picture(item):
        return [picture]
    if isinstance(call := item.get("functionCall"), dict):
        name, own = word(call.get("name")), word(call.get("id"))
        return [ToolCall(name=name, call_id=own, arguments=call.get("args"))]
    if isinstance(answer := item.get("functionResponse"), dict):
        text, is_error = _answer(answer)
        return [ToolResult(call_id=word(answer.get("id")), text=text, is_error=is_error)]
    return [Data(label="content", value=item)]


def _picture(item: dict[str, Any]) -> Picture | None:
    for name in ("inlineData", "fileData"):
        data = item.get(name)
        if isinstance(data, dict):
            raw = data.get("data")
            size = len(raw) * 3 // 4 if isinstance(raw, str) else 0
            return Picture(media_type=word(data.get("mimeType")), size=size)
    return None


# Calls and what came of them, in one place -------------------------------------------------------


def _call(call: object) -> list[Part]:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return [Data(label="toolCalls", value=call)]
    name, own = word(call["name"]), word(call.get("id"))
    made = ToolCall(name=name, call_id=own, arguments=call.get("args"))
    status = word(call.get("status"))
    if status in UNFINISHED or (call.get("result") is None and not status):
        return [made]
    result = call.get("result")
    items = result if isinstance(result, list) else [] if result is None else [result]
    texts, pictures, is_error = _results(items)
    text = "\n".join(texts) or _shown(call.get("resultDisplay"))
    is_error |= status in FAILED or _has_failed(name, text)
    return [made, ToolResult(call_id=own, text=text, is_error=is_error), *pictures]


def _has_failed(name: str, text: str) -> bool:
    """A command that failed is a success to the program: only its output tells."""
    return name == "run_shell_command" and bool(FAILED_COMMAND.search(text))


def _results(items: list[object]) -> tuple[list[str], list[Part], bool]:
    texts: list[str] = []
    pictures: list[Part] = []
    is_error = False
    for part in (part for item in items for part in _part(item)):
        if isinstance(part, ToolResult):
            texts.append(part.text)
            is_error |= part.is_error
        elif isinstance(part, Picture):
            pictures.append(part)
        else:
            texts.append(part.text if isinstance(part, Text) else json_lines.text(_value(part)))
    return [text for text in texts if text], pictures, is_error


def _value(part: Part) -> object:
    return part.value if isinstance(part, Data) else ""


def _answer(answer: dict[str, Any]) -> tuple[str, bool]:
    response = answer.get("response")
    fields = response if isinstance(response, dict) else {}
    for name in ("output", "error"):
        if isinstance(said := fields.get(name), str):
            return said, name == "error"
    return _shown(response), "error" in fields


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json_lines.text(value)


DOCUMENT = Format(
    name="gemini",
    agent=AGENT,
    recognises=is_document,
    read=read_slice,
    cut=lambda raw: documents.cut(raw, *LISTS),
)
LOG = line_format("gemini-log", AGENT, is_log, read)
