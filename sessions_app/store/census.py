"""The sessions of a workspace counted by project and by agent, with what they used."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain.errors import RecountError
from sessions_app.domain.facets import Facet
from sessions_app.domain.spending import By, Sums, Value
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import names, sessions, spending, tally

# Names in one cell; how many more there are is told beside them.
MOST_NAMES = 6
VERSIONS_OF = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The most used first."""

    shown: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Sessions that have something in common."""

    value: Value
    name: str
    sessions: int
    subagents: int
    last_at: datetime
    # Without those that a copy tells again.
    prompts: int
    errors: int
    sums: Sums
    # Of a project.
    agents: Names = Names()
    # Of an agent.
    projects: int = 0
    models: Names = Names()
    versions: Names = Names()

    @property
    def sorted_name(self) -> str:
        return self.name.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    groups: list[Group]
    # Sessions whose usage is not counted yet.
    waiting: int


def projects(workspace_id: UUID) -> Census:
    waiting = tally.refresh(workspace_id)
    used = spending.totals(workspace_id, by=By.PROJECT)
    agents = _pairs(_AGENTS, workspace_id)
    counted = _counted("project_term", workspace_id)
    known = names.of(workspace_id, Facet.PROJECT, [row[0] for row in counted])
    groups = [
        Group(
            **_numbers(row),
            name=known.get(row[0]) or spending.UNNAMED[By.PROJECT],
            sums=used.get(row[0], Sums()),
            agents=_few(agents[row[0]]),
        )
        for row in counted
    ]
    return Census(groups=groups, waiting=waiting)


def agents(workspace_id: UUID) -> Census:
    waiting = tally.refresh(workspace_id)
    used = spending.totals(workspace_id, by=By.AGENT)
    models = _pairs(_MODELS, workspace_id)
    versions = _versions(workspace_id)
    groups = [
        Group(
            **_numbers(row),
            name=row[0] or spending.UNNAMED[By.AGENT],
            sums=used.get(row[0], Sums()),
            projects=row[-1],
            models=_few([model for model in models[row[0]] if model]),
            versions=_few(versions[row[0]]),
        )
        for row in _counted("agent", workspace_id)
    ]
    return Census(groups=groups, waiting=waiting)


def _numbers(row: Sequence[Any]) -> dict[str, Any]:
    fields = ("value", "sessions", "subagents", "last_at", "prompts", "errors")
    return dict(zip(fields, row, strict=False))


def _versions(workspace_id: UUID) -> dict[str, list[str]]:
    """Of the newest sessions of each agent: a version is sealed with the rest of its session, and
    what was in use years ago is not worth opening them all."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, {**_values(workspace_id), "most": VERSIONS_OF})
        ids = [row[0] for row in cursor.fetchall()]
    found: dict[str, list[str]] = defaultdict(list)
    rows = Session.objects.select_related("key").filter(id__in=ids)
    for row in rows.order_by("-sort_at", "-id"):
        version = _version(row)
        if version and version not in found[row.agent]:
            found[row.agent].append(version)
    return found


def _version(row: Session) -> str:
    """A session that cannot be opened must not hide the others."""
    try:
        return sessions.facts_of(row).version
    except RecountError:
        return ""


def _few(told: Sequence[str]) -> Names:
    return Names(shown=tuple(told[:MOST_NAMES]), more=max(len(told) - MOST_NAMES, 0))


def _counted(column: str, workspace_id: UUID) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED.format(column=column), _values(workspace_id))
        return list(cursor.fetchall())


def _pairs(statement: str, workspace_id: UUID) -> dict[Any, list[Any]]:
    """For each value what goes with it, the most frequent first."""
    out: dict[Any, list[Any]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(statement, _values(workspace_id))
        for value, other in cursor.fetchall():
            out[value].append(other)
    return out


def _values(workspace_id: UUID) -> dict[str, UUID | int]:
    return {
        "workspace": workspace_id,
        "main": Part.MAIN.value,
        "subagent": Part.SUBAGENT.value,
    }


_COUNTED = """
    SELECT {column}, count(*) FILTER (WHERE part = %(main)s),
           count(*) FILTER (WHERE part = %(subagent)s), max(sort_at),
           sum(s.prompts - coalesce(copied.prompts, 0)), sum(s.errors - coalesce(copied.errors, 0)),
           count(DISTINCT project_term) FILTER (WHERE project_term <> 0)
    FROM sessions_app_session s LEFT JOIN sessions_app_copied copied ON copied.session_id = s.id
    WHERE workspace_id = %(workspace)s AND part IN (%(main)s, %(subagent)s)
    GROUP BY 1
"""
_AGENTS = """
    SELECT project_term, agent FROM sessions_app_session
    WHERE workspace_id = %(workspace)s AND part IN (%(main)s, %(subagent)s)
    GROUP BY 1, 2 ORDER BY count(*) DESC, 2
"""
_NEWEST = """
    SELECT newest.id
    FROM (SELECT DISTINCT agent FROM sessions_app_session WHERE workspace_id = %(workspace)s) a,
         LATERAL (
             SELECT id FROM sessions_app_session s
             WHERE s.workspace_id = %(workspace)s AND s.agent = a.agent AND s.part = %(main)s
             ORDER BY sort_at DESC, id DESC LIMIT %(most)s
         ) newest
"""
_MODELS = """
    SELECT agent, model FROM sessions_app_usageday WHERE workspace_id = %(workspace)s
    GROUP BY 1, 2 ORDER BY sum(answers) DESC, 2
"""
