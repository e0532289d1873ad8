"""Jobs as rows: claimed with SKIP LOCKED, kept alive by a lease, quarantined after repeated death.

The clock is the database's: workers on several machines must agree on when a lease ends.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from sessions_app.domain.errors import NotFound, Refused
from sessions_app.models import Job, Pulse, User
from sessions_app.models.jobs import JobState

LIST = 100
# A message can be lost: a row that waits longer than this is announced again.
ANNOUNCE_AGAIN = timedelta(seconds=20)
FINISHED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.QUARANTINED)


class LeaseLost(Exception):
    """Another worker took the job over; this one must stop without writing."""


class CancelAsked(Exception):
    """Somebody pressed cancel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    job_id: UUID
    token: UUID
    kind: str
    workspace_id: UUID | None
    arguments: dict[str, object]
    attempts: int


def add(
    kind: str, *, workspace_id: UUID | None, user: User | None, arguments: dict[str, object]
) -> Job:
    return Job.objects.create(
        kind=kind, workspace_id=workspace_id, created_by=user, arguments=arguments
    )


def open_job(kind: str, workspace_id: UUID | None) -> Job | None:
    """A job of this kind that has not ended: asking twice must not do the work twice."""
    waiting = Job.objects.filter(kind=kind, state__in=[JobState.QUEUED, JobState.RUNNING])
    if workspace_id is None:
        return waiting.filter(workspace=None).first()
    return waiting.filter(workspace_id=workspace_id).first()


def visible_to(user: User) -> QuerySet[Job]:
    """Jobs of a person's workspaces, and what they asked for themselves."""
    mine = Q(workspace__memberships__user=user) | Q(workspace=None, created_by=user)
    return Job.objects.filter(mine).select_related("created_by").distinct()


def job_for(user: User, job_id: UUID) -> Job:
    found = visible_to(user).filter(id=job_id).first()
    if found is None:
        raise NotFound("There is no such job, or it belongs to a workspace you are not in.")
    return found


def latest(user: User) -> list[Job]:
    return list(visible_to(user).order_by("-created_at", "id")[:LIST])


# A worker's side -------------------------------------------------------------------------------


def claim(job_id: UUID) -> Claim | None:
    """Take a queued job, or nothing: a doubled message finds it taken."""
    token = uuid4()
    with transaction.atomic():
        row = (
            Job.objects.select_for_update(skip_locked=True)
            .filter(id=job_id, state=JobState.QUEUED)
            .first()
        )
        if row is None:
            return None
        Job.objects.filter(id=job_id).update(
            state=JobState.RUNNING,
            attempts=F("attempts") + 1,
            claim=token,
            lease_until=Now() + _lease(),
            started_at=Now(),
            finished_at=None,
            error="",
        )
    return Claim(
        job_id=row.id,
        token=token,
        kind=row.kind,
        workspace_id=row.workspace_id,
        arguments=row.arguments,
        attempts=row.attempts + 1,
    )


def _lease() -> timedelta:
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _held(held: Claim) -> QuerySet[Job]:
    return Job.objects.filter(id=held.job_id, claim=held.token, state=JobState.RUNNING)


def report(held: Claim, *, done: int, total: int, note: str) -> None:
    """Progress is also the sign of life, and the moment to notice a cancel."""
    kept = _held(held).update(done=done, total=total, note=note[:200], lease_until=Now() + _lease())
    if not kept:
        raise LeaseLost
    if Job.objects.filter(id=held.job_id, cancel_asked=True).exists():
        raise CancelAsked


def renew(held: Claim) -> bool:
    return bool(_held(held).update(lease_until=Now() + _lease()))


def finish(held: Claim, state: JobState, *, note: str = "", error: str = "") -> bool:
    changed: dict[str, object] = {"state": state, "finished_at": Now(), "lease_until": None}
    if note:
        changed["note"] = note[:200]
    if state is JobState.DONE:
        changed["done"] = F("total")
    return bool(_held(held).update(**changed, error=error[:500]))


# A person's side ---------------------------------------------------------------------------------


def ask_cancel(job: Job) -> None:
    """A waiting job ends at once; a running one at its next report."""
    waiting = Job.objects.filter(id=job.id, state=JobState.QUEUED)
    if waiting.update(state=JobState.CANCELLED, finished_at=Now(), cancel_asked=True):
        return
    if not Job.objects.filter(id=job.id, state=JobState.RUNNING).update(cancel_asked=True):
        raise Refused("This job has already ended.")


def again(job: Job) -> None:
    ended = (JobState.FAILED, JobState.CANCELLED, JobState.QUARANTINED)
    changed = Job.objects.filter(id=job.id, state__in=ended).update(
        state=JobState.QUEUED,
        attempts=0,
        cancel_asked=False,
        claim=None,
        error="",
        note="",
        done=0,
        total=0,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
    )
    if not changed:
        raise Refused("Only a job that failed, was cancelled or quarantined can be tried again.")


def given_up(job: Job) -> bool:
    """It was put aside, and now is over."""
    aside = (JobState.CANCELLED, JobState.QUARANTINED)
    rows = Job.objects.filter(id=job.id, state__in=aside)
    return bool(rows.update(state=JobState.FAILED, note="Discarded", error=""))


# The sweep ---------------------------------------------------------------------------------------


def revive_lost() -> int:
    """Running rows whose worker fell silent: queued again, or put aside after too many deaths."""
    lost = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now())
    aside = lost.filter(attempts__gte=settings.JOB_ATTEMPTS).update(
        state=JobState.QUARANTINED,
        finished_at=Now(),
        error="Its worker died every time it was tried. Look at the worker's log, then retry.",
    )
    return aside + lost.update(state=JobState.QUEUED, claim=None, enqueued_at=None)


def to_announce() -> list[UUID]:
    """Queued rows nobody was told of, or so long ago that the message must be lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE sessions_app_job SET enqueued_at = now()
            WHERE id IN (
                SELECT id FROM sessions_app_job
                WHERE state = 'queued'
                  AND (enqueued_at IS NULL OR enqueued_at < now() - make_interval(secs => %s))
                ORDER BY created_at LIMIT 1000
                FOR UPDATE SKIP LOCKED
            )
            RETURNING id
            """,
            [ANNOUNCE_AGAIN.total_seconds()],
        )
        return [row[0] for row in cursor.fetchall()]


# Signs of life -----------------------------------------------------------------------------------


def beat(name: str) -> None:
    Pulse.objects.update_or_create(name=name, defaults={"at": Now()})


def pulses(prefix: str) -> list[str]:
    return list(Pulse.objects.filter(name__startswith=prefix).values_list("name", flat=True))


def forget(names: list[str]) -> None:
    """A part that ends by itself takes its sign of life along; one that died leaves it."""
    Pulse.objects.filter(name__in=names).delete()


def last_beat(prefix: str) -> timedelta | None:
    """Time since the newest sign of life of a kind of part, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT now() - max(at) FROM sessions_app_pulse WHERE starts_with(name, %s)", [prefix]
        )
        since: timedelta | None = cursor.fetchone()[0]
    return since


def clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now
