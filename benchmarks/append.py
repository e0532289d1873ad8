"""Append beside the limit: what Postgres takes of the same lines with a plain COPY."""

from datetime import UTC, datetime
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from benchmarks import corpus
from benchmarks.measure import Figure, timed
from sessions_app.ingest import sources
from sessions_app.ingest.pipeline import Ingest
from sessions_app.store import keys

TABLES = ("chunk", "event", "session", "sessionkey", "source")


def run(folder: Path, *, megabytes: int) -> list[Figure]:
    call_command("migrate", verbosity=0)
    made = corpus.write(folder, megabytes=megabytes)
    size = made.bytes
    before = _copy(folder)
    ours = _append(folder)
    after = _copy(folder)
    copied = min(before, after)
    disk = _disk()
    return [
        Figure(
            name="append, one process",
            ratio=copied / ours,
            against="plain COPY of the same lines",
            limit=0.25,
            is_at_least=True,
            detail={
                "MB/s": size / ours / 1e6,
                "COPY MB/s": size / copied / 1e6,
                "COPY spread": max(before, after) / copied,
            },
        ),
        Figure(
            name="disk after vacuum",
            ratio=sum(disk.values()) / size,
            against="raw bytes",
            limit=0.6,
            is_at_least=False,
            detail={f"{name} / raw": used / size for name, used in disk.items()},
        ),
    ]


def _copy(folder: Path) -> float:
    """One column of text, no index, one transaction: the least that keeps the lines."""
    files = sorted(folder.rglob("*.jsonl"))
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS raw_lines")
        cursor.execute("CREATE TABLE raw_lines (line text)")
        cursor.execute("CHECKPOINT")
        with timed() as watch, cursor.copy("COPY raw_lines FROM STDIN") as copy:
            for path in files:
                with path.open("rb") as stream:
                    while data := stream.read(1024 * 1024):
                        copy.write(data.replace(b"\\", b"\\\\"))
        cursor.execute("DROP TABLE raw_lines")
    return watch.seconds


def _append(folder: Path) -> float:
    keys.prepare()
    workspace = keys.new_workspace("Bench")
    found = [f for f in sources.walk([str(folder)]) if isinstance(f, sources.DiskFile)]
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    ingest = Ingest(workspace.id, now=datetime.now(UTC))
    with timed() as watch, ingest.overlapped():
        states = {result.state for result in ingest.sources(found)}
    if states != {"ingested"}:
        raise SystemExit(f"the corpus did not go in whole: {states}")
    return watch.seconds


def _disk() -> dict[str, int]:
    used = {}
    with connection.cursor() as cursor:
        for name in TABLES:
            cursor.execute(f"VACUUM ANALYZE sessions_app_{name}")
            cursor.execute("SELECT pg_total_relation_size(%s)", [f"sessions_app_{name}"])
            used[name] = cursor.fetchone()[0]
    return used
