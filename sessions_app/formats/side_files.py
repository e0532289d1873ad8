"""Files beside a Claude Code log: outputs too large for the transcript, descriptions of subagents.

Evidence: docs/formats/side_files.md.
"""

import re

from sessions_app.domain.events import Message, Reading, Record, Role, ToolResult, Unreadable
from sessions_app.formats import json_lines
from sessions_app.formats.shape import PARSE_LIMIT, Format, Head

# Where a line says that it holds only the beginning of an output. Windows' separators are escaped.
NAMED = re.compile(rb"[/\\]tool-results(?:/|\\\\)([A-Za-z0-9_.-]{1,120})")
MOST_NAMED = 20


def named_in(line: bytes) -> list[str]:
    """The outputs that a line leaves to files of their own."""
    if b"persisted" not in line:
        return []
    found = dict.fromkeys(match[1].decode().rstrip(".") for match in NAMED.finditer(line))
    return list(found)[:MOST_NAMED]


def _is_description(head: Head) -> bool:
    fields = None if head.is_lines else json_lines.parse(head.raw.strip())
    return (
        isinstance(fields, dict)
        and isinstance(fields.get("agentType"), str)
        and "type" not in fields
        and len(fields) < 20
    )


def _description(raw: bytes) -> Reading:
    fields = json_lines.parse(raw)
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    return Reading(body=Record(label="subagent", fields=fields))


def _output(raw: bytes) -> Reading:
    if len(raw) > PARSE_LIMIT:
        return Reading(body=Unreadable(reason="too long to be shown as a whole"))
    text = raw.decode("utf-8", "replace")
    result = ToolResult(call_id="", text=text, is_error=False)
    return Reading(body=Message(role=Role.TOOL, parts=(result,)))


def _whole(_: bytes) -> list[int]:
    return [0]


DESCRIPTION = Format(
    name="claude-code-subagent",
    agent="claude-code",
    recognises=_is_description,
    read=_description,
    cut=_whole,
    is_side=True,
)
# Any text at all: chosen by the folder the transcript points to, because nothing in it tells.
OUTPUT = Format(
    name="claude-code-output",
    agent="claude-code",
    recognises=lambda _: False,
    read=_output,
    cut=_whole,
    is_side=True,
)
