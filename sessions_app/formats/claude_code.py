"""Claude Code transcripts: `~/.claude/projects/<slug>/<session>.jsonl`, one record a line.

Messages are read; every other record type is kept and shown as a record under its own name, and
what it says about the session is noted.
Evidence: docs/formats/claude_code.md.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sessions_app.domain import times
from sessions_app.domain.events import (
    TITLE_OF_WHAT_WAS_SAID,
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
    Usage,
    says_something,
)
from sessions_app.formats import json_lines
from sessions_app.formats.shape import line_format

NAME = "claude-code"
AGENT = "claude-code"
SYNTHETIC = "<synthetic>"
LONGEST_ID = 100

SIGNS = {
    "summary": "leafUuid",
    "file-history-snapshot": "messageId",
    **dict.fromkeys(
        ("system", "progress", "attachment", "queue-operation", "custom-title", "ai-title"),
        "sessionId",
    ),
    **dict.fromkeys(
        ("agent-name", "last-prompt", "mode", "permission-mode", "pr-link", "frame-link"),
        "sessionId",
    ),
    **dict.fromkeys(("worktree-state", "bridge-session", "relocated"), "sessionId"),
}
PICTURES = {"image", "document"}
ENVELOPE = frozenset(
    {
        *("uuid", "parentUuid", "sessionId", "timestamp", "version", "userType", "requestId"),
        *("promptId", "toolUseID", "parentToolUseID", "messageId", "leafUuid", "agentId"),
        *("signature", "slug", "id", "tool_use_id", "backupTime", "usage", "logicalParentUuid"),
    }
)
# Text in a person's mouth that the program put there.
WRAPPERS = (
    *("<command-name>", "<command-message>", "<local-command-", "<task-notification>"),
    *("<system-reminder>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<ide_opened_file>"),
    *("<user-prompt-submit-hook>", "<ide_selection>", "Caveat: The messages below "),
)
INTERRUPTED = "[Request interrupted by user"
INJECTED = (*WRAPPERS, INTERRUPTED)
# Helpers of these names go through the session's own records again and add a question and an
# answer. The shared records are what ties them.
REPLAYS = ("acompact-", "aside_question-")
# Where a title stands, and whose word outranks whose.
TITLES = {
    "custom-title": ("customTitle", 3),
    "ai-title": ("aiTitle", 2),
    "summary": ("summary", TITLE_OF_WHAT_WAS_SAID),
}
BOUNDARIES = {"compact_boundary", "microcompact_boundary"}
ERRORS = {"api_error", "error", "api_refusal"}
# One record in sixteen, by its id, stands for its neighbours when copies are looked for.
SAMPLED = "0"

# As plain names and numbers: enum members cost more than reading the line.
_ASSISTANT, _SYSTEM, _USER = Role.ASSISTANT, Role.SYSTEM, Role.USER
_SIDECHAIN = Flag.SIDECHAIN.value
_COMPACTION = Flag.COMPACTION.value
_ERROR = Flag.ERROR.value
_INTERRUPTED = Flag.INTERRUPTED.value


def recognises(records: list[dict[str, Any]]) -> bool:
    return any(_is_sign(record) for record in records)


def _is_sign(record: dict[str, Any]) -> bool:
    if "systemPayload" in record:
        # A cousin with the same envelope, whose messages are made of other parts.
        return False
    kind = record.get("type")
    if kind == "user" or kind == "assistant":
        message = record.get("message")
        return "sessionId" in record and isinstance(message, dict) and "content" in message
    if kind == "system" and ("uuid" not in record or "message" in record):
        return False
    return isinstance(kind, str) and SIGNS.get(kind, "") in record


def read(record: dict[str, Any]) -> Reading:
    kind = record.get("type")
    kind = kind if isinstance(kind, str) else ""
    body = _body(record, kind)
    return Reading(
        body=body, at=times.read(record.get("timestamp")), notes=_notes(record, kind, body)
    )


def _body(record: dict[str, Any], kind: str) -> Body:
    message = record.get("message")
    if kind == "attachment":
        return _queued(record.get("attachment")) or _record(record, kind)
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return _record(record, kind)
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return _record(record, kind)
    parts: list[Part] = []
    for block in blocks:
        parts += _parts(block)
    role = _ASSISTANT if kind == "assistant" else _speaker(record, parts)
    return Message(
        role=role,
        parts=tuple(map(_set_apart, parts) if role is _USER else parts),
        model=json_lines.word(message.get("model")),
    )


def _queued(attached: object) -> Body | None:
    """What came in while the agent worked: a person's words, or a notice."""
    if not isinstance(attached, dict) or attached.get("type") != "queued_command":
        return None
    said = attached.get("prompt")
    blocks = said if isinstance(said, list) else [said] if isinstance(said, str) else []
    parts = [part for block in blocks for part in _parts(block)]
    if not parts:
        return None
    role = _speaker(attached, parts)
    kinds = attached.get("commandMode", "prompt"), json_lines.inside(attached, "origin", "kind")
    if kinds[0] != "prompt" or kinds[1] not in (None, "human"):
        role = _SYSTEM
    return Message(role=role, parts=tuple(map(_set_apart, parts) if role is _USER else parts))


