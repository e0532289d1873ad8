"""Logs from other machines, with a token: deliveries, their receipts, and where to go on."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, cast
from urllib.parse import parse_qs, unquote_to_bytes
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja import Header, Query, Router, Schema
from pydantic import Field

from sessions_app.api import budget
from sessions_app.api.answers import Trouble
from sessions_app.api.bodies import Body, received
from sessions_app.api.tokens import MachineToken
from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.ingest import deliveries
from sessions_app.ingest.receipts import Delivery, stage, take
from sessions_app.models import IngestToken, Receipt
from sessions_app.models.arrivals import ReceiptState
from sessions_app.store import receipts
from sessions_app.store.sources import Fingerprints
from sessions_app.tasks import announce

router = Router(tags=["ingest"], auth=MachineToken())

# What is taken in the request itself; more is staged and worked off by a job.
AT_ONCE = 8 * 1024 * 1024
# Requests that may do so at a time: the pages need the database too.
HANDS = threading.BoundedSemaphore(4)
LONGEST = {"machine": 255, "path": 4096, "project": 200}
LARGEST = 2**62
SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")

Offset = Annotated[int, Field(ge=0, le=LARGEST)]
Generation = Annotated[int, Field(ge=1, le=2**31 - 1)]


class ReceiptOut(Schema):
    id: UUID
    state: str
    message: str
    offset: int
    length: int
    lines: int
    unreadable: int
    session: UUID | None
    generation: int | None
    stored: int | None
    created_at: datetime
    done_at: datetime | None


class OutOfStepOut(Schema):
    error: str
    stored: int
    generation: int


class GenerationOut(Schema):
    generation: int
    stored: int


class OffsetOut(Schema):
    stored: int
    generation: int
    agrees: bool | None
    generations: list[GenerationOut]


class DeliveryHeaders(Schema):
    """Machine, path and project are percent-encoded UTF-8."""

    machine: str = Field(alias="X-Recount-Machine")
    path: str = Field(alias="X-Recount-Path")
    project: str = Field("", alias="X-Recount-Project")
    offset: Offset = Field(0, alias="X-Recount-Offset")
    generation: Generation | None = Field(None, alias="X-Recount-Generation")
    sha256: str = Field("", alias="X-Recount-Sha256")
    # Come upon below a folder: kept only if a format knows it.
    is_found: bool = Field(False, alias="X-Recount-Found")
    name: str = Field("", alias="Idempotency-Key")


REFUSALS = {
    400: Trouble,
    401: Trouble,
    409: OutOfStepOut,
    413: Trouble,
    422: Trouble,
    429: Trouble,
    503: Trouble,
    507: Trouble,
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/x-ndjson": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/ingest", response={200: ReceiptOut, 202: ReceiptOut, **REFUSALS}, openapi_extra=BODY)
def deliver(
    request: HttpRequest, headers: Header[DeliveryHeaders]
) -> tuple[int, dict[str, object]]:
    """Lines of one source from a byte offset on. Answers 200 when they are stored, 202 when they
    are staged and the receipt tells later what became of them."""
    token = _token(request)
    budget.check(token)
    _not_too_large(request)
    with received(request, _hex(headers.sha256)) as body:
        budget.spend(token, body.length)
        receipt = _accepted(_delivery(token, headers, body), body)
    return (202 if receipt.state == ReceiptState.STAGED else 200), _told(receipt)


def _accepted(delivery: Delivery, body: Body) -> Receipt:
    with _a_free_hand(delivery.length) as is_free:
        taken = take(delivery, body.stream, now=timezone.now()) if is_free else None
    if taken is not None:
        return taken
    receipt = stage(delivery, body.stream)
    announce()
    return receipt


@contextmanager
def _a_free_hand(length: int) -> Iterator[bool]:
    if length > AT_ONCE or not HANDS.acquire(blocking=False):
        yield False
        return
    try:
        yield True
    finally:
        HANDS.release()


@router.get(
    "/ingest/receipts/{receipt_id}",
    response={200: ReceiptOut, 401: Trouble, 404: Trouble, 429: Trouble},
)
def get_receipt(request: HttpRequest, receipt_id: UUID) -> dict[str, object]:
    """What became of a delivery of this token's workspace."""
    token = _token(request)
    budget.check(token)
    budget.spend(token, 0)
    return _told(receipts.receipt_for(token.workspace_id, receipt_id))


