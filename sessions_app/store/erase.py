"""The only place that destroys. Importable from retention's actions alone, which check first.

The key goes first, in a transaction of its own: whatever happens afterwards, the seals that are
left can no longer be opened.
"""

from collections.abc import Iterator

from django.db import transaction

from sessions_app.models import (
    Call,
    Chunk,
    Event,
    Session,
    SessionKey,
    Tie,
    Workspace,
)
from sessions_app.store import facets, keys, known, recall, tally


def demo_sessions(workspace: Workspace) -> Iterator[int]:
    """Erase the sessions of a demo workspace one by one; yields how many are gone."""
    _only_demo(workspace)
    rows = Session.objects.filter(workspace=workspace).order_by("id").values_list("id", flat=True)
    for gone, session_id in enumerate(list(rows), start=1):
        _session(session_id)
        yield gone


def demo_workspace(workspace: Workspace) -> None:
    _only_demo(workspace)
    workspace.delete()
    keys.forget()
    recall.forget()
    known.forget()


def _only_demo(workspace: Workspace) -> None:
    if not workspace.is_demo:
        raise ValueError("only a demo workspace is erased this way")


def _session(session_id: int) -> None:
    SessionKey.objects.filter(session_id=session_id).delete()
    row = Session.objects.only("workspace_id", "facets").get(id=session_id)
    with transaction.atomic():
        tally.drop_session(row.workspace_id, session_id)
        for table in (Event, Call, Tie):
            table.objects.filter(session_id=session_id).delete()
        Chunk.objects.filter(session_id=session_id).delete()
        Session.objects.filter(id=session_id).delete()
        facets.drop_unused(row.workspace_id, row.facets)
