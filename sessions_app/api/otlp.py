"""`POST /v1/traces`: where exporters of OpenTelemetry send their spans.

Answers are those the protocol asks for, in the encoding of the request.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sessions_app.api import budget
from sessions_app.api.tokens import bearer
from sessions_app.domain.errors import (
    KeyUnavailable,
    Later,
    RecountError,
    Refused,
    TooLarge,
    Unauthorized,
)
from sessions_app.ingest import otlp, spans
from sessions_app.store import trouble

log = logging.getLogger("recount.otlp")

LATER_SECONDS = 10
NOT_STORED = "The database refused them: see the server's log."
REJECTED = "spans without a valid trace id and span id, or nested too deeply, are not kept"
PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Encoding(NamedTuple):
    media_type: str
    read: Callable[[bytes], list[dict[str, Any]]]
    accepted: Callable[[int], bytes]
    trouble: Callable[[str], bytes]


def _accepted(rejected: int) -> bytes:
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = REJECTED
    return bytes(answer.SerializeToString())


def _accepted_json(rejected: int) -> bytes:
    if not rejected:
        return b"{}"
    told = {"rejectedSpans": str(rejected), "errorMessage": REJECTED}
    return orjson.dumps({"partialSuccess": told})


def _trouble(message: str) -> bytes:
    """A `google.rpc.Status` with its second field, the message, of which there is no class here."""
    text = message.encode()[:120]
    return bytes([0x12, len(text)]) + text


def _trouble_json(message: str) -> bytes:
    return orjson.dumps({"message": message})


ENCODINGS = {
    PROTOBUF: Encoding(PROTOBUF, otlp.from_protobuf, _accepted, _trouble),
    JSON: Encoding(JSON, otlp.from_json, _accepted_json, _trouble_json),
}


@csrf_exempt
def traces(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    encoding = ENCODINGS.get((request.content_type or "").lower())
    try:
        rejected = _take(request, encoding)
    except RecountError as error:
        return _refused(encoding or ENCODINGS[JSON], error)
    except Error as error:
        # Not with its text: the database may quote what it was given.
        log.warning("spans were not stored: %s", type(error).__name__)
        told = trouble.told(error) or Later(NOT_STORED, seconds=LATER_SECONDS)
        return _refused(encoding or ENCODINGS[JSON], told)
    known = encoding or ENCODINGS[JSON]
    return HttpResponse(known.accepted(rejected), content_type=known.media_type)


def _take(request: HttpRequest, encoding: Encoding | None) -> int:
    token = bearer(request)
    if encoding is None:
        raise _Unsupported(f"Send {PROTOBUF} or {JSON}.")
    budget.check(token)
    body = _body(request)
    budget.spend(token, len(body))
    return spans.request(token.workspace_id, body, encoding.read, now=timezone.now())


def _body(request: HttpRequest) -> bytes:
    packed = request.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip"):
        raise _Unsupported("Send the body as it is, or with gzip.")
    body = request.read(otlp.MOST_BYTES + 1)
    if len(body) > otlp.MOST_BYTES:
        raise TooLarge(otlp.TOO_LARGE)
    return otlp.unpacked(body) if packed == "gzip" else body


class _Unsupported(RecountError):
    status = 415


def _refused(encoding: Encoding, error: RecountError) -> HttpResponse:
    """What a retry can mend says when; everything else would be sent again in vain."""
    if isinstance(error, Later):
        return _answer(encoding, 429 if error.status == 429 else 503, error.message, error.seconds)
    if isinstance(error, Refused | KeyUnavailable):
        return _answer(encoding, 503, error.message, LATER_SECONDS)
    answer = _answer(encoding, error.status, error.message)
    if isinstance(error, Unauthorized):
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _answer(encoding: Encoding, status: int, message: str, seconds: int = 0) -> HttpResponse:
    body = encoding.trouble(message)
    answer = HttpResponse(body, status=status, content_type=encoding.media_type)
    if seconds:
        answer["Retry-After"] = str(seconds)
    return answer
