"""The jobs page: what is being done, how far it is, cancel and retry."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from sessions_app.domain.errors import Forbidden
from sessions_app.ingest import receipts
from sessions_app.models import Job, User
from sessions_app.models.jobs import JobState
from sessions_app.models.people import Role
from sessions_app.store import jobs, people
from sessions_app.store.receipts import ASIDE, JOB
from sessions_app.tasks import LABELS, announce
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in

LIVE = {JobState.QUEUED, JobState.RUNNING}
AGAIN = {JobState.FAILED, JobState.CANCELLED, JobState.QUARANTINED}


@require_safe
@signed_in
def listing(request: HttpRequest) -> HttpResponse:
    rows = jobs.latest(person(request))
    roles = {m.workspace_id: m.role for m in people.memberships_of(person(request))}
    context: dict[str, object] = {
        "rows": [_row(job, _may_steer(job, person(request), roles)) for job in rows],
        "live": any(job.state in LIVE for job in rows),
    }
    return respond.either(request, "jobs/list.html", "jobs/_rows.html", context)


def _row(job: Job, may_steer: bool) -> dict[str, object]:
    return {
        "id": job.id,
        "kind_label": LABELS.get(job.kind, job.kind),
        "state": job.state,
        "progress_done": job.done,
        "progress_total": job.total,
        "note": job.note,
        "attempts": job.attempts,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "created_by": job.created_by,
        "error": job.error,
        "can_cancel": may_steer and job.state in LIVE and not job.cancel_asked,
        "can_retry": may_steer and job.state in AGAIN,
        "can_discard": may_steer and job.kind == JOB and job.state in ASIDE,
        "result_url": _result_url(job),
    }


def _result_url(job: Job) -> str | None:
    if job.kind == "verify.session" and "session" in job.arguments:
        return reverse("sessions:record", args=[job.arguments["session"]])
    return None


def _may_steer(job: Job, user: User, roles: dict[UUID, str]) -> bool:
    """Whoever asked for it, and the admins of its workspace."""
    if job.created_by_id == user.id:
        return True
    return job.workspace_id is not None and roles.get(job.workspace_id) == Role.ADMIN


def _steered(request: HttpRequest, job_id: UUID) -> Job:
    user = person(request)
    job = jobs.job_for(user, job_id)
    roles = {m.workspace_id: m.role for m in people.memberships_of(user)}
    if not _may_steer(job, user, roles):
        raise Forbidden("Only whoever asked for a job, or an admin, may stop or repeat it.")
    return job


@require_POST
@signed_in
def cancel(request: HttpRequest, job_id: UUID) -> HttpResponse:
    jobs.ask_cancel(_steered(request, job_id))
    messages.info(request, "The job is being cancelled.")
    return redirect("jobs:list")


@require_POST
@signed_in
def retry(request: HttpRequest, job_id: UUID) -> HttpResponse:
    jobs.again(_steered(request, job_id))
    announce()
    messages.info(request, "The job is queued again.")
    return redirect("jobs:list")


@require_POST
@signed_in
def discard(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Its bytes go: whoever sent them hears of it."""
    job = _steered(request, job_id)
    receipts.discard(job, now=timezone.now())
    messages.info(request, "The delivery was discarded; its sender is told.")
    return redirect("jobs:list")
