"""Jobs over HTTP."""

from datetime import datetime
from typing import cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema

from sessions_app.api.answers import Trouble
from sessions_app.models import Job, User
from sessions_app.store import jobs

router = Router(tags=["jobs"])


class JobOut(Schema):
    id: UUID
    kind: str
    state: str
    done: int
    total: int
    note: str
    error: str
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@router.get("/jobs", response=list[JobOut])
def list_jobs(request: HttpRequest) -> list[Job]:
    return jobs.latest(cast(User, request.user))


@router.get("/jobs/{job_id}", response={200: JobOut, 404: Trouble})
def get_job(request: HttpRequest, job_id: UUID) -> Job:
    return jobs.job_for(cast(User, request.user), job_id)
