"""What is wrong with sources, over HTTP."""

from datetime import datetime
from typing import cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema

from sessions_app.api.answers import Trouble
from sessions_app.models import User
from sessions_app.store import findings, people
from sessions_app.store.findings import FindingRow

router = Router(tags=["sources"])


class FindingOut(Schema):
    kind: str
    path: str
    message: str
    session: UUID | None
    first_at: datetime
    last_at: datetime


@router.get("/workspaces/{workspace_id}/findings", response={200: list[FindingOut], 404: Trouble})
def list_findings(request: HttpRequest, workspace_id: UUID) -> list[FindingRow]:
    """The newest 200 that are open, each with what to do."""
    member = people.membership_for(cast(User, request.user), workspace_id)
    return findings.latest(member.workspace)
