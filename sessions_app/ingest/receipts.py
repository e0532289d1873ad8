"""A delivery on its way in: taken at once, or staged and worked off by a job."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, BinaryIO
from uuid import UUID, uuid4

from django.conf import settings
from django.db import OperationalError, transaction
from psycopg.errors import DiskFull

from sessions_app.domain.errors import (
    BadInput,
    IntegrityError,
    NoRoom,
    NotFound,
    RecountError,
    Refused,
    TooMuch,
)
from sessions_app.ingest import deliveries, notices
from sessions_app.models import Job, Receipt
from sessions_app.models.arrivals import ReceiptState
from sessions_app.store import findings, jobs, receipts, staging
from sessions_app.store.receipts import JOB, Claim
from sessions_app.store.sources import Fingerprints

log = logging.getLogger("recount.ingest")

FULL_OF_ASIDE = (
    "Deliveries that were put aside fill the staging folder: an admin must retry or discard them "
    "on the page Jobs."
)
GONE = "Its bytes are gone from the staging folder: send them again."
NO_ROOM = "The server's disk is full. The bytes of this delivery are kept: make room."
# A job is announced by the sweep of jobs; this long after, something else went wrong.
FORGOTTEN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    workspace_id: UUID
    token_id: UUID
    machine: str
    path: str
    project: str
    offset: int
    generation: int | None
    # What the sender calls it; empty: the bytes and their place say it.
    name: str
    sha256: bytes
    length: int
    # Kept even if no format knows it.
    is_wanted: bool = True

    def claim(self) -> Claim:
        marks = Fingerprints(self.workspace_id)
        place_key = marks.of_place(self.machine, self.path)
        said = f"{place_key.hex()} {self.generation} {self.offset} {self.sha256.hex()}"
        return Claim(
            workspace_id=self.workspace_id,
            token_id=self.token_id,
            idempotency=marks.of_delivery(f"named {self.name}" if self.name else said),
            place_key=place_key,
            body_key=marks.of_body(self.sha256),
            offset=self.offset,
            length=self.length,
        )

    def about(self) -> dict[str, object]:
        return {
            "machine": self.machine,
            "path": self.path,
            "project": self.project,
            "offset": self.offset,
            "generation": self.generation,
            "is_wanted": self.is_wanted,
        }


@contextmanager
def room_in_database() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, DiskFull):
            raise
        raise staging.no_room() from None


def take(delivery: Delivery, body: BinaryIO, *, now: datetime) -> Receipt | None:
    """At once, in one transaction: either the bytes are stored and the receipt says so, or there
    is neither. Nothing for a delivery that was cut off before: if it kills whoever reads it, that
    shall be a worker, whose job can be put aside, and not the web server again."""
    claim = delivery.claim()
    with staging.attempt(claim.idempotency) as is_first:
        return _take(delivery, claim, body, now) if is_first else None


def _take(delivery: Delivery, claim: Claim, body: BinaryIO, now: datetime) -> Receipt:
    with room_in_database(), transaction.atomic():
        receipt, is_ours = receipts.claimed(claim, uuid4())
        if not is_ours:
            return receipt
        return _append(receipt, delivery.about(), body, now)


def _append(receipt: Receipt, about: dict[str, Any], body: BinaryIO, now: datetime) -> Receipt:
    result = deliveries.append(receipt.workspace_id, data=body, now=now, **about)
    found = notices.elsewhere(result, about["machine"])
    findings.raised(receipt.workspace_id, found, now=now)
    return receipts.taken(
        receipt,
        uid=result.uid,
        lines=result.lines,
        unreadable=result.unreadable,
        message=result.message,
        now=now,
    )


def stage(delivery: Delivery, body: BinaryIO) -> Receipt:
    """On disk, sealed; a job takes it from there. The row and the job are written together, after
    the file: a row always has its bytes, and a file without a row is swept."""
    claim = delivery.claim()
    known = receipts.find(claim)
    if known is not None and known.state != ReceiptState.REFUSED:
        return known
    _within_limit(delivery.length)
    receipt_id = known.id if known else uuid4()
    staging.write(delivery.workspace_id, receipt_id, delivery.about(), body)
    with room_in_database(), transaction.atomic():
        receipt, is_ours = receipts.claimed(claim, receipt_id)
        if is_ours:
            _enqueue(receipt)
    if receipt.id != receipt_id:
        staging.remove(receipt_id)
    return receipt


def _within_limit(length: int) -> None:
    """What was put aside waits for a person and may take as much again, or it would stop all that
    is not."""
    limit = settings.STAGING_LIMIT * 1024 * 1024
    waiting, aside = receipts.waiting_bytes()
    if aside > limit:
        raise TooMuch(FULL_OF_ASIDE, seconds=600)
    if waiting + length > limit:
        raise TooMuch("Too many deliveries wait to be taken in: send this again.", seconds=30)


def discard(job: Job, *, now: datetime) -> None:
    """Give up a delivery that was put aside. The file goes last: a row always has its bytes."""
    with transaction.atomic():
        receipt = receipts.discard(job, now) if job.kind == JOB else None
        if receipt is None or not jobs.given_up(job):
            raise Refused("Only a delivery that was put aside can be discarded.")
    staging.remove(receipt.id)


def _enqueue(receipt: Receipt) -> None:
    arguments: dict[str, object] = {"receipt": str(receipt.id)}
    jobs.add(JOB, workspace_id=receipt.workspace_id, user=None, arguments=arguments)


def work_off(receipt_id: UUID, *, now: datetime) -> str:
    """What the job does. May be called again at any point of an earlier call that was cut off."""
    receipt = receipts.by_id(receipt_id)
    if receipt is None:
        return "Its receipt is gone."
    if receipt.state == ReceiptState.STAGED:
        try:
            _take_staged(receipt, now)
        except FileNotFoundError:
            log.error("receipt %s: its staged bytes are gone", receipt_id)
            receipts.refused(receipt, GONE, now)
        except NoRoom as error:
            raise NoRoom(NO_ROOM, seconds=error.seconds) from None
        except (Refused, BadInput, NotFound, IntegrityError) as error:
            _log_damage(receipt_id, error)
            receipts.refused(receipt, error.message, now)
    staging.remove(receipt_id)
    receipt.refresh_from_db()
    return f"{receipt.lines:,} lines" if receipt.state == ReceiptState.TAKEN else receipt.message


def _log_damage(receipt_id: UUID, error: RecountError) -> None:
    if isinstance(error, IntegrityError):
        log.error("receipt %s: what was stored is damaged", receipt_id)


def _take_staged(receipt: Receipt, now: datetime) -> None:
    with (
        staging.opened(receipt.workspace_id, receipt.id) as (about, body),
        room_in_database(),
        transaction.atomic(),
    ):
        _append(receipt, about, body, now)


def sweep(now: datetime) -> int:
    """What a full disk or a crash left undone is tried again; what is over is cleared away."""
    found = receipts.forgotten(now - FORGOTTEN)
    for receipt in found:
        failed = receipts.failed_job(receipt)
        if failed is None:
            _enqueue(receipt)
        else:
            jobs.again(failed)
    receipts.prune(now - receipts.KEPT)
    staging.sweep(receipts.waiting())
    return len(found)