@router.get("/ingest/offset", response={200: OffsetOut, 400: Trouble, 401: Trouble, 429: Trouble})
def get_offset(
    request: HttpRequest,
    machine: str,  # noqa: ARG001
    path: str,  # noqa: ARG001
    generation: Generation | None = None,
    sha256: Annotated[str, Query(description="of the last 4096 stored bytes")] = "",
) -> dict[str, object]:
    """How many bytes of a source are stored. With `sha256`, whether the last 4096 of them, or all
    if there are fewer, have that hash: then the sender's file goes on from there."""
    token = _token(request)
    budget.check(token)
    budget.spend(token, 0)
    place = Fingerprints(token.workspace_id).of_place(
        _asked(request, "machine"), _asked(request, "path")
    )
    found = deliveries.stored(token.workspace_id, place)
    newest = found[0] if found else deliveries.Stored(generation=0, stored=0)
    wanted = generation or newest.generation
    digest = bytes.fromhex(_hex(sha256))
    workspace_id = token.workspace_id
    return {
        "stored": newest.stored,
        "generation": newest.generation,
        "agrees": deliveries.agrees(workspace_id, place, generation=wanted, digest=digest)
        if digest
        else None,
        "generations": [{"generation": each.generation, "stored": each.stored} for each in found],
    }


# What was sent ----------------------------------------------------------------------------------


def _token(request: HttpRequest) -> IngestToken:
    return cast(IngestToken, request.auth)  # type: ignore[attr-defined]


def _delivery(token: IngestToken, headers: DeliveryHeaders, body: Body) -> Delivery:
    return Delivery(
        workspace_id=token.workspace_id,
        token_id=token.id,
        machine=_text("machine", headers.machine),
        path=_text("path", headers.path),
        project=_text("project", headers.project, may_be_empty=True),
        offset=headers.offset,
        generation=headers.generation,
        is_wanted=not headers.is_found,
        name=headers.name[:200],
        sha256=body.sha256,
        length=body.length,
    )


def _text(name: str, encoded: str, *, may_be_empty: bool = False) -> str:
    """Bytes that are not UTF-8 stay what they are: a path may hold them."""
    raw = unquote_to_bytes(encoded.encode("latin-1", "replace"))
    return _bounded(name, raw.decode("utf-8", "surrogateescape"), may_be_empty=may_be_empty)


def _asked(request: HttpRequest, name: str) -> str:
    """The same in an address, of which Django would replace what is not UTF-8."""
    query = parse_qs(request.META["QUERY_STRING"], errors="surrogateescape", keep_blank_values=True)
    return _bounded(name, query.get(name, [""])[-1])


def _bounded(name: str, text: str, *, may_be_empty: bool = False) -> str:
    if "\0" in text or not (text or may_be_empty):
        raise BadInput(f"The {name} is missing or holds a NUL.")
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST[name]:
        raise BadInput(f"The {name} has {LONGEST[name]} bytes at the most.")
    return text


def _hex(text: str) -> str:
    if text and not SHA256.match(text):
        raise BadInput("A SHA-256 is 64 hexadecimal digits.")
    return text


def _told(receipt: Receipt) -> dict[str, object]:
    uid, generation, stored = receipts.session_end(receipt) or (None, None, None)
    state, message = receipts.outlook(receipt)
    return {
        **{name: getattr(receipt, name) for name in ("id", "offset", "length")},
        **{name: getattr(receipt, name) for name in ("lines", "unreadable")},
        "state": state,
        "message": message,
        "session": uid,
        "generation": generation,
        "stored": stored,
        "created_at": receipt.created_at,
        "done_at": receipt.done_at,
    }


# How much ---------------------------------------------------------------------------------------


def _not_too_large(request: HttpRequest) -> None:
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > settings.INGEST_BODY * 1024 * 1024:
        raise TooLarge(
            f"A delivery has {settings.INGEST_BODY} MB at the most: send less at a time."
        )
