"""Projects and agents: who works on what, and what it takes."""

from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from sessions_app.domain.spending import Sums
from sessions_app.store import census
from sessions_app.store.census import Census, Group
from sessions_app.web import links, respond
from sessions_app.web.access import current, signed_in
from sessions_app.web.columns import Column, sheet

FEWEST: list[Column[Group]] = [
    Column(key="sessions", label="Sessions", value=attrgetter("sessions")),
    Column(key="prompts", label="Prompts", value=attrgetter("prompts")),
    Column(key="errors", label="Errors", value=attrgetter("errors")),
    Column(key="tokens", label="Tokens", value=attrgetter("sums.tokens")),
    Column(key="cost", label="Cost", value=attrgetter("sums.cost")),
    Column(key="last", label="Last activity", value=attrgetter("last_at"), is_large_first=True),
]
PROJECTS: list[Column[Group]] = [
    Column(key="name", label="Project", value=attrgetter("sorted_name"), is_number=False),
    *FEWEST,
]
AGENTS: list[Column[Group]] = [
    Column(key="name", label="Agent", value=attrgetter("sorted_name"), is_number=False),
    Column(key="projects", label="Projects", value=attrgetter("projects")),
    *FEWEST,
]


@require_safe
@signed_in
def projects(request: HttpRequest) -> HttpResponse:
    found = census.projects(current(request).workspace_id)
    return _page(request, "project", found, PROJECTS)


@require_safe
@signed_in
def agents(request: HttpRequest) -> HttpResponse:
    found = census.agents(current(request).workspace_id)
    return _page(request, "agent", found, AGENTS)


def _page(
    request: HttpRequest, kind: str, found: Census, columns: list[Column[Group]]
) -> HttpResponse:
    shown = sheet(request, found.groups, columns, default="-last", own=attrgetter("value"))
    context = {
        "kind": kind,
        "sheet": shown,
        "rows": [(group, *_links(kind, group)) for group in shown.rows],
        "total": sum((group.sums for group in found.groups), Sums()),
        "waiting": found.waiting,
    }
    return respond.either(request, "census/list.html", "census/_rows.html", context)


def _links(kind: str, group: Group) -> tuple[str, str]:
    """To its sessions and its usage. What has no name cannot be searched for."""
    asked = links.query({kind: group.value, "range": "all"})
    sessions = links.sessions(**{kind: group.name}) if group.value else ""
    return sessions, f"{reverse('usage:page')}?{asked}"
