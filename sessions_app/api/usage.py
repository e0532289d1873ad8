"""What a workspace used over HTTP: the numbers of the usage page."""

from datetime import date
from typing import Annotated, Literal, cast
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import Trouble
from sessions_app.domain import calendar
from sessions_app.domain.calendar import Days
from sessions_app.domain.errors import NotFound
from sessions_app.domain.spending import By, Sums, Used
from sessions_app.models import User
from sessions_app.store import facets, people, spending
from sessions_app.store.spending import Only, Report

router = Router(tags=["usage"])
PICO = 10**12
Name = Annotated[str, Field(max_length=200)]


class SumsOut(Schema):
    """Costs in US dollars; null where no price is known, never zero."""

    answers: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    tokens: int
    cost: float | None
    unpriced: int
    reported: float | None
    priced_on: date | None


class GroupOut(SumsOut):
    name: str


class StepOut(SumsOut):
    start: date
    name: str


class UsageReport(Schema):
    first: date | None
    last: date | None
    by: str
    step: str
    total: SumsOut
    groups: list[GroupOut]
    steps: list[StepOut]
    waiting: int


class UsageAsked(Schema):
    workspace: UUID | None = None
    range: Literal["7d", "30d", "90d", "365d", "all"] = "30d"
    first: date | None = Field(None, alias="from")
    last: date | None = Field(None, alias="to")
    by: By = By.MODEL
    agent: Name = ""
    model: Name = ""
    project: Name = ""
    machine: Name = ""
    user: Name = ""


@router.get("/usage", response={200: UsageReport, 400: Trouble, 404: Trouble})
def get_usage(request: HttpRequest, asked: Query[UsageAsked]) -> dict[str, object]:
    """Tokens and cost along time, told apart by `by`; each answer of a provider counts once. The
    last 30 days of your first workspace, unless `range`, `from`, `to` and `workspace` say more."""
    workspace_id = _workspace(cast(User, request.user), asked.workspace)
    days = _days(asked)
    found = spending.report(workspace_id, days, by=asked.by, only=_only(workspace_id, asked))
    return {
        "first": days.first,
        "last": days.last,
        "by": found.by.value,
        "step": found.step.value,
        "total": _sums(found.total()),
        "groups": _groups(found),
        "steps": [_step(found, row) for row in found.rows],
        "waiting": found.waiting,
    }


def _workspace(user: User, chosen: UUID | None) -> UUID:
    if chosen is not None:
        return people.membership_for(user, chosen).workspace_id
    mine = people.memberships_of(user)
    if not mine:
        raise NotFound("You are not a member of any workspace yet: ask an admin to add you.")
    return mine[0].workspace_id


def _days(asked: UsageAsked) -> Days:
    if asked.first or asked.last:
        return calendar.between(asked.first, asked.last)
    return calendar.usual(asked.range, timezone.now().date())


def _only(workspace_id: UUID, asked: UsageAsked) -> Only:
    blind = facets.Blind(workspace_id)
    return Only(
        agent=asked.agent.replace("\0", "") or None,
        model=asked.model.replace("\0", "") or None,
        project=blind.term("project", asked.project) if asked.project else None,
        machine=blind.term("machine", asked.machine) if asked.machine else None,
        user=blind.term("user", asked.user) if asked.user else None,
    )


def _groups(found: Report) -> list[dict[str, object]]:
    """The largest first; time has no groups but its steps."""
    if found.by is By.DAY:
        return []
    ranked = sorted(found.by_value().items(), key=lambda item: (-item[1].tokens, str(item[0])))
    return [{"name": found.name(value), **_sums(sums)} for value, sums in ranked]


def _step(found: Report, row: Used) -> dict[str, object]:
    return {"start": row.start, "name": found.name(row.value), **_sums(row.sums)}


def _sums(sums: Sums) -> dict[str, object]:
    names = ("answers", "input", "output", "cache_read", "cache_write", "reasoning", "tokens")
    return {
        **{name: getattr(sums, name) for name in names},
        "cost": None if sums.cost is None else sums.cost / PICO,
        "unpriced": sums.unpriced,
        "reported": None if sums.reported is None else sums.reported / PICO,
        "priced_on": sums.priced_on,
    }
