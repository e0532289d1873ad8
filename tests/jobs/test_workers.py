"""A real worker on each broker: messages double, vanish and outlive it; every job ends once."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from kombu import Connection, Queue
from redis import Redis

from tests import outside
from tests.faults import databases
from tests.faults.databases import PATIENCE, ROOT, House

BROKERS: dict[str, Callable[[], str]] = {
    "filesystem": lambda: "filesystem://",
    "redis": outside.redis_url,
    "amqp": outside.amqp_url,
}
MANY = 12
ADD = """
    INSERT INTO sessions_app_job
        (id, kind, arguments, state, attempts, cancel_asked, done, total, note, error, created_at)
    VALUES (%s, %s, '{}', 'queued', 0, false, 0, 0, '', '', now())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """A house with its broker and, now and then, a worker."""

    house: House
    broker: str
    queue: str

    def add(self, kind: str) -> UUID:
        job = uuid4()
        with psycopg.connect(self.house.url) as connection:
            connection.execute(ADD, [job, kind])
        return job

    def sql(self, statement: str) -> None:
        with psycopg.connect(self.house.url) as connection:
            connection.execute(statement)

    def python(self, code: str) -> None:
        code = f"import django; django.setup(); from sessions_app import tasks; {code}"
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=self.house.environment, check=True
        )

    def flush_broker(self) -> int:
        """Everything the broker holds is gone; returns how many messages that was."""
        if self.broker.startswith("filesystem"):
            messages = list((self.house.home / "broker" / "messages").iterdir())
            for message in messages:
                message.unlink()
            return len(messages)
        with Connection(self.broker) as broker:
            return int(Queue(self.queue, channel=broker.channel()).purge() or 0)

    def states(self) -> Counter[str]:
        return Counter(row[0] for row in self.house.rows("SELECT state FROM sessions_app_job"))

    def runs(self) -> Counter[str]:
        path = self.house.home / "tally"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def wait(self, is_so: Callable[[], bool]) -> None:
        """As long as jobs go on to be done: a thousand take their time on a busy machine."""
        last, deadline = self.states(), time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > deadline:
                before, last = last, self.states()
                assert last != before, f"{last}, {len(self.runs())} were begun"
                deadline = time.monotonic() + PATIENCE
            time.sleep(0.1)

    def _command(self) -> list[str]:
        # A name of its own: RabbitMQ turns a second worker of the same name away.
        name = f"{secrets.token_hex(4)}@%h"
        python = (sys.executable, "-m", "celery", "-q", "-A", "config", "worker", "--beat")
        rest = ("--concurrency", "2", "--without-gossip", "--without-mingle", "--hostname", name)
        return [*python, *rest, "--include", "tests.jobs.kinds"]

    @contextlib.contextmanager
    def worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        """A worker with its pool and a beat, in a process group of its own."""
        log = self.house.home / f"worker-{secrets.token_hex(4)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                self._command(),
                cwd=ROOT,
                env=self.house.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        try:
            yield process
            assert process.poll() is None or process.returncode == -9, log.read_text()
        finally:
            end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """The whole group at once, as a machine that loses its power."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(params=BROKERS.values(), ids=list(BROKERS))
def works(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Works]:
    make: Callable[[], str] = request.param
    broker, queue = make(), f"recount-test-{secrets.token_hex(4)}"
    with databases.house(
        tmp_path / "home",
        CELERY_BROKER_URL=broker,
        DJANGO_SETTINGS_MODULE="tests.jobs.worker_settings",
        TEST_QUEUE=queue,
        RECOUNT_JOB_LEASE_SECONDS="2",
        RECOUNT_JOB_ATTEMPTS="2",
    ) as house:
        yield Works(house=house, broker=broker, queue=queue)
        _clean_up(broker, queue, house.home)


def _clean_up(broker: str, queue: str, home: Path) -> None:
    if broker.startswith("filesystem"):
        shutil.rmtree(home / "broker", ignore_errors=True)
        return
    with Connection(broker) as connection:
        Queue(queue, channel=connection.channel()).delete()
    if broker.startswith("redis"):
        with Redis.from_url(broker) as server:
            server.delete(f"_kombu.binding.{queue}", f"_kombu.binding_permanent.{queue}")


def test_doubled_and_lost_messages_change_nothing(works: Works) -> None:
    doubled, lost = works.add("test.quick"), works.add("test.quick")
    for _ in range(MANY - 2):
        works.add("test.quick")
    works.python("tasks.announce()")
    assert works.flush_broker() == MANY
    works.python(f"[tasks.run_job.delay('{doubled}') for _ in range(3)]")
    # Nobody answers for the others: their message is older than a message can be.
    works.sql("UPDATE sessions_app_job SET enqueued_at = now() - interval '1 minute'")

    with works.worker():
        works.wait(lambda: works.states()["done"] == MANY)
        works.python(f"tasks.run_job.delay('{lost}'); tasks.sweep_jobs()")
        time.sleep(1)

    assert len(works.runs()) == MANY
    assert set(works.runs().values()) == {1}
    assert set(works.house.rows("SELECT attempts, done, total, note FROM sessions_app_job")) == {
        (1, 1, 1, "counted")
    }


def test_a_killed_worker_loses_its_job_to_the_next_and_a_poison_is_put_aside(works: Works) -> None:
    slow = works.add("test.slow")
    with works.worker() as process:
        works.wait(lambda: works.runs()[str(slow)] == 1)
        end(process)
    assert works.states() == {"running": 1}

    poison, quick = works.add("test.poison"), works.add("test.quick")
    with works.worker():
        works.wait(lambda: works.states() == {"done": 2, "quarantined": 1})

    assert works.runs() == {str(slow): 2, str(poison): 2, str(quick): 1}
    told = dict(works.house.rows("SELECT kind, note || error FROM sessions_app_job"))
    assert told["test.slow"] == "survived"
    assert told["test.poison"].startswith("Its worker died every time")
