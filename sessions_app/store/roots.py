"""Watched folders: which there are, and what the watcher found in them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.domain.errors import NotFound
from sessions_app.models import WatchedRoot, Workspace


def active() -> list[WatchedRoot]:
    """Asked every second by the watcher."""
    return list(WatchedRoot.objects.filter(is_on=True).order_by("created_at", "id"))


def in_workspace(workspace: Workspace) -> list[WatchedRoot]:
    return list(WatchedRoot.objects.filter(workspace=workspace).order_by("path"))


def every() -> list[WatchedRoot]:
    return list(WatchedRoot.objects.select_related("workspace").order_by("path", "id"))


def root_in(workspace: Workspace, root_id: UUID) -> WatchedRoot:
    found = WatchedRoot.objects.filter(workspace=workspace, id=root_id).first()
    if found is None:
        raise NotFound("There is no such source, or it belongs to a workspace you are not in.")
    return found


def any_on() -> bool:
    return WatchedRoot.objects.filter(is_on=True).exists()


def is_known(workspace: Workspace, path: str, *, other_than: UUID | None = None) -> bool:
    others = Q() if other_than is None else ~Q(id=other_than)
    return WatchedRoot.objects.filter(others, workspace=workspace, path=path).exists()


def keep(root_id: UUID, values: Mapping[str, Any]) -> None:
    """What the watcher found; nothing an admin may change meanwhile."""
    WatchedRoot.objects.filter(id=root_id).update(**values)


def looked_after(root_ids: list[UUID], now: datetime) -> None:
    WatchedRoot.objects.filter(id__in=root_ids).update(seen_at=now)


def ask_retry(root: WatchedRoot) -> None:
    WatchedRoot.objects.filter(id=root.id).update(retry_asked_at=Now())
