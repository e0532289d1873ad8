"""The demo comes and goes: what is removed is generated, never anybody's record."""

from collections.abc import Callable

from sessions_app.models import Workspace
from sessions_app.store import erase, respell, sessions


def remove(workspace: Workspace, report: Callable[[int, int], None]) -> int:
    total = sessions.number_in(workspace.id)
    for gone in erase.demo_sessions(workspace):
        report(gone, total)
    # Should the next step fail, the words of what is gone must not stay behind.
    respell.workspace(workspace.id)
    erase.demo_workspace(workspace)
    return total
