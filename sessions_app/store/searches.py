"""Saved searches of a workspace: names and queries, sealed because both quote what people look
for."""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from sessions_app.domain.errors import NotFound, RecountError
from sessions_app.models import SavedSearch, User, Workspace
from sessions_app.store import keys
from sessions_app.vault import seal

MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    id: UUID
    name: str
    query: str
    created_by: str
    created_by_id: int | None
    created_at: datetime


def of_workspace(workspace: Workspace) -> list[Saved]:
    """By name. One that cannot be opened does not hide the others."""
    rows = SavedSearch.objects.filter(workspace=workspace).select_related("created_by")
    opened = (_opened(row) for row in rows.order_by("-created_at")[:MOST])
    return sorted(filter(None, opened), key=lambda saved: (saved.name.casefold(), str(saved.id)))


def search_for(user: User, search_id: UUID) -> SavedSearch:
    """The one door to a saved search."""
    rows = SavedSearch.objects.select_related("workspace")
    found = rows.filter(id=search_id, workspace__memberships__user=user).first()
    if found is None:
        raise NotFound("There is no such saved search, or it belongs to another workspace.")
    return found


def number_in(workspace: Workspace) -> int:
    return SavedSearch.objects.filter(workspace=workspace).count()


def add(workspace: Workspace, user: User, *, name: str, query: str) -> UUID:
    search_id = uuid4()
    SavedSearch.objects.create(
        id=search_id,
        workspace=workspace,
        created_by=user,
        sealed=_sealed(workspace.id, search_id, name, query),
    )
    return search_id


def rename(search: SavedSearch, name: str) -> None:
    known = _opened(search)
    query = known.query if known else ""
    search.sealed = _sealed(search.workspace_id, search.id, name, query)
    search.save(update_fields=["sealed"])


def remove(search: SavedSearch) -> None:
    search.delete()


def _opened(row: SavedSearch) -> Saved | None:
    where = _place(row.workspace_id, row.id)
    key = keys.key_for(row.workspace_id, "search")
    try:
        plain = json.loads(seal.unseal(key, where, bytes(row.sealed), name="a saved search"))
    except RecountError:
        return None
    return Saved(
        id=row.id,
        name=plain["name"],
        query=plain["query"],
        created_by=str(row.created_by or ""),
        created_by_id=row.created_by_id,
        created_at=row.created_at,
    )


def _sealed(workspace_id: UUID, search_id: UUID, name: str, query: str) -> bytes:
    plain = json.dumps({"name": name, "query": query}).encode()
    key = keys.key_for(workspace_id, "search")
    return seal.seal(key, _place(workspace_id, search_id), plain)


def _place(workspace_id: UUID, search_id: UUID) -> bytes:
    return seal.place("saved-search", str(workspace_id), str(search_id))
