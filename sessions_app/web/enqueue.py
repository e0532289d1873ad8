"""From a request to a job: the row in the request's transaction, the announcement after it."""

from uuid import UUID

from django.db import transaction

from sessions_app.models import Job, User
from sessions_app.store import jobs
from sessions_app.tasks import announce


def job(
    kind: str, *, user: User, workspace_id: UUID | None, arguments: dict[str, object] | None = None
) -> Job:
    with transaction.atomic():
        row = jobs.add(kind, workspace_id=workspace_id, user=user, arguments=arguments or {})
        transaction.on_commit(announce)
    return row