def _record(record: dict[str, Any], kind: str) -> Record:
    """Named by what tells it from others of its type."""
    if kind == "system":
        more = record.get("subtype")
    elif kind in ("attachment", "progress"):
        inner = record.get("attachment" if kind == "attachment" else "data")
        more = inner.get("type") if isinstance(inner, dict) else None
    else:
        more = None
    label = f"{kind}: {json_lines.word(more)}" if isinstance(more, str) and more else kind
    return Record(label=label[: json_lines.LONGEST_WORD] or "record", fields=record, quiet=ENVELOPE)


def _speaker(record: dict[str, Any], parts: list[Part]) -> Role:
    """A person, or the program in their name. An editor puts what is open in it before what the
    person said."""
    if record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return _SYSTEM
    said = [part.text for part in parts if isinstance(part, Text) and says_something(part.text)]
    return _SYSTEM if said and all(map(_is_injected, said)) else _USER


def _is_injected(text: str) -> bool:
    return text[:200].lstrip()[:40].startswith(INJECTED)


def _set_apart(part: Part) -> Part:
    """What the program put beside a person's words is not said by them."""
    if isinstance(part, Text) and _is_injected(part.text):
        return Data(label="surroundings", value=part.text)
    return part


# What a record says about its session -----------------------------------------------------------


def _notes(record: dict[str, Any], kind: str, body: Body) -> Notes | None:
    if kind in TITLES:
        field, rank = TITLES[kind]
        return Notes(title=json_lines.word(record.get(field)), title_rank=rank)
    common = _common_of(record)
    flags, ties = _flags(record, kind, body), _ties(record)
    model = ""
    usage: tuple[Usage, ...] = ()
    if kind == "assistant" and isinstance(body, Message):
        model = "" if body.model == SYNTHETIC else body.model
        usage = _usage(record, body.model)
    if not (flags or ties or model or usage):
        return common
    # Spelled out: `replace` would take as long as reading the rest of the line.
    return Notes(
        usage=usage,
        ties=common.ties + ties if ties else common.ties,
        cwd=common.cwd,
        branch=common.branch,
        version=common.version,
        model=model,
        flags=common.flags | flags,
    )


def _common_of(record: dict[str, Any]) -> Notes:
    told = tuple(map(record.get, _COMMON))
    try:
        return _common(told)
    except TypeError:
        # A list or an object where a word belongs says nothing.
        return _common(tuple(each if isinstance(each, str | bool) else None for each in told))


_COMMON = ("sessionId", "agentId", "isSidechain", "cwd", "gitBranch", "version")


@lru_cache(maxsize=1024)
def _common(told: tuple[object, ...]) -> Notes:
    """Most records of a session agree in all of this: they share one object."""
    session, agent, is_side, cwd, branch, version = told
    ties: tuple[Tie, ...] = ()
    own, helper = json_lines.word(session), json_lines.word(agent)
    if is_side is True and helper:
        ties = (Tie(TieKind.SELF, f"agent:{helper}"),)
        if own and not helper.startswith(REPLAYS):
            ties += (Tie(TieKind.SUBAGENT_OF, own),)
    elif own:
        ties = (Tie(TieKind.SELF, own),)
    return Notes(
        ties=ties,
        cwd=json_lines.word(cwd),
        branch=json_lines.word(branch),
        version=json_lines.word(version),
        flags=_SIDECHAIN if is_side is True else 0,
    )


def _flags(record: dict[str, Any], kind: str, body: Body) -> int:
    if kind == "system":
        subtype = json_lines.word(record.get("subtype"))
        return _COMPACTION * (subtype in BOUNDARIES) | _ERROR * (subtype in ERRORS)
    if kind == "assistant":
        return _ERROR if record.get("isApiErrorMessage") is True else 0
    if type(body) is Message and body.role is _SYSTEM and _is_interrupted(body):
        return _INTERRUPTED
    return _COMPACTION if record.get("isCompactSummary") is True else 0


def _is_interrupted(body: Message) -> bool:
    first = next((part.text for part in body.parts if isinstance(part, Text)), "")
    return first.lstrip()[:40].startswith(INTERRUPTED)


