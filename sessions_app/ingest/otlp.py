"""Export requests of OpenTelemetry, as bytes, into spans in the form they are stored in."""

import base64
import math
import zlib
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.domain.events import Unreadable
from sessions_app.formats import json_lines, otlp

MOST_BYTES = 20 * 1024 * 1024
# Two bytes on the wire can become an object of hundreds: what is counted is values.
MOST_VALUES = 500_000
TOO_LARGE = (
    f"A request takes {MOST_BYTES // 2**20} MiB at the most, unpacked: send smaller batches."
)


def unpacked(body: bytes) -> bytes:
    """Of a gzip stream no more than is taken anyhow."""
    stream = zlib.decompressobj(wbits=31)
    try:
        data = stream.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise BadInput("The body is not gzip.") from None
    if len(data) > MOST_BYTES:
        raise TooLarge(TOO_LARGE)
    if not stream.eof or stream.unused_data:
        raise BadInput("The gzip body is cut off, or something follows it.")
    return data


def from_json(body: bytes) -> list[dict[str, Any]]:
    export = json_lines.parse(body)
    if isinstance(export, Unreadable):
        raise BadInput(f"The body is not an export request: {export.reason}.")
    if not isinstance(export.get("resourceSpans", []), list):
        raise BadInput("The body is not an export request: resourceSpans is not a list.")
    return list(otlp.spans(export))


def from_protobuf(body: bytes) -> list[dict[str, Any]]:
    try:
        export = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise BadInput("The body is not an ExportTraceServiceRequest.") from None
    return list(_spans(export, _Values()))


class _Values:
    """Attributes without their wrappers, as many as are taken."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def one(self, value: AnyValue) -> object:
        self._spend()
        kind = value.WhichOneof("value")
        if kind == "array_value":
            return [self.one(item) for item in value.array_value.values]
        if kind == "kvlist_value":
            return self.pairs(value.kvlist_value.values)
        if kind == "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        if kind == "double_value" and not math.isfinite(value.double_value):
            return str(value.double_value)
        return getattr(value, kind) if kind else None

    def pairs(self, pairs: Any) -> dict[str, object]:
        return {pair.key: self.one(pair.value) for pair in self.each(pairs)}

    def each(self, items: Any) -> Iterator[Any]:
        for item in items:
            self._spend()
            yield item

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooLarge(f"A request takes {MOST_VALUES:,} values at the most.")


def _spans(export: ExportTraceServiceRequest, values: _Values) -> Iterator[dict[str, Any]]:
    for group in values.each(export.resource_spans):
        resource = values.pairs(group.resource.attributes)
        for scoped in values.each(group.scope_spans):
            scope = {"name": scoped.scope.name, "version": scoped.scope.version}
            for span in values.each(scoped.spans):
                yield otlp.line(resource, scope, _span(span, values))


def _span(span: Span, values: _Values) -> dict[str, Any]:
    fields = {
        "traceId": otlp.hex_id(span.trace_id.hex(), 16),
        "spanId": otlp.hex_id(span.span_id.hex(), 8),
        "parentSpanId": otlp.hex_id(span.parent_span_id.hex(), 8),
        "traceState": span.trace_state,
        "flags": span.flags,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "status": _status(span),
    }
    out: dict[str, Any] = {key: value for key, value in fields.items() if value}
    out["attributes"] = values.pairs(span.attributes)
    if events := [_event(each, values) for each in values.each(span.events)]:
        out["events"] = events
    if links := [_link(each, values) for each in values.each(span.links)]:
        out["links"] = links
    return out


def _status(span: Span) -> dict[str, Any]:
    told = {"code": span.status.code, "message": span.status.message}
    return {key: value for key, value in told.items() if value}


def _event(event: Any, values: _Values) -> dict[str, Any]:
    return {
        "timeUnixNano": str(event.time_unix_nano),
        "name": event.name,
        "attributes": values.pairs(event.attributes),
    }


def _link(link: Any, values: _Values) -> dict[str, Any]:
    return {
        "traceId": link.trace_id.hex(),
        "spanId": link.span_id.hex(),
        "attributes": values.pairs(link.attributes),
    }
