"""The shipper as a process against a running server: every byte arrives once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import pytest
from django.core.cache import cache
from pytest_django.live_server_helper import LiveServer

from sessions_app.actions import tokens
from sessions_app.api import ingest
from sessions_app.ingest import shipper
from sessions_app.ingest.receipts import Delivery, take
from sessions_app.models import Job, Receipt, Session, Workspace
from sessions_app.models.jobs import JobState
from sessions_app.store import read, verify
from tests import build

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = Path(shipper.__file__).with_name("recount_ship.py")
PATIENCE = 30


class Machine:
    """Another machine: a home, a folder of logs, and the shipper."""

    def __init__(self, folder: Path, url: str, place: Workspace, text: str, name: str) -> None:
        self.home, self.logs = folder / name, folder / "logs"
        self.url, self.place, self.name = url, place, name
        self.logs.mkdir(exist_ok=True)
        self.home.mkdir()
        self.token = self.home / "token"
        self.token.write_text(text)
        self.token.chmod(0o600)

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, str(SCRIPT), "--url", self.url, "--machine", self.name]
        command += ["--token-file", str(self.token), "--state-dir", str(self.home / "state")]
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return subprocess.Popen(
            [*command, *more, str(self.logs)], env=environment, stderr=subprocess.PIPE
        )

    def once(self, *more: str) -> tuple[int, str]:
        process = self.start("--once", *more)
        _, said = process.communicate(timeout=PATIENCE)
        return process.returncode, said.decode()

    @contextmanager
    def following(self) -> Iterator["subprocess.Popen[bytes]"]:
        process = self.start()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)

    def stored(self) -> list[bytes]:
        """The content of every session, generation by generation."""
        rows = Session.objects.select_related("key").filter(workspace=self.place)
        for row in rows:
            assert verify.session(row).problem == ""
        return [b"".join(read.stream(row)) for row in rows.order_by("generation", "id")]


@pytest.fixture
def machine(tmp_path: Path, live_server: LiveServer) -> Machine:
    cache.clear()
    place = build.workspace()
    text = tokens.create(place, name="m", user=build.member("ann", place))[1]
    return Machine(tmp_path, live_server.url, place, text, "one")


def soon(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_folder_is_sent_once_and_again_nothing(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(50))
    (machine.logs / "link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(machine.logs / "pipe.jsonl")
    assert machine.once() == (0, f"{len(build.log(50)):,} new bytes sent\n")
    assert machine.once() == (0, "0 new bytes sent\n")
    assert machine.stored() == [build.log(50)]


def test_what_the_server_refuses_is_said_and_ends_with_one(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(3))
    code, said = machine.once("--machine", "m" * 300)
    assert code == 1
    assert "the server refuses this (400)" in said
    assert said.endswith("1 files were not sent: see above, then run it again\n")
    assert machine.stored() == []


def test_a_lost_state_asks_the_server(machine: Machine) -> None:
    data = build.log(80)
    (machine.logs / "a.jsonl").write_bytes(data[:2000])
    machine.once()
    (machine.home / "state" / "state.json").unlink()
    (machine.logs / "a.jsonl").write_bytes(data)
    machine.once()
    assert machine.stored() == [data]


def test_a_file_is_followed_and_half_a_line_waits(machine: Machine) -> None:
    data = build.log(30)
    path = machine.logs / "a.jsonl"
    path.write_bytes(data[:100])
    with machine.following():
        for cut in (500, 1000, len(data)):
            path.write_bytes(data[:cut])
            whole = data[: data.rfind(b"\n", 0, cut) + 1]
            soon(lambda whole=whole: machine.stored() == [whole])  # type: ignore[misc]
    assert machine.stored() == [data]


def test_a_rewritten_file_becomes_a_generation(machine: Machine) -> None:
    path = machine.logs / "a.jsonl"
    first, second = build.log(200), build.log(150) + build.line("user", "x") + build.log(90)
    path.write_bytes(first)
    machine.once()
    path.write_bytes(second)
    machine.once()
    assert machine.stored() == [first, second]


def test_the_same_logs_of_two_machines_stay_two_sessions(machine: Machine, tmp_path: Path) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    text = machine.token.read_text()
    other = Machine(tmp_path, machine.url, machine.place, text, "two")
    machine.once()
    other.once()
    assert machine.stored() == [build.log(5)] * 2


def test_killed_at_any_moment_it_ends_with_every_byte_once(machine: Machine) -> None:
    rng = random.Random(7)
    data = build.log(40_000)
    path = machine.logs / "a.jsonl"
    at = 0
    for _ in range(6):
        at = min(len(data), at + rng.randrange(1, len(data) // 5))
        path.write_bytes(data[:at])
        process = machine.start()
        time.sleep(rng.uniform(0.05, 0.6))
        process.kill()
        process.communicate()
    path.write_bytes(data)
    machine.once()
    assert machine.stored() == [data]


def test_an_outage_of_the_server_is_survived(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    right, machine.url = machine.url, "http://127.0.0.1:9"
    with machine.following() as process:
        time.sleep(1.5)
        assert process.poll() is None
    machine.url = right
    machine.once()
    assert machine.stored() == [build.log(5)]


def test_it_refuses_what_is_unsafe(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    with machine.following():
        soon(lambda: (machine.home / "state" / "state.json").exists())
        code, said = machine.once()
        assert (code, "another shipper" in said) == (1, True)
    machine.token.chmod(0o644)
    assert "chmod 600" in machine.once()[1]
    machine.url = "http://recount.example.org"
    assert "plain http" in machine.once()[1]


def test_installing_can_be_looked_at_first(machine: Machine) -> None:
    process = machine.start("--install", "--dry-run")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert not (machine.home / ".config").exists()


def test_a_log_that_is_put_aside_by_the_server_holds_up_no_other(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T13"""

    def killed(delivery: Delivery, body: BinaryIO, *, now: datetime) -> Receipt | None:
        return None if delivery.path.endswith("a.jsonl") else take(delivery, body, now=now)

    monkeypatch.setattr(ingest, "take", killed)
    monkeypatch.setattr(ingest, "announce", lambda: None)
    for name in ("a.jsonl", "b.jsonl"):
        (machine.logs / name).write_bytes(build.log(5))
    process = machine.start("--once")
    soon(lambda: Job.objects.update(state=JobState.QUARANTINED) == 1)
    _, said = process.communicate(timeout=PATIENCE)

    assert "a.jsonl: quarantined: Put aside: its worker died every time" in said.decode()
    assert machine.stored() == [build.log(5)]
