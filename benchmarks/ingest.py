"""Ingest beside the limit: what Postgres takes of the same lines with a plain COPY."""

import multiprocessing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from django.db import connection, connections

from benchmarks import beside, corpus, peers
from benchmarks.measure import Figure, timed
from sessions_app.store import keys

TABLES = (
    *("chunk", "event", "session", "sessionkey", "source", "usage", "call", "tie"),
    *("facetvalue", "vocabularysegment", "untallied", "usageday", "toolday"),
)
PROCESSES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Seconds the same bytes took on each way."""

    name: str
    size: int
    copied: float
    one: float
    two: float
    disk: dict[str, int]

    @property
    def rate(self) -> float:
        return self.size / self.one


def run(folder: Path, *, sizes: list[int], with_peers: bool) -> list[Figure]:
    figures: list[Figure] = []
    taken: list[Taken] = []
    for megabytes in sorted(sizes):
        place = folder / str(megabytes)
        made = corpus.write(place, megabytes=megabytes)
        each = _taken(f"{megabytes} MB", place, made.bytes)
        figures += _figures(each)
        if with_peers and not taken:
            figures += peers.figures(place, size=made.bytes, ours=each.two)
        taken.append(each)
        corpus.remove(place)
    return figures + _of_size(taken[0], taken[-1])


def _taken(name: str, place: Path, size: int) -> Taken:
    before = _copy(place)
    one = _ingest(place, processes=1)
    disk = _disk()
    copied = min(before, _copy(place))
    two = _ingest(place, processes=PROCESSES)
    return Taken(name=name, size=size, copied=copied, one=one, two=two, disk=disk)


def _figures(taken: Taken) -> list[Figure]:
    copy = "plain COPY of the same lines, one process"
    rates = {"COPY MB/s": taken.size / taken.copied / 1e6}
    return [
        Figure(
            name=f"ingest, {taken.name}, one process",
            value=taken.copied / taken.one,
            against=copy,
            limit=0.25,
            is_at_least=True,
            detail={"MB/s": taken.rate / 1e6, **rates},
        ),
        Figure(
            name=f"ingest, {taken.name}, two processes",
            value=taken.copied / taken.two,
            against=copy,
            limit=0.3,
            is_at_least=True,
            detail={"MB/s": taken.size / taken.two / 1e6, **rates},
        ),
        Figure(
            name=f"disk after vacuum, {taken.name}",
            value=sum(taken.disk.values()) / taken.size,
            against="raw bytes",
            limit=0.6,
            is_at_least=False,
            detail={f"{name} / raw": used / taken.size for name, used in taken.disk.items()},
        ),
    ]


def _of_size(small: Taken, large: Taken) -> list[Figure]:
    if small is large:
        return []
    return [
        Figure(
            name=f"rate at {large.name}",
            value=large.rate / small.rate,
            against=f"rate at {small.name}",
            limit=0.8,
            is_at_least=True,
        )
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


def _ingest(folder: Path, *, processes: int) -> float:
    """Into empty tables, in processes of their own that are ready before the clock starts."""
    workspace_id = empty_house()
    ready = multiprocessing.get_context("spawn")
    gate = ready.Barrier(processes + 1)
    parts = [
        ready.Process(target=beside.ingest, args=(str(folder), workspace_id, (n, processes), gate))
        for n in range(processes)
    ]
    for part in parts:
        part.start()
    gate.wait(timeout=120)
    with timed() as watch:
        for part in parts:
            part.join()
    if any(part.exitcode for part in parts):
        raise SystemExit("the corpus did not go in whole")
    return watch.seconds


def empty_house() -> UUID:
    """A new workspace in a house that holds nothing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE " + ", ".join(f"sessions_app_{table}" for table in TABLES) + " CASCADE"
        )
        cursor.execute("CHECKPOINT")
    keys.prepare()
    workspace = keys.new_workspace(f"Bench {datetime.now(UTC):%H:%M:%S.%f}")
    connections.close_all()
    return workspace.id


def _disk() -> dict[str, int]:
    used = {}
    with connection.cursor() as cursor:
        for name in TABLES:
            cursor.execute(f"VACUUM ANALYZE sessions_app_{name}")
            cursor.execute("SELECT pg_total_relation_size(%s)", [f"sessions_app_{name}"])
            used[name] = cursor.fetchone()[0]
    return used
