"""JSON documents that are one long list of records: where the records begin, and one read alone.

A document is a list, or an object with a list under a known name. It falls into a header up to and
with the `[`, a slice for each element with the comma behind it, and a trailer from the `]` on.
Brackets are counted by a scanner that skips strings; whether it is JSON shows when a slice is read.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from sessions_app.domain.events import Unreadable
from sessions_app.formats import json_lines
from sessions_app.formats.json_lines import BOM

# Each bracket outside a string is a step of the scanner.
MOST_BRACKETS = 8_000_000
STRING = rb'"(?:[^"\\]++|\\.)*+"'
NEXT_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + STRING + rb")*+([\[\]{}])", re.DOTALL)
NEXT_SIGN = re.compile(rb'(?:[^"\[\]{},]++|' + STRING + rb")*+([\[\]{},])", re.DOTALL)
NEXT_KEY = re.compile(rb"[\s,]*+(" + STRING + rb")\s*+:\s*+", re.DOTALL)
FIRST_SIGN = re.compile(rb"\s*+([\[{])")


class Place(Enum):
    HEADER = "header"
    ELEMENT = "element"
    TRAILER = "trailer"


class Slice(NamedTuple):
    place: Place
    fields: dict[str, Any] | Unreadable


def cut(raw: bytes, *names: str) -> list[int]:
    """Where the records begin: those of the list itself, or of the first list in the object that
    has one of these names. Anything else is one record."""
    if raw.count(b"[") + raw.count(b"{") > MOST_BRACKETS:
        return [0]
    first = _list_at(raw, names)
    starts = None if first is None else _elements(raw, first)
    return [0] if starts is None else sorted({0, *starts} - {len(raw)})


def read(piece: bytes) -> Slice:
    """A slice, its brackets made whole."""
    text = piece.removeprefix(BOM).strip()
    if text.startswith(b"]"):
        rest = text[1:].lstrip()
        return Slice(Place.TRAILER, _fields(b"{" + rest.removeprefix(b",") if rest else b"{}"))
    if text == b"[":
        return Slice(Place.HEADER, {})
    if text.endswith(b"["):
        return Slice(Place.HEADER, _fields(text + b"]}"))
    return Slice(Place.ELEMENT, _fields(text.removesuffix(b",")))


def _fields(text: bytes) -> dict[str, Any] | Unreadable:
    return json_lines.parse(text)


def keys(raw: bytes) -> set[str]:
    """Names at the top of an object, as far as these bytes go."""
    return {key for key, _ in _entries(raw)}


def first(raw: bytes, *names: str) -> dict[str, Any] | None:
    """The first element of the list, if these bytes hold it whole."""
    at = _list_at(raw, names)
    end = None if at is None else _end_of_element(raw, at)
    fields = None if end is None else read(raw[at:end]).fields
    return fields if isinstance(fields, dict) else None


def _list_at(raw: bytes, names: tuple[str, ...]) -> int | None:
    """Just behind the `[`."""
    top = FIRST_SIGN.match(raw, len(BOM) if raw.startswith(BOM) else 0)
    if top and top[1] == b"[":
        return top.end()
    found = (at for key, at in _entries(raw) if key in names and raw[at : at + 1] == b"[")
    return next((at + 1 for at in found), None)


def _entries(raw: bytes) -> Iterator[tuple[str, int]]:
    """Names at the top of an object and where their values begin."""
    top = FIRST_SIGN.match(raw, len(BOM) if raw.startswith(BOM) else 0)
    at = top.end() if top and top[1] == b"{" else None
    while at is not None and (key := NEXT_KEY.match(raw, at)):
        yield key[1][1:-1].decode("utf-8", "replace"), key.end()
        at = _after_value(raw, key.end())


def _after_value(raw: bytes, at: int) -> int | None:
    """At the comma behind a value, or None at the end of the object."""
    sign = NEXT_SIGN.match(raw, at)
    if sign and sign[1] in (b"[", b"{"):
        end = _closed(raw, sign.end())
        sign = None if end is None else NEXT_SIGN.match(raw, end)
    return sign.start(1) if sign and sign[1] == b"," else None


def _closed(raw: bytes, at: int) -> int | None:
    """Behind the bracket that closes the one before `at`; counted, never by recursion."""
    depth = 1
    while sign := NEXT_BRACKET.match(raw, at):
        at = sign.end()
        depth += 1 if sign[1] in (b"[", b"{") else -1
        if not depth:
            return at
    return None


def _end_of_element(raw: bytes, at: int) -> int | None:
    """Behind the comma of the element that begins at `at`, or at the `]` of the list."""
    while sign := NEXT_SIGN.match(raw, at):
        if sign[1] == b",":
            return sign.end()
        if sign[1] in (b"]", b"}"):
            return sign.start(1)
        end = _closed(raw, sign.end())
        if end is None:
            return None
        at = end
    return None


def _elements(raw: bytes, at: int) -> list[int] | None:
    """Where elements begin, and the `]`; None if the list is never closed."""
    starts: list[int] = []
    while True:
        end = _end_of_element(raw, at)
        if end is None:
            return None
        is_last = raw[end - 1 : end] != b"," or raw[end : end + 1] in (b"]", b"}")
        if not is_last or raw[at:end].strip():
            starts.append(at)
        if is_last:
            return [*starts, end]
        at = end
