"""One file larger than the memory it may take."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks import corpus
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, peak_memory

GIGABYTES = 2
MANAGE = Path(__file__).parent.parent / "manage.py"


def run(folder: Path) -> list[Figure]:
    place = folder / "large"
    made = corpus.single(place / "session.jsonl", megabytes=GIGABYTES * 1000)
    command = [str(MANAGE), "ingest", str(place), "--workspace", str(empty_house()), "--json"]
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit("the file did not go in")
    spent = time.monotonic() - begun
    corpus.remove(place)
    return [
        Figure(
            name=f"peak memory in MB, one file of {GIGABYTES} GB",
            value=peak / 1e6,
            against="the process that takes it in",
            limit=400,
            is_at_least=False,
            detail={"MB/s": made.bytes / spent / 1e6},
        )
    ]