def _ties(record: dict[str, Any]) -> tuple[Tie, ...]:
    out: tuple[Tie, ...] = ()
    uuid = record.get("uuid")
    if isinstance(uuid, str) and uuid and (uuid[-1] == SAMPLED or record.get("parentUuid") is None):
        out = (Tie(TieKind.RECORD, uuid[:LONGEST_ID]),)
    result = record.get("toolUseResult")
    if isinstance(result, dict):
        agent = json_lines.word(result.get("agentId"))
        if agent:
            out += (Tie(TieKind.STARTED, f"agent:{agent}"),)
    return out


def _usage(record: dict[str, Any], model: str) -> tuple[Usage, ...]:
    """One message of the provider is written as one record per block, each with the usage so far:
    the same ids make them one."""
    message = record["message"]
    usage = message.get("usage")
    if not isinstance(usage, dict) or model == SYNTHETIC:
        return ()
    own = json_lines.word(message.get("id"))
    key = f"{own} {json_lines.word(record.get('requestId'))}" if own else ""
    kept = usage.get("cache_creation")
    hour = kept.get("ephemeral_1h_input_tokens") if isinstance(kept, dict) else 0
    number = json_lines.count
    return (
        Usage(
            key=key,
            model=model,
            provider="anthropic" if model.startswith("claude") else "",
            input=number(usage.get("input_tokens")),
            output=number(usage.get("output_tokens")),
            cache_read=number(usage.get("cache_read_input_tokens")),
            cache_write=number(usage.get("cache_creation_input_tokens")),
            cache_write_1h=number(hour),
        ),
    )


# Blocks of a message -----------------------------------------------------------------------------


def _parts(block: object) -> list[Part]:
    """Most blocks are one part; a tool's result may bring pictures along."""
    if isinstance(block, dict):
        kind = block.get("type")
        return READERS.get(kind, _data)(block) if isinstance(kind, str) else _data(block)
    if isinstance(block, str):
        return [Text(text=block)] if block else []
    return [Data(label="content", value=block)]


def _data(block: dict[str, Any]) -> list[Part]:
    return [Data(label=json_lines.word(block.get("type")) or "content", value=block)]


def _text(block: dict[str, Any]) -> list[Part]:
    text = block.get("text")
    return [Text(text=text)] if isinstance(text, str) else _data(block)


def _thinking(block: dict[str, Any]) -> list[Part]:
    """Its text may be empty: then only a signature was kept."""
    text = block.get("thinking")
    if not isinstance(text, str):
        return _data(block)
    return [Thinking(text=text)] if text else []


def _call(block: dict[str, Any]) -> list[Part]:
    name = block.get("name")
    if not isinstance(name, str) or "input" not in block:
        return _data(block)
    call_id = json_lines.word(block.get("id"))
    return [ToolCall(name=json_lines.word(name), call_id=call_id, arguments=block["input"])]


def _picture_alone(block: dict[str, Any]) -> list[Part]:
    return [_picture(block)]


def _result(block: dict[str, Any]) -> list[Part]:
    content = block.get("content")
    items = content if isinstance(content, list) else [content]
    texts = [_text_of(item) for item in items]
    found = [item for item in items if isinstance(item, dict) and _is_picture(item)]
    pictures = [_picture(item) for item in found]
    return [
        ToolResult(
            call_id=json_lines.word(block.get("tool_use_id")),
            text="\n".join(text for text in texts if text),
            is_error=block.get("is_error") is True,
        ),
        *pictures,
    ]


def _text_of(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and _is_picture(item):
        return ""
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return str(item["text"])
    return "" if item is None else json_lines.text(item)


def _is_picture(block: dict[str, Any]) -> bool:
    return json_lines.word(block.get("type")) in PICTURES


def _picture(block: dict[str, Any]) -> Picture:
    source = block.get("source")
    if not isinstance(source, dict):
        return Picture(media_type=json_lines.word(block.get("type")), size=0)
    data = source.get("data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return Picture(media_type=json_lines.word(source.get("media_type")), size=size)


READERS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "server_tool_use": _call,
    "tool_result": _result,
    "image": _picture_alone,
    "document": _picture_alone,
}


def is_result(line: bytes) -> bool:
    """A quotation mark inside a text is always escaped, so these signs are the line's own. Whatever
    could be meant otherwise (keys that are escaped or come twice) is left to the reader."""
    if b'"tool_result"' not in line:
        return False
    end = line.find(b'"toolUseResult":')
    end = len(line) if end < 0 else end
    if line.find(b"\\u00", 0, end) >= 0 or line.find(b'"message"', end) >= 0:
        return False
    results = line.count(b'"type":"tool_result"', 0, end)
    others = line.count(b'"type"', 0, end) - line.count(b'"type":"user"', 0, end)
    return 0 < results == others


FORMAT = line_format(NAME, AGENT, recognises, read, is_result=is_result)
