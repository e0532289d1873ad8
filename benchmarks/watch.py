"""Folders in which nothing happens: watching them must cost next to nothing."""

import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

from django.db import connections

from benchmarks import corpus
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, processor_seconds
from sessions_app.models import WatchedRoot

FILES = 15_000
SECONDS = 30
# After the first look, before the clock starts.
SETTLING_SECONDS = 5
PATIENCE_SECONDS = 480
MANAGE = Path(__file__).parent.parent / "manage.py"


def run(folder: Path) -> list[Figure]:
    place = folder / "watched"
    corpus.many(place, files=FILES, size=1_000)
    root = WatchedRoot.objects.create(workspace_id=empty_house(), path=str(place.resolve()))
    with subprocess.Popen([sys.executable, str(MANAGE), "watch"]) as process:
        try:
            _wait_until_seen(root.id, process)
            time.sleep(SETTLING_SECONDS)
            before, begun = processor_seconds(process.pid), time.monotonic()
            time.sleep(SECONDS)
            used = processor_seconds(process.pid) - before
            spent = time.monotonic() - begun
        finally:
            process.terminate()
    root.delete()
    corpus.remove(place)
    return [
        Figure(
            name=f"% of a core, watching {FILES:,} files",
            value=100 * used / spent,
            against=f"{SECONDS} s in which nothing is written",
            limit=1,
            is_at_least=False,
        )
    ]


def _wait_until_seen(root_id: UUID, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        files = WatchedRoot.objects.values_list("files", flat=True).get(id=root_id)
        connections.close_all()
        if files >= FILES:
            return
        time.sleep(1)
    raise SystemExit("the watcher did not get through the first look")
