"""The database dies in the middle of an ingest: said clearly, and made good by a second run."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime import postgres
from runtime.postgres import Server
from tests import build
from tests.faults import databases
from tests.faults.databases import House


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, str]]:
    """A throwaway server that can be started a second time, with its address."""
    made: list[Server] = []
    real = Server.start

    def start(self: Server, log: int) -> None:
        made.append(self)
        real(self, log)

    monkeypatch.setattr(Server, "start", start)
    with postgres.temporary() as url:
        monkeypatch.undo()
        yield made[0], url


def killed(server: Server) -> None:
    """What `pg_ctl stop -m immediate` does: no goodbye to anybody, nothing flushed."""
    assert server.process is not None
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(30)


def started(server: Server) -> None:
    with open(os.devnull, "wb") as log:  # noqa: PTH123
        server.start(log.fileno())
    assert server.wait_ready(60)


def test_an_ingest_survives_the_death_of_its_database(
    server: tuple[Server, str], tmp_path: Path
) -> None:
    control, url = server
    files = tmp_path / "logs"
    files.mkdir()
    block = build.log(4_000)
    for number in range(12):
        (files / f"{number}.jsonl").write_bytes(block * 20 + b"tail of %d" % number)
    with contextlib.ExitStack() as stack:
        house = stack.enter_context(_house(tmp_path / "home", url))
        process = house.start("ingest", str(files))
        while process.poll() is None and _taken(house) < 3:
            time.sleep(0.01)
        killed(control)
        _, said = process.communicate(timeout=databases.PATIENCE)
        started(control)

        assert process.returncode != 0
        assert re.match(
            r"CommandError: the database went away \(.*\): .* run the command again", said.decode()
        )
        assert b"Traceback" not in said
        assert 0 < _taken(house) < 12

        again = house.told("ingest", str(files))
        assert sum(again["states"].values()) == 12
        assert house.told("verify") | {"sessions": []} == {"sound": 12, "broken": 0, "sessions": []}
        originals = {str(each): each.read_bytes() for each in files.iterdir()}
        assert house.exported(tmp_path / "out") == originals
        expected = 12 * (4_000 * 20 + 1)
        assert house.rows("SELECT count(*) FROM sessions_app_event") == [(expected,)]


@contextlib.contextmanager
def _house(home: Path, url: str) -> Iterator[House]:
    """Its database goes with the server; nothing has to be dropped."""
    house = House(home=home, url=url, extra={})
    house.run("migrate", "-v0")
    house.run("signin_link")
    yield house


def _taken(house: House) -> int:
    with contextlib.suppress(psycopg.OperationalError):
        return int(house.rows("SELECT count(*) FROM sessions_app_session")[0][0])
    return 0
