"""What runs in a process of its own. Imported before Django is set up there."""

import os
from datetime import UTC, datetime
from threading import Barrier
from uuid import UUID


def ingest(folder: str, workspace_id: UUID, share: tuple[int, int], gate: Barrier) -> None:
    """Every n-th file below the folder, once everybody is ready."""
    import django

    django.setup()
    from sessions_app.ingest import sources
    from sessions_app.ingest.pipeline import Ingest

    first, step = share
    files = [f for f in sources.walk([folder]) if isinstance(f, sources.DiskFile)][first::step]
    taking = Ingest(workspace_id, now=datetime.now(UTC))
    gate.wait(timeout=120)
    with taking.overlapped():
        states = {result.state for result in taking.sources(files)}
    # Without the goodbyes of an interpreter: they are not what is measured.
    os._exit(states != {"ingested"})
