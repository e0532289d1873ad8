"""T15: no room on a disk, of the database, of temporary files or of what waits: said, and made
good later."""

import contextlib
import io
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from runtime import postgres
from runtime.postgres import Server
from sessions_app.api import ingest
from sessions_app.ingest import receipts
from sessions_app.models import Receipt, Session
from sessions_app.store import jobs
from tests import build
from tests.api.test_ingest import Sender, work
from tests.faults import oracle
from tests.faults.databases import House
from tests.people import browser, cast

MEGABYTE = 1024 * 1024
ROOM = 170
BALLAST = 50
JSON = {"Accept": "application/json"}


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A file system of that size."""
    folder = Path(tempfile.mkdtemp(prefix="recount-small-", dir="/tmp"))
    size = f"size={megabytes}m,mode=0777"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=False)
    if done.returncode:
        folder.rmdir()
        pytest.skip("mounting a small file system is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, str, Path]]:
    """A server on a small disk, and a file there that can be removed to make room."""
    made: list[Server] = []
    real = Server.start

    def start(self: Server, log: int) -> None:
        made.append(self)
        real(self, log)

    with small_disk(ROOM) as disk:
        monkeypatch.setattr(Server, "start", start)
        ballast = disk / "ballast"
        with postgres.temporary(disk) as url:
            monkeypatch.setattr(Server, "start", real)
            ballast.write_bytes(bytes(BALLAST * MEGABYTE))
            yield made[0], url, ballast


def test_a_full_disk_of_the_database_is_said_and_the_next_run_goes_on(
    small: tuple[Server, str, Path], tmp_path: Path
) -> None:
    """T15"""
    server, url, ballast = small
    files = tmp_path / "logs"
    files.mkdir()
    rng = random.Random(15)
    for number in range(8):
        lines = [build.line("user", rng.randbytes(4_000).hex()) for _ in range(1_200)]
        (files / f"{number}.jsonl").write_bytes(b"".join(lines))
    house = House(home=tmp_path / "home", url=url, extra={})
    house.run("migrate", "-v0")
    house.run("signin_link")

    full = house.run("ingest", str(files), ok=False)
    said = full.stderr.decode()
    assert full.returncode == 1
    assert "is full" in said or "the database went away" in said, said
    assert "Traceback" not in said

    ballast.unlink()
    _back(server)
    assert house.told("verify")["broken"] == 0
    house.run("ingest", str(files))
    assert house.told("verify")["broken"] == 0
    given = house.exported(tmp_path / "out")
    assert given == {str(each): each.read_bytes() for each in files.iterdir()}
    lines_stored = house.rows("SELECT count(*) FROM sessions_app_event")
    assert lines_stored == [(sum(len(oracle.digests(data)) for data in given.values()),)]


def _back(server: Server) -> None:
    """A server that could not even write its log gave up; the keeper of a house starts it again."""
    if server.returncode() is not None:
        with open(os.devnull, "wb") as log:  # noqa: PTH123
            server.start(log.fileno())
    assert server.wait_ready(60)


@pytest.mark.django_db
def test_an_upload_for_which_there_is_no_room_is_answered_507_and_taken_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T15"""
    client = browser(build.member("ann", build.workspace()))
    data = build.log(90_000)
    assert len(data) > 3 * MEGABYTE
    with small_disk(1) as disk:
        with monkeypatch.context() as full:
            full.setattr(tempfile, "tempdir", str(disk))
            answer = client.post("/upload", {"files": named(data)}, headers=JSON)
        assert answer.status_code == 507
        assert "is full" in answer.json()["error"]
        assert not list(disk.iterdir())
        assert not Session.objects.exists()

    answer = client.post("/upload", {"files": named(data)}, headers=JSON)
    assert answer.json()["results"][0]["state"] == "ingested"
    assert Session.objects.get().events == 90_000


@pytest.mark.django_db
def test_a_delivery_for_which_there_is_no_room_is_answered_507_and_taken_later(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """T15"""
    monkeypatch.setattr(ingest, "AT_ONCE", 0)
    monkeypatch.setattr(ingest, "announce", lambda: None)
    sender, data = Sender(cast()), build.log(90_000)
    with small_disk(2) as disk:
        settings.STAGING_FOLDER = disk / "staging"
        answer = sender.send(data)
        assert (answer.status_code, answer["Retry-After"]) == (507, "60")
        assert not list(settings.STAGING_FOLDER.iterdir())
        assert not Receipt.objects.exists()
        resized(disk, 16)
        number = sender.send(data).json()["id"]

        with small_disk(1) as temporary, monkeypatch.context() as full:
            full.setattr(tempfile, "tempdir", str(temporary))
            work()
        told = sender.ask(f"receipts/{number}").json()
        assert told["state"] == "staged"
        assert "disk is full. The bytes of this delivery are kept: make room." in told["message"]
        assert "tried again by itself" in told["message"]

        assert receipts.sweep(jobs.clock() + timedelta(minutes=2)) == 1
        work()
        assert sender.ask(f"receipts/{number}").json()["state"] == "taken"
        assert not list(settings.STAGING_FOLDER.iterdir())


def resized(disk: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", disk], check=True)


def named(data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = "log.jsonl"
    return file
