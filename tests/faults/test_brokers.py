"""Brokers that forget, repeat and hurry: the rows in Postgres decide, every job is done once."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests import outside
from tests.faults import databases
from tests.jobs.test_workers import Works, _clean_up

PATIENCE = 20
QUEUED = 1_000
LONG_JOBS = 4
TWICE = """
ids = [str(row[0]) for row in tasks.jobs.Job.objects.values_list("id")];
[tasks.run_job.delay(each) for _ in range(3) for each in ids]
"""


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A server of our own, so that flushing it takes nothing from anybody."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("RECOUNT_REQUIRE_ALL") == "1":
            pytest.fail("redis-server is required here and not installed")
        pytest.skip("no redis-server on PATH")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    try:
        _await(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def _await(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    with Redis(port=port) as server:
        while time.monotonic() < deadline:
            with contextlib.suppress(RedisError):
                server.ping()
                return
            time.sleep(0.05)
    raise AssertionError("redis-server does not answer")


@contextlib.contextmanager
def works_with(broker: str, home: Path, **more: str) -> Iterator[Works]:
    queue = f"recount-test-{secrets.token_hex(4)}"
    with databases.house(
        home,
        CELERY_BROKER_URL=broker,
        DJANGO_SETTINGS_MODULE="tests.jobs.worker_settings",
        TEST_QUEUE=queue,
        **more,
    ) as house:
        yield Works(house=house, broker=broker, queue=queue)
        _clean_up(broker, queue, house.home)


def add(works: Works, kind: str, number: int) -> None:
    works.sql(
        "INSERT INTO sessions_app_job (id, kind, arguments, state, attempts, cancel_asked, done,"
        " total, note, error, created_at) SELECT gen_random_uuid(),"
        f" '{kind}', '{{}}', 'queued', 0, false, 0, 0, '', '', now()"
        f" FROM generate_series(1, {number})"
    )


def all_done_once(works: Works, number: int) -> None:
    works.wait(lambda: works.states()["done"] == number)
    assert len(works.runs()) == number
    assert set(works.runs().values()) == {1}


def test_a_flushed_redis_with_a_thousand_jobs_queued_loses_none(redis: str, tmp_path: Path) -> None:
    """T11"""
    with works_with(redis, tmp_path / "home") as works:
        add(works, "test.quick", QUEUED)
        works.python("tasks.announce()")
        with Redis.from_url(redis) as server:
            assert server.llen(works.queue) == QUEUED
            server.flushall()
            assert server.dbsize() == 0
        # As if the twenty seconds had passed after which a message counts as lost.
        works.sql("UPDATE sessions_app_job SET enqueued_at = now() - interval '1 minute'")

        with works.worker():
            all_done_once(works, QUEUED)


def test_a_purged_rabbitmq_queue_loses_no_job(tmp_path: Path) -> None:
    """T11"""
    with works_with(outside.amqp_url(), tmp_path / "home") as works:
        add(works, "test.quick", 200)
        works.python("tasks.announce()")
        assert works.flush_broker() == 200
        works.sql("UPDATE sessions_app_job SET enqueued_at = now() - interval '1 minute'")

        with works.worker():
            all_done_once(works, 200)


def test_jobs_longer_than_lease_and_visibility_told_three_times_by_two_beats_run_once(
    redis: str, tmp_path: Path
) -> None:
    """T12"""
    with works_with(
        redis, tmp_path / "home", RECOUNT_JOB_LEASE_SECONDS="1", TEST_VISIBILITY_SECONDS="1"
    ) as works:
        add(works, "test.long", LONG_JOBS)
        works.python(" ".join(TWICE.split()))
        with works.worker(), works.worker():
            all_done_once(works, LONG_JOBS)
            time.sleep(1.5)
            all_done_once(works, LONG_JOBS)
            assert set(works.house.rows("SELECT attempts FROM sessions_app_job")) == {(1,)}


def test_a_worker_frozen_beyond_its_lease_writes_nothing_over_its_successor(
    redis: str, tmp_path: Path
) -> None:
    """T12"""
    with works_with(redis, tmp_path / "home", RECOUNT_JOB_LEASE_SECONDS="1") as works:
        job = works.add("test.slow")
        with works.worker() as frozen:
            works.wait(lambda: works.runs()[str(job)] == 1)
            os.killpg(frozen.pid, signal.SIGSTOP)
            with works.worker():
                works.wait(lambda: works.states() == {"done": 1})
                os.killpg(frozen.pid, signal.SIGCONT)
                time.sleep(1.5)
                found = works.house.rows("SELECT state, note, attempts FROM sessions_app_job")
                assert found == [("done", "survived", 2)]
