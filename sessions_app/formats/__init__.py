"""One file per agent format: the only vendor words in the house. Bytes of a line in, a Reading out.

A format is chosen by content, never by name. Nothing here raises on hostile bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.events import Reading, Unreadable
from sessions_app.formats import claude_code, json_lines, plain

HEAD_LINES = 50
PARSE_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    name: str
    agent: str
    recognises: Callable[[list[dict[str, Any]]], bool]
    read: Callable[[dict[str, Any]], Reading]


UNKNOWN = Format(
    name="unknown", agent="unknown", recognises=lambda _: True, read=json_lines.reading
)
FORMATS = (
    Format(
        name=claude_code.NAME,
        agent=claude_code.AGENT,
        recognises=claude_code.recognises,
        read=claude_code.read,
    ),
    Format(name=plain.NAME, agent=plain.AGENT, recognises=plain.recognises, read=plain.read),
    UNKNOWN,
)
BY_NAME = {fmt.name: fmt for fmt in FORMATS}


def recognise(lines: Iterable[bytes]) -> Format:
    parsed = [json_lines.parse(line) for line in lines if len(line) <= PARSE_LIMIT]
    records = [record for record in parsed if isinstance(record, dict)]
    if not records:
        return UNKNOWN
    return next(fmt for fmt in FORMATS if fmt.recognises(records))


def read(fmt: Format, line: bytes) -> Reading:
    """Never raises: a line no adapter can read is a reading too."""
    fields = json_lines.parse(line)
    if isinstance(fields, Unreadable):
        return Reading(body=fields)
    return fmt.read(fields)
