"""What a line of text is answered with: events, or sessions where it says nothing of events."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sessions_app.domain import matching
from sessions_app.domain.searchquery import Query
from sessions_app.models import Workspace
from sessions_app.store import listing, search
from sessions_app.store.conditions import Asked
from sessions_app.store.search import Found, Results


def page(
    workspace_id: UUID, query: Query, *, now: datetime, cursor: str = "", size: int = search.PAGE
) -> Results:
    if matching.question(query).is_empty:
        return _sessions(workspace_id, query, now, cursor, size)
    return search.page(workspace_id, query, now=now, cursor=cursor, size=size)


def _sessions(workspace_id: UUID, query: Query, now: datetime, cursor: str, size: int) -> Results:
    """Those of the list, the newest first, without hits: any event would be as good as another."""
    newest = replace(query, sort="newest")
    asked = Asked(workspace=Workspace(id=workspace_id), query=newest, now=now)
    page_ = listing.page(asked, after=cursor, size=size)
    found = (
        Found(session=row, hits=(), more=0, is_all=True, month=f"{stored.sort_at:%Y-%m}")
        for stored, row in zip(page_.found, page_.rows(), strict=True)
    )
    return Results(
        found=tuple(found),
        older=page_.older,
        is_cut=False,
        reached="",
        shortened=(),
        skipped=0,
        broken=(),
        has_results=query.has_results,
        chunks=0,
        is_from_memory=False,
    )
