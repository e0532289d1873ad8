"""kill -9 at any moment of an ingest, again and again: the result is that of one quiet run."""

import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import build
from tests.faults import databases, forks
from tests.faults.databases import House
from tests.faults.forks import Stem

KILLS = 20
SMALL_FILES = 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files and large ones, long lines, lines without end, bytes that are no text."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = random.Random(2)
    block = build.log(3_000)
    files = {f"small/{n}.jsonl": block[: 900 * n] for n in range(1, SMALL_FILES)}
    files["large.jsonl"] = b"".join(_marked(block, n) for n in range(60))
    files["long.jsonl"] = (
        block * 30 + build.line("user", "long words " * 280_000) + block + b"no end " * 900
    )
    files["very-long.jsonl"] = block + build.line("user", "w " * 5_500_000) + block
    files["endless.jsonl"] = block + b"x y " * 2_500_000
    files["noise.jsonl"] = rng.randbytes(1_500_000)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def _marked(block: bytes, number: int) -> bytes:
    return block.replace(b"about", b"about round%d" % number)


def test_twenty_kills_leave_the_record_of_one_quiet_run(corpus: Path, tmp_path: Path) -> None:
    rng = random.Random(20)
    with databases.house(tmp_path / "home") as killed, databases.clone(killed.url) as url:
        quiet = replace(killed, url=url)
        with forks.stem(killed, tmp_path / "f", sizes="real") as stem:
            landed = sum(_killed(stem, killed, corpus, rng.uniform(0, 0.35)) for _ in range(KILLS))
        assert landed >= KILLS // 2, "most kills must meet an ingest that is not yet done"

        killed.run("ingest", str(corpus))
        quiet.run("ingest", str(corpus))

        originals = {str(f): f.read_bytes() for f in corpus.rglob("*.jsonl")}
        for house, name in ((killed, "killed"), (quiet, "quiet")):
            assert house.told("verify")["broken"] == 0
            assert house.exported(tmp_path / name) == originals
        assert _counts(killed) == _counts(quiet)
        assert _record(killed, tmp_path / "a") == _record(quiet, tmp_path / "b")


def _killed(stem: Stem, house: House, corpus: Path, after: float) -> bool:
    """Kill an ingest some time after it reached the database; was it still at work?"""
    with psycopg.connect(house.url, autocommit=True) as watch:
        # Without the note of the one before, this one reads as if nothing had happened.
        watch.execute("DELETE FROM sessions_app_pulse")
    child = stem.start(house, "ingest", str(corpus))
    with psycopg.connect(house.url, autocommit=True) as watch:
        while not child.is_over() and not _others(watch):
            time.sleep(0.005)
        time.sleep(after)
        child.kill()
        code = child.wait()
        # What the server still has of the killed one must not count for the next.
        while _others(watch):
            time.sleep(0.005)
    return code == -signal.SIGKILL


def _others(watch: "psycopg.Connection[tuple[Any, ...]]") -> bool:
    found = watch.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    ).fetchone()
    return bool(found and found[0])


def _counts(house: House) -> list[tuple[Any, ...]]:
    return house.rows(
        "SELECT raw_bytes, tail_bytes, chunks, events, prompts, errors, unreadable, format,"
        " started_at, last_at, generation FROM sessions_app_session ORDER BY 1, 2, 3"
    )


def _record(house: House, folder: Path) -> dict[str, tuple[Any, ...]]:
    """Event rows and chunk places with their terms, by source path."""
    files = house.told("export", "--all", "--to", str(folder))["files"]
    paths = {each["session"]: each["path"].removeprefix(str(folder)) for each in files}
    events: dict[str, list[Any]] = {path: [] for path in paths.values()}
    for uid, *row in house.rows(
        "SELECT s.uid, seq, chunk, start, length, at, kind, flags, tool"
        " FROM sessions_app_event e JOIN sessions_app_session s ON s.id = session_id ORDER BY seq"
    ):
        events[paths[str(uid)]].append(row)
    chunks: dict[str, list[Any]] = {path: [] for path in paths.values()}
    for uid, terms, *row in house.rows(
        "SELECT s.uid, terms, no, first_seq, lines, first_byte, raw_len"
        " FROM sessions_app_chunk c JOIN sessions_app_session s ON s.id = session_id ORDER BY no"
    ):
        chunks[paths[str(uid)]].append((row, frozenset(terms)))
    return {path: (events[path], chunks[path]) for path in events}
