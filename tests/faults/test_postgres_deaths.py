"""T02: `stop -m immediate` in the middle of a batch, twenty times over: nothing lost or doubled."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import postgres
from runtime.postgres import Server
from tests import build
from tests.faults import forks, oracle
from tests.faults.databases import House
from tests.faults.forks import Stem
from tests.jobs.test_workers import Works

STOPS = 20
FILES = 10
DEATHS_OF_WORK = 2
JOBS = 6


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A throwaway server that can be started again; its address is in DATABASE_URL."""
    made: list[Server] = []
    real = Server.start

    def start(self: Server, log: int) -> None:
        made.append(self)
        real(self, log)

    monkeypatch.setattr(Server, "start", start)
    with postgres.temporary() as url:
        monkeypatch.setattr(Server, "start", real)
        monkeypatch.setenv("DATABASE_URL", url)
        yield made[0]


def restarted(server: Server) -> None:
    """What `pg_ctl stop -m immediate` does: no goodbye to anybody, nothing flushed."""
    assert server.process is not None
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(30)
    with open(os.devnull, "wb") as log:  # noqa: PTH123
        server.start(log.fileno())
    assert server.wait_ready(60)


def test_an_ingest_whose_database_dies_twenty_times_loses_and_doubles_nothing(
    server: Server, tmp_path: Path
) -> None:
    """T02"""
    files = tmp_path / "logs"
    files.mkdir()
    for number in range(FILES):
        (files / f"{number}.jsonl").write_bytes(build.log(3_000) + b"tail of %d" % number)
    rng = random.Random(2)
    with _house(tmp_path) as house, forks.stem(house, tmp_path / "f") as stem:
        met = sum(_stopped(server, stem, house, files, rng) for _ in range(STOPS))
        assert met >= STOPS // 2, "most stops must meet an ingest that is not yet done"
        stem.run(house, "ingest", str(files))

        record = stem.asked(house, "tests.faults.oracle:record")
        lines = oracle.expected(files.iterdir())
        assert record["lines"] == lines
        assert record["numbers"]["sessions_app_event"] == sum(map(len, lines.values()))


def test_a_worker_whose_database_dies_goes_on_and_loses_no_job(
    server: Server, tmp_path: Path
) -> None:
    """T02"""
    with _house(
        tmp_path,
        CELERY_BROKER_URL="filesystem://",
        DJANGO_SETTINGS_MODULE="tests.jobs.worker_settings",
        TEST_QUEUE="recount-test",
        RECOUNT_JOB_LEASE_SECONDS="2",
        RECOUNT_JOB_ATTEMPTS="20",
    ) as house:
        works = Works(house=house, broker="filesystem://", queue="recount-test")
        with works.worker():
            for death in range(DEATHS_OF_WORK):
                for _ in range(JOBS):
                    works.add("test.brief")
                works.python("tasks.announce()")
                works.wait(lambda least=death * JOBS: _done(works) > least)  # type: ignore[misc]
                restarted(server)
            works.wait(lambda: _told_again(works) == {"done": DEATHS_OF_WORK * JOBS})


def _done(works: Works) -> int:
    return works.states()["done"]


def _told_again(works: Works) -> Counter[str]:
    """Who was told of a job and could not claim it is told again after 20 seconds; here after 2."""
    works.sql(
        "UPDATE sessions_app_job SET enqueued_at = NULL"
        " WHERE state = 'queued' AND enqueued_at < now() - interval '2 seconds'"
    )
    return works.states()


def _stopped(server: Server, stem: Stem, house: House, files: Path, rng: random.Random) -> bool:
    """The database dies under an ingest; was it still at work, and did it say so?"""
    target = files / f"{rng.randrange(FILES)}.jsonl"
    target.write_bytes(target.read_bytes().removesuffix(b"\n") + b"\n" + build.log(2_000))
    child = stem.start(house, "ingest", str(files))
    time.sleep(rng.uniform(0.02, 0.25))
    restarted(server)
    code = child.wait()
    assert code in (0, 1), child.said
    assert code == 0 or "run the command again" in child.said
    assert "Traceback" not in child.said
    return code == 1


@contextlib.contextmanager
def _house(folder: Path, **extra: str) -> Iterator[House]:
    """Its database goes with the server; nothing has to be dropped."""
    house = House(home=folder / "home", url=os.environ["DATABASE_URL"], extra=extra)
    house.run("migrate", "-v0")
    house.run("signin_link")
    yield house
