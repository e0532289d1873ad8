"""What a format is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.events import Reading, Unreadable
from sessions_app.formats import json_lines

HEAD_BYTES = 256 * 1024
HEAD_LINES = 50
PARSE_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a source: its bytes, and the objects among its first lines."""

    raw: bytes
    records: list[dict[str, Any]]
    # The first line is an object by itself and others follow: as a whole they are none.
    is_lines: bool


def head_of(raw: bytes) -> Head:
    lines = raw[:HEAD_BYTES].split(b"\n", HEAD_LINES)[:HEAD_LINES]
    parsed = [json_lines.parse(line) for line in lines]
    records = [record for record in parsed if isinstance(record, dict)]
    is_lines = len(records) > 1 and records[0] is parsed[0]
    return Head(raw=raw[:HEAD_BYTES], records=records, is_lines=is_lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    name: str
    agent: str
    recognises: Callable[[Head], bool]
    # Bytes of one record, its line end perhaps included. Never raises.
    read: Callable[[bytes], Reading]
    # Where records begin, the first at 0, in rising order. None: one record a line.
    cut: Callable[[bytes], list[int]] | None = None
    # With `cut`: the source only ever grows at its end, so its last record may not be whole yet.
    # Without: a source that changed at all is a new generation.
    grows: bool = False
    # A file beside a log: kept and shown with its session, not listed as one.
    is_side: bool = False
    # Says of some records, by their bytes alone, that they hold nothing but results of tools: a
    # search that leaves results out need not read them.
    is_result: Callable[[bytes], bool] | None = None


def line_format(
    name: str,
    agent: str,
    recognises: Callable[[list[dict[str, Any]]], bool],
    read: Callable[[dict[str, Any]], Reading],
    *,
    is_result: Callable[[bytes], bool] | None = None,
) -> Format:
    """One JSON object a line."""

    def read_line(line: bytes) -> Reading:
        fields = json_lines.parse(line)
        if isinstance(fields, Unreadable):
            return Reading(body=fields)
        return read(fields)

    return Format(
        name=name,
        agent=agent,
        recognises=lambda head: bool(head.records) and recognises(head.records),
        read=read_line,
        is_result=is_result,
    )
