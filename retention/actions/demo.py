"""The demo comes and goes: what is removed is generated, never anybody's record."""

from collections.abc import Callable

from sessions_app.models import Workspace
from sessions_app.store import erase, sessions


def remove(workspace: Workspace, report: Callable[[int, int], None]) -> int:
    total = sessions.number_in(workspace.id)
    for gone in erase.demo_sessions(workspace):
        report(gone, total)
    erase.demo_workspace(workspace)
    return total
