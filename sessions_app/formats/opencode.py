"""OpenCode: rows of its database or files of its storage, one a line; and such a file alone.

Evidence: docs/formats/opencode.md. How the lines come about: docs/formats/stores.md.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
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
    Unreadable,
    Usage,
)
from sessions_app.formats import json_lines
from sessions_app.formats.json_lines import count, inside, picodollars, word
from sessions_app.formats.shape import Format, Head, line_format

AGENT = "opencode"
STORE = "opencode"
# What columns of the session's row are called in its file.
COLUMNS = {"parent_id": "parentID", "project_id": "projectID"}
KINDS = {"session": "session", "session_v2": "session", "info": "session", "message": "message"}
KINDS |= {"part": "part", "session_message": "entry"}
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
SPOKEN = {"text", "file"}
OWN = {"tool", "reasoning"}
MARKS = {
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "agent",
    "subtask",
    "compaction",
    "retry",
}
FINISHED = {"completed", "success", "error"}
QUIET = frozenset(
    {
        *("id", "sessionID", "messageID", "parentID", "projectID", "time", "store", "table"),
        *("time_created", "time_updated", "project_id", "workspace_id", "slug", "tokens", "cost"),
        *("hash", "snapshot", "session_id", "message_id", "file"),
    }
)

# How the program names a fork of a session.
FORK_TITLE = re.compile(r" \(fork #\d{1,6}\)\Z")
# What the program calls it when a person stops an answer.
ABORTED = "MessageAbortedError"

_ERROR, _COMPACTION = Flag.ERROR.value, Flag.COMPACTION.value
_INTERRUPTED = Flag.INTERRUPTED.value
Fields = dict[str, Any]


def is_lines(records: list[Fields]) -> bool:
    return any(record.get("store") == STORE for record in records)


def is_file(head: Head) -> bool:
    fields = json_lines.parse(head.raw)
    return isinstance(fields, dict) and bool(_kind(fields))


def _kind(fields: Fields) -> str:
    """Of a file alone, by what is in it."""
    if _has(fields, "id", "projectID", "directory", "time"):
        return "session"
    if _has(fields, "id", "sessionID", "role", "time"):
        return "message"
    kind = word(fields.get("type"))
    if kind not in SPOKEN | OWN | MARKS or not _has(fields, "id"):
        return ""
    is_timed = isinstance(inside(fields, "time", "start"), int)
    return "part" if _has(fields, "messageID") or is_timed else ""


def _has(fields: Fields, *names: str) -> bool:
    return all(name in fields for name in names)


def read_file(raw: bytes) -> Reading:
    fields = json_lines.parse(raw)
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    return READERS[_kind(fields) or "other"](fields, "")


def read(line: Fields) -> Reading:
    kind, fields = _inside(line)
    if fields is None:
        return json_lines.reading(line)
    return READERS[kind](fields, word(line.get("role")))


def _inside(line: Fields) -> tuple[str, Fields | None]:
    row = line.get("row")
    if isinstance(row, dict):
        kind = KINDS.get(word(line.get("table")), "other")
        return kind, _of_row(row)
    fields = _parsed(_bytes_of(line))
    folders = word(line.get("file")).split("/")[:-1]
    kind = _kind(fields) if fields else ""
    if not kind:
        kind = next((KINDS[name] for name in reversed(folders) if name in KINDS), "other")
    return kind, fields


def _of_row(row: Fields) -> Fields:
    """As the file would be: ids beside what is in `data`."""
    data = _parsed(row.get("data")) or {}
    times_of = {"created": row.get("time_created")}
    out: Fields = {"time": times_of, **{COLUMNS.get(key, key): row[key] for key in row}, **data}
    out.pop("data", None)
    ids = {"id": "id", "sessionID": "session_id", "messageID": "message_id", "seq": "seq"}
    return out | {name: row[column] for name, column in ids.items() if column in row}


def _bytes_of(line: Fields) -> object:
    text, packed = line.get("text"), line.get("base64")
    if isinstance(text, str) or not isinstance(packed, str):
        return text
    try:
        return base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return None


def _parsed(text: object) -> Fields | None:
    if not isinstance(text, str | bytes):
        return None
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# Sessions and messages ---------------------------------------------------------------------------


def _session(fields: Fields, _: str) -> Reading:
    own, parent = word(fields.get("id")), word(fields.get("parentID"))
    forked = word(inside(fields, "fork", "sessionID")) or word(fields.get("fork_session_id"))
    is_fork = FORK_TITLE.search(word(fields.get("title"))) is not None
    ties = [Tie(TieKind.SELF, own)] if own else []
    ties += [Tie(TieKind.FORK_OF, forked)] if forked else []
    ties += [Tie(TieKind.FORK_OF if is_fork else TieKind.SUBAGENT_OF, parent)] if parent else []
    return Reading(
        body=Record(label="session", fields=fields, quiet=QUIET),
        at=_created(fields),
        notes=Notes(
            ties=tuple(ties),
            title=word(fields.get("title")),
            cwd=word(fields.get("directory")),
            version=word(fields.get("version")),
        ),
    )


def _message(fields: Fields, _: str) -> Reading:
    """Who speaks, with which model and at what price; what is said is in its parts."""
    said = word(fields.get("role"))
    is_answer = said == "assistant"
    flags = _trouble(fields.get("error"))
    flags |= _COMPACTION if is_answer and fields.get("summary") is True else 0
    model = _model(fields) if is_answer else ""
    own = word(fields.get("sessionID"))
    return Reading(
        body=Record(label=f"{said} message".strip(), fields=fields, quiet=QUIET),
        at=_created(fields),
        notes=Notes(
            usage=_usage(fields, model) if is_answer else (),
            ties=tuple(_ties(own, fields, f"{said} {model}")),
            cwd=word(inside(fields, "path", "cwd")),
            model=model,
            flags=flags,
        ),
    )


def _ties(session: str, fields: Fields, said: str) -> Iterator[Tie]:
    """A fork copies messages under ids of its own; what stays are their times."""
    if session:
        yield Tie(TieKind.SELF, session)
    begun = inside(fields, "time", "created")
    if type(begun) is int:
        yield Tie(TieKind.RECORD, f"opencode {begun} {said}")


def _trouble(error: object) -> int:
    if not error:
        return 0
    return _INTERRUPTED if inside(error, "name") == ABORTED else _ERROR


def _model(fields: Fields) -> str:
    model = fields.get("model")
    names = (fields.get("modelID"), inside(model, "modelID"), inside(model, "id"))
    return next(filter(None, map(word, names)), "")


def _usage(fields: Fields, model: str) -> tuple[Usage, ...]:
    tokens, begun = fields.get("tokens"), inside(fields, "time", "created")
    is_timed = type(begun) is int
    reasoning = count(inside(tokens, "reasoning"))
    usage = Usage(
        key=f"opencode {begun} {model}" if is_timed else word(fields.get("id")),
        scope=Scope.CORPUS if is_timed else Scope.SESSION,
        model=model,
        provider=word(fields.get("providerID")) or word(inside(fields, "model", "providerID")),
        input=count(inside(tokens, "input")),
        output=count(inside(tokens, "output")) + reasoning,
        cache_read=count(inside(tokens, "cache", "read")),
        cache_write=count(inside(tokens, "cache", "write")),
        reasoning=reasoning,
        reported=picodollars(fields.get("cost")),
    )
    told = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reported)
    return (usage,) if any(told) else ()


def _created(fields: Fields) -> Any:
    time = fields.get("time")
    found = (inside(time, name) for name in ("created", "start"))
    return next(filter(None, map(times.read, found)), None)


@lru_cache(maxsize=256)
def _of(session: str) -> Notes | None:
    """Parts of a session share one object."""
    return Notes(ties=(Tie(TieKind.SELF, session),)) if session else None


# Parts -------------------------------------------------------------------------------------------


def _part(fields: Fields, role: str) -> Reading:
    kind = word(fields.get("type"))
    at = _created(fields) or _created(_state(fields))
    own = word(fields.get("sessionID"))
    speaker = Role.ASSISTANT if kind in OWN else ROLES.get(role)
    parts = _parts(fields, kind) if speaker else []
    if not parts or speaker is None:
        flags = _COMPACTION * (kind == "compaction") | _ERROR * (kind == "retry")
        ties = (Tie(TieKind.SELF, own),) if own else ()
        notes = Notes(ties=ties, flags=flags) if flags else _of(own)
        return Reading(body=json_lines.record(fields, QUIET), at=at, notes=notes)
    if fields.get("synthetic") is True and speaker is Role.USER:
        speaker = Role.SYSTEM
    return Reading(body=Message(role=speaker, parts=tuple(parts)), at=at, notes=_spoken(fields))


def _spoken(fields: Fields) -> Notes | None:
    """A tool that starts a session names it."""
    own = word(fields.get("sessionID"))
    started = word(inside(fields, "state", "metadata", "sessionId"))
    if not started or started == own:
        return _of(own)
    ties = (Tie(TieKind.SELF, own),) if own else ()
    return Notes(ties=(*ties, Tie(TieKind.STARTED, started)))


def _parts(fields: Fields, kind: str) -> list[Part]:
    text = fields.get("text")
    if kind in ("text", "reasoning") and isinstance(text, str):
        return [Thinking(text=text) if kind == "reasoning" else Text(text=text)]
    if kind == "file":
        return [_picture(fields)]
    return _call(fields) if kind == "tool" else []


def _picture(fields: Fields) -> Picture:
    url = fields.get("url", fields.get("uri"))
    is_inside = isinstance(url, str) and url.startswith("data:")
    size = (len(url) - url.find(",") - 1) * 3 // 4 if isinstance(url, str) and is_inside else 0
    return Picture(media_type=word(fields.get("mime")), size=size)


def _state(fields: Fields) -> Fields:
    state = fields.get("state")
    return state if isinstance(state, dict) else {}


def _call(fields: Fields) -> list[Part]:
    """The call and what came of it, written over in place."""
    state = _state(fields)
    name = word(fields.get("tool")) or word(fields.get("name"))
    own = word(fields.get("callID")) or word(fields.get("id"))
    made = ToolCall(name=name, call_id=own, arguments=state.get("input"))
    status = word(state.get("status"))
    if status not in FINISHED:
        return [made]
    result = ToolResult(call_id=own, text=_output(state), is_error=_has_failed(name, state))
    return [made, result, *_attached(state.get("attachments")), *_attached(state.get("content"))]


def _attached(files: object) -> list[Part]:
    if not isinstance(files, list):
        return []
    return [_picture(file) for file in files if inside(file, "type") == "file"]


def _has_failed(name: str, state: Fields) -> bool:
    """`invalid` stands for a call that could not be made; a command tells how it ended."""
    status = inside(state, "metadata", "exit")
    is_ended_badly = isinstance(status, int) and status != 0
    return state.get("status") == "error" or name == "invalid" or is_ended_badly


def _output(state: Fields) -> str:
    content = state.get("content")
    texts = [inside(item, "text") for item in content] if isinstance(content, list) else []
    error = state.get("error")
    told = [error, inside(error, "message"), state.get("output"), *texts]
    said = [text for text in told if isinstance(text, str) and text]
    if said:
        return "\n".join(said)
    rest = state.get("output", error)
    return "" if rest is None else json_lines.text(rest)


# Entries of the newer table ----------------------------------------------------------------------


def _entry(fields: Fields, _: str) -> Reading:
    """A message with its parts inside."""
    kind = word(fields.get("type"))
    parts = _entry_parts(fields)
    role = {"user": Role.USER, "assistant": Role.ASSISTANT, "synthetic": Role.SYSTEM}.get(kind)
    noted = _message({**fields, "role": kind}, "")
    notes = noted.notes
    if kind == "compaction" and notes:
        notes = Notes(ties=notes.ties, flags=_COMPACTION)
    if role is None:
        return Reading(body=json_lines.record(fields, QUIET), at=noted.at, notes=notes)
    model = notes.model if notes else ""
    return Reading(
        body=Message(role=role, parts=tuple(parts), model=model), at=noted.at, notes=notes
    )


def _entry_parts(fields: Fields) -> list[Part]:
    text, content, files = fields.get("text"), fields.get("content"), fields.get("files")
    parts: list[Part] = [Text(text=text)] if isinstance(text, str) and text else []
    for item in content if isinstance(content, list) else []:
        found = _parts(item, word(item.get("type"))) if isinstance(item, dict) else []
        parts += found or [Data(label="content", value=item)]
    for file in files if isinstance(files, list) else []:
        parts.append(_picture(file) if isinstance(file, dict) else Data(label="file", value=file))
    return parts


def _other(fields: Fields, _: str) -> Reading:
    return Reading(body=json_lines.record(fields, QUIET), at=_created(fields))


READERS: dict[str, Callable[[Fields, str], Reading]] = {
    "session": _session,
    "message": _message,
    "part": _part,
    "entry": _entry,
    "other": _other,
}

LINES = line_format("opencode", AGENT, is_lines, read)
FILE = Format(
    name="opencode-file", agent=AGENT, recognises=is_file, read=read_file, cut=lambda _: [0]
)
