"""What all line-by-line JSON formats share: bytes of a line → an object or the reason why not."""

from typing import Any

import orjson

from sessions_app.domain import jsontext, times
from sessions_app.domain.events import Reading, Record, Unreadable

LONGEST_WORD = 200
DEAREST = 1_000_000
BOM = b"\xef\xbb\xbf"
CAREFUL_BYTES = 1024 * 1024
MOST_VALUES = 1_000_000

text = jsontext.laid_out


def parse(line: bytes) -> dict[str, Any] | Unreadable:
    """orjson refuses depth over 1024, NaN, lone surrogates and invalid UTF-8: all of that is data
    about the line, not an error of the reader."""
    if line.startswith(BOM):
        line = line[3:]
    if len(line) > CAREFUL_BYTES and _values_in(line) > MOST_VALUES:
        return Unreadable(reason=f"more than {MOST_VALUES:,} values: kept, not interpreted")
    try:
        value = orjson.loads(line)
    except ValueError as error:
        return Unreadable(reason=_reason(line, error))
    if isinstance(value, dict):
        return value
    return Unreadable(reason=f"JSON, but a {_name(value)} and not an object")


def _values_in(line: bytes) -> int:
    """At least as many as there are. Each takes up to a hundred times its two bytes once parsed,
    so that a line of a few megabytes could fill the memory of a worker."""
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def _reason(line: bytes, error: ValueError) -> str:
    if not line.strip():
        return "blank line"
    try:
        line.decode()
    except UnicodeDecodeError:
        return "not UTF-8 text"
    # Only the position: orjson's message would repeat nothing of the line, but its prefix may.
    position = getattr(error, "pos", None)
    return "not JSON" if position is None else f"not JSON from character {position}"


def _name(value: object) -> str:
    return {list: "list", str: "string", bool: "boolean", type(None): "null"}.get(
        type(value), "number"
    )


def inner(value: object) -> object:
    """JSON that travels as a string inside JSON, as tool arguments often do."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def word(value: object) -> str:
    """A short label from a hostile field: anything but a string is no label."""
    return value[:LONGEST_WORD] if isinstance(value, str) else ""


def count(value: object) -> int:
    """A counter from a hostile field: nothing negative, nothing that is not a number."""
    return value if type(value) is int and value > 0 else 0


def picodollars(dollars: object) -> int | None:
    """What a log says an answer cost, if that is a plausible price."""
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    return round(dollars * 1e12) if 0 <= dollars < DEAREST else None


def inside(fields: object, *names: str) -> object:
    """A value some objects deep, or None."""
    for name in names:
        fields = fields.get(name) if isinstance(fields, dict) else None
    return fields


def record(fields: dict[str, Any], quiet: frozenset[str] = frozenset()) -> Record:
    return Record(label=word(fields.get("type")) or "record", fields=fields, quiet=quiet)


def reading(fields: dict[str, Any]) -> Reading:
    return Reading(body=record(fields), at=times.found_in(fields))
