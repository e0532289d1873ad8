"""Writes about watched folders, with their rules."""

import os
from datetime import datetime
from pathlib import Path

from django.conf import settings

from sessions_app.domain.errors import BadInput, Refused
from sessions_app.models import User, WatchedRoot, Workspace
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings, roots

MOST = 100


def add(workspace: Workspace, *, path: str, agent: str, project: str, user: User) -> WatchedRoot:
    checked = checked_path(path)
    if len(roots.in_workspace(workspace)) >= MOST:
        raise Refused(f"A workspace watches {MOST} sources at the most: remove one first.")
    if roots.is_known(workspace, checked):
        raise BadInput("This source is on the list already.")
    return WatchedRoot.objects.create(
        workspace=workspace, path=checked, agent=agent, project=project, created_by=user
    )


def edit(root: WatchedRoot, *, agent: str, project: str) -> None:
    root.agent, root.project = agent, project
    root.save(update_fields=["agent", "project"])


def switch(root: WatchedRoot, *, is_on: bool) -> None:
    root.is_on = is_on
    root.save(update_fields=["is_on"])


def retry(root: WatchedRoot, *, now: datetime) -> None:
    """Look at everything again, also at what killed its reader."""
    findings.settle_others(root.id, [FindingKind.ASIDE], (), now)
    roots.ask_retry(root)


def remove(root: WatchedRoot) -> None:
    """Only the watching ends: what was taken in stays."""
    root.delete()


def checked_path(text: str) -> str:
    """Where the server can read, and nothing of its own or of the whole machine."""
    path = text.strip()
    if "\0" in path or not os.path.isabs(path):  # noqa: PTH117
        raise BadInput("Give the whole path, beginning with /.")
    path = os.path.normpath(path)
    real, home = Path(os.path.realpath(path)), Path(os.path.realpath(settings.HOME))
    if real == Path(real.anchor):
        raise BadInput("The whole machine cannot be watched: name a folder of logs.")
    if real.is_relative_to(home) or home.is_relative_to(real):
        raise BadInput("Recount's own folder lies there: name a folder of logs.")
    if not real.exists():
        raise BadInput("There is no such folder or file on the machine Recount runs on.")
    if not os.access(real, os.R_OK | (os.X_OK if real.is_dir() else 0)):
        raise BadInput("Recount may not read it: give its account the right to.")
    return path
