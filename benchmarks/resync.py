"""Files that did not change: no file is opened, and it takes no time."""

import io
import json
import sys
from pathlib import Path

from django.core.management import call_command

from benchmarks import corpus
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, timed

FILES = 3_000


def run(folder: Path) -> list[Figure]:
    place = folder / "many"
    corpus.many(place, files=FILES)
    workspace = str(empty_house())
    _ingest(place, workspace)
    opened = _count_opened(place)
    with timed() as watch:
        said = _ingest(place, workspace)
    if said != {"unchanged": FILES}:
        raise SystemExit(f"not every file was found unchanged: {said}")
    against = f"a second run over {FILES:,} unchanged files"
    return [
        Figure(
            name="files opened again", value=opened[0], against=against, limit=0, is_at_least=False
        ),
        Figure(
            name="seconds of a re-sync",
            value=watch.seconds,
            against=against,
            limit=1,
            is_at_least=False,
        ),
    ]


def _ingest(place: Path, workspace: str) -> dict[str, int]:
    said = io.StringIO()
    call_command("ingest", str(place), "--workspace", workspace, "--json", stdout=said)
    states: dict[str, int] = json.loads(said.getvalue())["states"]
    return states


def _count_opened(place: Path) -> list[int]:
    """The interpreter tells of every open, whoever asks for it."""
    count, below = [0], str(place.resolve())

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(path := arguments[0], str) and path.startswith(below):
            count[0] += 1

    sys.addaudithook(heard)
    return count
