"""What a query says of sessions, for the search: the same condition the list asks, as SQL."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.domain import eventfilters
from sessions_app.domain.searchquery import Query
from sessions_app.models import Session, Workspace
from sessions_app.store.conditions import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """SQL about a session `s`."""

    sql: str = ""
    parameters: tuple[Any, ...] = ()


def of(workspace_id: UUID, query: Query, *, now: datetime) -> Narrowing:
    """Filters about events are left to whoever looks at events."""
    own = tuple(each for each in query.filters if each.key not in eventfilters.KEYS)
    if not own:
        return Narrowing()
    asked = Asked(workspace=Workspace(id=workspace_id), query=replace(query, filters=own), now=now)
    rows = Session.objects.filter(asked.elsewhere()).values("id")
    sql, parameters = rows.query.sql_with_params()
    return Narrowing(sql=f" AND s.id IN ({sql})", parameters=parameters)
