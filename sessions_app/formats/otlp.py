"""OTLP as JSON into plain spans: attributes without their typed wrappers, ids as hex.

No format of its own: the endpoint stores such spans one a line, and `otel` reads both.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from sessions_app.formats import json_lines

# Values nested deeper than this are kept as they came.
DEEPEST = 32
SPAN_FIELDS = (
    *("traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind"),
    *("startTimeUnixNano", "endTimeUnixNano", "status"),
)
EMPTY_IDS = {"", "0" * 32, "0" * 16}


def spans(export: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans of one export request, in their order, each with what was said once for many."""
    for group in _dicts(export.get("resourceSpans")):
        resource = attributes(json_lines.inside(group, "resource", "attributes"))
        for scoped in _dicts(group.get("scopeSpans") or group.get("instrumentationLibrarySpans")):
            scope = scoped.get("scope")
            for span in _dicts(scoped.get("spans")):
                yield line(resource, scope if isinstance(scope, dict) else {}, _plain(span))


def line(resource: dict[str, Any], scope: dict[str, Any], span: dict[str, Any]) -> dict[str, Any]:
    """The form in which one span is stored."""
    named = {key: scope[key] for key in ("name", "version") if scope.get(key)}
    return {"otel": 1, "resource": resource, "scope": named, "span": span}


def _plain(span: dict[str, Any]) -> dict[str, Any]:
    out = {key: span[key] for key in SPAN_FIELDS if span.get(key) not in (None, "", {})}
    for key, size in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
        if key in out:
            out[key] = hex_id(out[key], size)
    out["attributes"] = attributes(span.get("attributes"))
    for key in ("events", "links"):
        if found := [_with_attributes(each) for each in _dicts(span.get(key))]:
            out[key] = found
    return out


def _with_attributes(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "attributes": attributes(fields.get("attributes"))}


def attributes(pairs: object) -> dict[str, Any]:
    """Of a key that comes twice the last value counts. A plain object is taken as it is."""
    if isinstance(pairs, dict):
        return pairs
    found = (pair for pair in _dicts(pairs) if isinstance(pair.get("key"), str))
    return {pair["key"]: value(pair.get("value")) for pair in found}


def value(wrapped: object, depth: int = 0) -> object:
    if not isinstance(wrapped, dict) or depth >= DEEPEST:
        return wrapped
    if "intValue" in wrapped:
        return _whole(wrapped["intValue"])
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in wrapped:
            return wrapped[name]
    if "arrayValue" in wrapped:
        items = json_lines.inside(wrapped, "arrayValue", "values")
        return [value(item, depth + 1) for item in items] if isinstance(items, list) else []
    if "kvlistValue" in wrapped:
        return _pairs(json_lines.inside(wrapped, "kvlistValue", "values"), depth + 1)
    return wrapped or None


def _pairs(pairs: object, depth: int) -> dict[str, object]:
    found = (pair for pair in _dicts(pairs) if isinstance(pair.get("key"), str))
    return {pair["key"]: value(pair.get("value"), depth) for pair in found}


def _whole(number: object) -> object:
    """64-bit numbers travel as text."""
    if not isinstance(number, str) or len(number) > 20:
        return number
    try:
        found = int(number)
    except ValueError:
        return number
    return found if -(2**63) <= found < 2**63 else number


def hex_id(text: object, size: int) -> str:
    """Hex, as OTLP wants it; base64, as a general writer of protobuf JSON makes it; or nothing."""
    if not isinstance(text, str) or len(text) > 4 * size:
        return ""
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * size else b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return ""
    found = raw.hex() if len(raw) == size else ""
    return "" if found in EMPTY_IDS else found


def _dicts(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
