"""Receipts: one for every delivery, however often and in parallel it is sent."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet, Sum

from sessions_app.domain.errors import Contradiction, NotFound
from sessions_app.models import Job, Receipt, Session
from sessions_app.models.arrivals import ReceiptState
from sessions_app.models.jobs import JobState

# After this a delivery that comes again is judged by its offset alone, which is enough.
KEPT = timedelta(days=7)
JOB = "ingest.receipt"
# What a job that no longer moves by itself means for the delivery it was to take in.
ASIDE = {
    JobState.QUARANTINED: (
        "Put aside: its worker died every time it read this. The bytes are kept. An admin can try "
        "again on the page Jobs; send your other files, and nothing of this one until then."
    ),
    JobState.CANCELLED: (
        "Put aside: its job was cancelled. The bytes are kept, and an admin can try again on the "
        "page Jobs."
    ),
}
DISCARDED = "An admin discarded it: nothing of it was kept. Send it again only once it is mended."


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a sender says a delivery is, hashed."""

    workspace_id: UUID
    token_id: UUID
    idempotency: bytes
    place_key: bytes
    body_key: bytes
    offset: int
    length: int


def find(claim: Claim) -> Receipt | None:
    rows = Receipt.objects.filter(workspace_id=claim.workspace_id)
    found = rows.filter(idempotency=claim.idempotency).first()
    return found and _agreed(found, claim)


def claimed(claim: Claim, receipt_id: UUID) -> tuple[Receipt, bool]:
    """The receipt of a delivery, and whether it is the caller's to work off. To be called in a
    transaction: whoever sends the same at the same moment waits here until it has ended."""
    made = Receipt(
        id=receipt_id,
        workspace_id=claim.workspace_id,
        token_id=claim.token_id,
        idempotency=claim.idempotency,
        place_key=claim.place_key,
        sha256=claim.body_key,
        offset=claim.offset,
        length=claim.length,
    )
    Receipt.objects.bulk_create([made], ignore_conflicts=True)
    row = Receipt.objects.select_for_update().get(
        workspace_id=claim.workspace_id, idempotency=claim.idempotency
    )
    _agreed(row, claim)
    if row.state == ReceiptState.REFUSED:
        # Nothing of it was kept, so that it may come again.
        row.state, row.message, row.done_at = ReceiptState.STAGED, "", None
        row.save(update_fields=["state", "message", "done_at"])
        return row, True
    return row, row.id == receipt_id


def _agreed(row: Receipt, claim: Claim) -> Receipt:
    known = (bytes(row.place_key), bytes(row.sha256), row.offset, row.length)
    if known != (claim.place_key, claim.body_key, claim.offset, claim.length):
        raise Contradiction(
            "This Idempotency-Key was used for other bytes or another place: "
            "choose a new key for every delivery."
        )
    return row


def taken(
    row: Receipt, *, uid: UUID | None, lines: int, unreadable: int, message: str, now: datetime
) -> Receipt:
    row.state, row.done_at, row.message = ReceiptState.TAKEN, now, message[:300]
    row.session_id = Session.objects.values_list("id", flat=True).get(uid=uid) if uid else None
    row.lines, row.unreadable = lines, unreadable
    row.save()
    return row


def refused(row: Receipt, message: str, now: datetime) -> None:
    row.state, row.message, row.done_at = ReceiptState.REFUSED, message[:300], now
    row.save(update_fields=["state", "message", "done_at"])


def by_id(receipt_id: UUID) -> Receipt | None:
    return Receipt.objects.filter(id=receipt_id).first()


def receipt_for(workspace_id: UUID, receipt_id: UUID) -> Receipt:
    found = Receipt.objects.filter(workspace_id=workspace_id, id=receipt_id).first()
    if found is None:
        raise NotFound("There is no such receipt; those of finished deliveries go after 7 days.")
    return found


def outlook(row: Receipt) -> tuple[str, str]:
    """State and message as a sender hears them; of what waits, also what keeps it waiting."""
    if row.state != ReceiptState.STAGED:
        return row.state, row.message
    jobs = Job.objects.filter(kind=JOB, created_at__gte=row.created_at)
    job = jobs.filter(arguments__receipt=str(row.id)).order_by("-created_at").first()
    if job is not None and job.state == JobState.FAILED:
        return row.state, f"{job.error} It is tried again by itself."
    if job is not None and (reason := ASIDE.get(JobState(job.state))):
        return job.state, reason
    return row.state, ""


def waiting() -> set[UUID]:
    return set(_staged().values_list("id", flat=True))


def waiting_bytes() -> tuple[int, int]:
    """Of deliveries that are on their way in, and of those that were put aside."""
    jobs = Job.objects.filter(kind=JOB, state__in=ASIDE)
    aside = _staged().filter(id__in=[UUID(each) for each in _receipts_of(jobs)])
    whole, put_aside = (
        int(rows.aggregate(all=Sum("length"))["all"] or 0) for rows in (_staged(), aside)
    )
    return whole - put_aside, put_aside


def _receipts_of(jobs: QuerySet[Job]) -> list[str]:
    return list(jobs.values_list("arguments__receipt", flat=True))


def discard(job: Job, now: datetime) -> Receipt | None:
    """What was put aside is given up. To be called in a transaction."""
    row = Receipt.objects.select_for_update().filter(id=str(job.arguments.get("receipt"))).first()
    if row is None or row.state != ReceiptState.STAGED:
        return None
    refused(row, DISCARDED, now)
    return row


def _staged() -> QuerySet[Receipt]:
    return Receipt.objects.filter(state=ReceiptState.STAGED)


def session_end(row: Receipt) -> tuple[UUID, int, int] | None:
    """Id, generation and stored bytes of the session a delivery went to."""
    if row.session_id is None:
        return None
    found = Session.objects.filter(id=row.session_id).values_list("uid", "generation", "raw_bytes")
    return found.first()


# The sweep ---------------------------------------------------------------------------------------


def forgotten(before: datetime) -> list[Receipt]:
    """Those that wait although no job of theirs is open or was put aside by a person."""
    rows = list(_staged().filter(created_at__lt=before).order_by("created_at")[:1000])
    aside = {JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED, JobState.QUARANTINED}
    jobs = Job.objects.filter(kind=JOB, state__in=aside)
    names = [str(row.id) for row in rows]
    seen = set(
        jobs.filter(arguments__receipt__in=names).values_list("arguments__receipt", flat=True)
    )
    return [row for row in rows if str(row.id) not in seen]


def failed_job(row: Receipt) -> Job | None:
    return Job.objects.filter(
        kind=JOB, state=JobState.FAILED, arguments__receipt=str(row.id)
    ).first()


def prune(before: datetime) -> int:
    ended = Q(state=ReceiptState.TAKEN) | Q(state=ReceiptState.REFUSED)
    removed, _ = Receipt.objects.filter(ended, created_at__lt=before).delete()
    return removed
