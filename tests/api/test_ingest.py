"""Deliveries over HTTP: each byte once, a receipt for each, and an answer for every trouble."""

import errno
import gzip
import os
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
import zstandard
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from psycopg.errors import DiskFull
from pytest_django.fixtures import Settings

from sessions_app import tasks
from sessions_app.actions import tokens as actions
from sessions_app.api import ingest
from sessions_app.ingest import receipts as worker
from sessions_app.models import Job, Receipt, Session
from sessions_app.models.arrivals import ReceiptState
from sessions_app.models.jobs import JobState
from sessions_app.store import findings, jobs, read, staging, tokens, verify
from tests import build
from tests.ingest.test_appenders import at_once
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db
URL = "/api/v1/ingest"
PATH = "/a/ü.jsonl"


class Sender:
    """A machine with a token."""

    def __init__(self, people: Cast, machine: str = "box") -> None:
        self.people = people
        self.text = actions.create(people.workspace, name=machine, user=people.alice)[1]
        self.machine = machine

    def headers(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}", **more}

    def send(self, data: bytes, offset: int = 0, path: str | bytes = PATH, **more: str) -> Any:
        headers = self.headers(
            **{
                "X-Recount-Machine": quote(self.machine),
                "X-Recount-Path": quote(path),
                "X-Recount-Project": "a",
                "X-Recount-Offset": str(offset),
                **{name.replace("_", "-"): value for name, value in more.items()},
            }
        )
        return Client().post(URL, data, content_type="application/x-ndjson", headers=headers)

    def ask(self, where: str, **query: str) -> Any:
        return Client().get(f"/api/v1/ingest/{where}", query, headers=self.headers())

    def session(self) -> Session:
        return (
            Session.objects.select_related("key")
            .exclude(id=self.people.session.id)
            .get(workspace=self.people.workspace)
        )


@pytest.fixture(autouse=True)
def _settled(settings: Settings, tmp_path: Path) -> None:
    cache.clear()
    settings.STAGING_FOLDER = tmp_path / "staging"
    staging._folder()


@pytest.fixture
def sender() -> Sender:
    return Sender(cast())


def content(session: Session) -> bytes:
    assert verify.session(session).problem == ""
    return b"".join(read.stream(session))


def staged(settings: Settings) -> list[Path]:
    return list(settings.STAGING_FOLDER.iterdir())


@pytest.fixture
def always_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "AT_ONCE", 0)


def work() -> None:
    for job in Job.objects.filter(kind="ingest.receipt", state=JobState.QUEUED):
        tasks.run_job(str(job.id))


# What is stored -------------------------------------------------------------------------------


def test_lines_are_stored_and_the_receipt_says_so(sender: Sender) -> None:
    data = build.log(20)
    answer = sender.send(data[:700])
    assert answer.status_code == 200
    told = answer.json()
    assert (told["state"], told["stored"], told["generation"]) == ("taken", 700, 1)

    rest = sender.send(data[700:], 700).json()

    assert (rest["state"], rest["stored"]) == ("taken", len(data))
    session = sender.session()
    assert content(session) == data
    assert str(session.uid) == told["session"] == rest["session"]
    assert sender.ask(f"receipts/{told['id']}").json()["length"] == 700


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_packed_bodies_are_unpacked(sender: Sender, packing: str) -> None:
    data = build.log(500)
    packed = gzip.compress(data) if packing == "gzip" else zstandard.compress(data)
    answer = sender.send(
        packed, Content_Encoding=packing, X_Recount_Sha256=sha256(data).hexdigest()
    )
    assert answer.status_code == 200
    assert content(sender.session()) == data


def test_the_path_is_the_one_the_machine_named(sender: Sender) -> None:
    sender.send(build.log(2), path="/home/ü/a b%/x\udcff.jsonl".encode(errors="surrogateescape"))
    page = browser(sender.people.alice).get(f"/api/v1/sessions/{sender.session().uid}").json()
    assert page["source_path"].startswith("/home/ü/a b%/x")
    assert (page["machine"], page["project"]) == ("box", "a")


def test_the_same_session_of_two_machines_stays_two(sender: Sender) -> None:
    other = Sender.__new__(Sender)
    other.people, other.text, other.machine = sender.people, sender.text, "other"
    one, two = sender.send(build.log(4)).json(), other.send(build.log(4)).json()
    assert one["session"] != two["session"]


def test_an_offset_can_be_asked_for_and_the_end_compared(sender: Sender) -> None:
    data = build.log(100)
    empty = sender.ask("offset", machine="box", path="/a/ü.jsonl").json()
    assert empty == {"stored": 0, "generation": 0, "agrees": None, "generations": []}
    sender.send(data)
    last = sha256(data[-4096:]).hexdigest()
    told = sender.ask("offset", machine="box", path="/a/ü.jsonl", sha256=last).json()
    assert (told["stored"], told["agrees"]) == (len(data), True)
    wrong = sender.ask("offset", machine="box", path="/a/ü.jsonl", sha256="0" * 64).json()
    assert wrong["agrees"] is False


def test_what_does_not_follow_is_refused_with_what_is_stored(sender: Sender) -> None:
    sender.send(build.log(5))
    length = len(build.log(5))
    answer = sender.send(build.log(9), length + 1)
    assert answer.status_code == 409
    assert (answer.json()["stored"], answer.json()["generation"]) == (length, 1)
    assert Receipt.objects.count() == 1


# Once -----------------------------------------------------------------------------------------


def test_the_same_delivery_twice_gives_the_same_receipt(sender: Sender) -> None:
    for name in ("", "k1"):
        first = sender.send(build.log(5), Idempotency_Key=name).json()
        again = sender.send(build.log(5), Idempotency_Key=name)
        assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert content(sender.session()) == build.log(5)


def test_the_same_key_for_other_bytes_or_another_place_is_refused(sender: Sender) -> None:
    sender.send(build.log(5), Idempotency_Key="k")
    other_bytes = sender.send(build.log(6), Idempotency_Key="k")
    other_place = sender.send(build.log(5), path="/other", Idempotency_Key="k")
    assert other_bytes.status_code == other_place.status_code == 422
    assert "Idempotency-Key" in other_bytes.json()["error"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at_most", [ingest.AT_ONCE, 0])
def test_the_same_delivery_in_parallel_is_one(
    monkeypatch: pytest.MonkeyPatch, at_most: int
) -> None:
    """T03"""
    monkeypatch.setattr(ingest, "AT_ONCE", at_most)
    monkeypatch.setattr(ingest, "announce", lambda: None)
    sender = Sender(cast())
    answers: list[Any] = []
    send = lambda: answers.append(sender.send(build.log(3000), Idempotency_Key="k"))  # noqa: E731

    at_once(send, send, send)
    work()

    assert len({answer.json()["id"] for answer in answers}) == 1
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert content(sender.session()) == build.log(3000)
    assert Receipt.objects.get().state == ReceiptState.TAKEN
    assert Job.objects.filter(kind="ingest.receipt").count() == (0 if at_most else 1)


# Staged ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_staged")
def test_a_large_body_is_staged_sealed_and_worked_off(sender: Sender, settings: Settings) -> None:
    data = build.line("user", "canary-of-the-staging-folder " * 100_000)
    answer = sender.send(data)
    assert (answer.status_code, answer.json()["state"]) == (202, "staged")
    (file,) = staged(settings)
    assert b"canary" not in file.read_bytes()
    assert b"jsonl" not in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    assert sender.send(data).json()["id"] == answer.json()["id"]

    work()

    told = sender.ask(f"receipts/{answer.json()['id']}").json()
    assert (told["state"], told["lines"], told["stored"]) == ("taken", 1, len(data))
    assert staged(settings) == []
    assert content(sender.session()) == data
    assert sender.send(data).status_code == 200


@pytest.mark.usefixtures("always_staged")
def test_job_rows_carry_ids_only(sender: Sender) -> None:
    answer = sender.send(build.log(3)).json()
    job = Job.objects.get(kind="ingest.receipt")
    assert job.arguments == {"receipt": answer["id"]}
    assert job.workspace_id == sender.people.workspace.id


@pytest.mark.usefixtures("always_staged")
def test_when_all_hands_are_busy_a_small_body_waits_too(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "AT_ONCE", 8 * 2**20)
    for _ in range(4):
        ingest.HANDS.acquire()
    try:
        assert sender.send(build.log(3)).status_code == 202
    finally:
        for _ in range(4):
            ingest.HANDS.release()
    assert sender.send(build.log(3), path="/other").status_code == 200


@pytest.mark.usefixtures("always_staged")
def test_a_staged_delivery_that_no_longer_follows_is_refused_and_may_come_again(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = build.log(50)
    answer = sender.send(data[500:], 500)
    work()
    refused = sender.ask(f"receipts/{answer.json()['id']}").json()
    assert refused["state"] == "refused"
    assert "offset 0" in refused["message"]

    monkeypatch.setattr(ingest, "AT_ONCE", 8 * 2**20)
    sender.send(data[:500])
    again = sender.send(data[500:], 500)

    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    assert content(sender.session()) == data


@pytest.mark.usefixtures("always_staged")
def test_bytes_gone_from_the_staging_folder_are_an_alarm(
    sender: Sender, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    answer = sender.send(build.log(5)).json()
    staged(settings)[0].unlink()
    work()
    told = sender.ask(f"receipts/{answer['id']}").json()
    assert told["state"] == "refused"
    assert "send them again" in told["message"]
    assert "staged bytes are gone" in caplog.text

    sender.send(build.log(5))
    work()
    assert sender.ask(f"receipts/{answer['id']}").json()["state"] == "taken"


@pytest.mark.usefixtures("always_staged")
@pytest.mark.parametrize("damage", ["flip", "cut", "swap", "head"])
def test_damaged_staged_bytes_are_refused(sender: Sender, settings: Settings, damage: str) -> None:
    answer = sender.send(build.log(40_000)).json()
    (file,) = staged(settings)
    raw = bytearray(file.read_bytes())
    if damage == "flip":
        raw[-5] ^= 1
    elif damage == "cut":
        del raw[-700_000:]
    elif damage == "head":
        raw[:7] = b"another"
    else:
        other = sender.send(build.log(40_001), path="/b").json()
        raw = bytearray((settings.STAGING_FOLDER / other["id"]).read_bytes())
    file.write_bytes(raw)
    tasks.run_job(str(Job.objects.get(arguments__receipt=answer["id"]).id))
    assert sender.ask(f"receipts/{answer['id']}").json()["state"] == "refused"


@pytest.mark.usefixtures("always_staged")
def test_the_sweep_takes_up_what_was_forgotten_and_clears_what_is_over(
    sender: Sender, settings: Settings
) -> None:
    sender.send(build.log(5))
    Job.objects.all().delete()
    orphan, fresh = settings.STAGING_FOLDER / str(uuid4()), settings.STAGING_FOLDER / ".draft"
    orphan.write_bytes(b"x")
    fresh.write_bytes(b"x")
    os.utime(orphan, (0, 0))
    now = jobs.clock()

    assert worker.sweep(now) == 0
    assert worker.sweep(now + timedelta(minutes=2)) == 1
    work()

    assert staged(settings) == [fresh]
    assert content(sender.session()) == build.log(5)
    worker.sweep(now + timedelta(days=8))
    assert Receipt.objects.count() == 0


@pytest.mark.usefixtures("always_staged")
@pytest.mark.parametrize(
    ("state", "told"),
    [
        (JobState.QUARANTINED, ("quarantined", "its worker died every time")),
        (JobState.CANCELLED, ("cancelled", "its job was cancelled")),
        (JobState.FAILED, ("staged", "The disk is full. It is tried again by itself.")),
        (JobState.RUNNING, ("staged", "")),
    ],
)
def test_a_receipt_says_why_its_delivery_waits(
    sender: Sender, state: JobState, told: tuple[str, str]
) -> None:
    """T13"""
    number = sender.send(build.log(3)).json()["id"]
    Job.objects.update(state=state, error="The disk is full.")

    again = sender.send(build.log(3))
    assert (again.status_code, again.json()["state"]) == (202, told[0])
    receipt = sender.ask(f"receipts/{number}").json()
    assert receipt["state"] == told[0]
    assert told[1] in receipt["message"]
    assert bool(receipt["message"]) == bool(told[1])

    Job.objects.update(state=JobState.QUEUED)
    work()
    assert sender.ask(f"receipts/{number}").json()["state"] == "taken"


def test_a_delivery_whose_reader_was_killed_is_left_to_a_worker_the_next_time(
    sender: Sender, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T13"""
    killed: list[Path] = []

    def kill(*_: object, **__: object) -> None:
        """What lies there at this moment is what a dead process leaves."""
        killed.extend(staged(settings))
        raise OSError("killed")

    with monkeypatch.context() as reader:
        reader.setattr("sessions_app.ingest.deliveries.append", kill)
        with pytest.raises(OSError, match="killed"):
            sender.send(build.log(3))
    assert staged(settings) == []
    for mark in killed:
        mark.touch()

    answer = sender.send(build.log(3))
    assert (answer.status_code, answer.json()["state"]) == (202, "staged")
    assert sender.send(build.log(4), path="/other").status_code == 200
    work()
    assert sender.ask(f"receipts/{answer.json()['id']}").json()["state"] == "taken"


def test_a_log_that_was_rewritten_on_its_machine_is_a_finding(sender: Sender) -> None:
    """T05"""
    sender.send(build.log(5))
    sender.send(build.log(5).replace(b"about", b"ABOUT"))
    (found,) = findings.latest(sender.people.workspace)
    assert (found.kind, found.path) == ("rewritten", f"box: {PATH}")


# Bounds ---------------------------------------------------------------------------------------


def test_a_body_above_the_limit_is_413_packed_or_not(sender: Sender, settings: Settings) -> None:
    settings.INGEST_BODY = 1
    large = b"x" * (2**20 + 1)
    assert sender.send(large).status_code == 413
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert sender.send(bomb, Content_Encoding="gzip").status_code == 413
    packed = zstandard.compress(b"\0" * 50_000_000)
    assert sender.send(packed, Content_Encoding="zstd").status_code == 413
    assert sender.send(b"x" * 2**20).status_code == 200


@pytest.mark.parametrize("packing", ["gzip", "zstd", "br"])
def test_a_body_that_cannot_be_unpacked_is_400(sender: Sender, packing: str) -> None:
    whole = gzip.compress(build.log(500))
    assert sender.send(whole[:-20], Content_Encoding=packing).status_code == 400
    assert sender.send(b"junk", Content_Encoding=packing).status_code == 400
    assert Receipt.objects.count() == 0


def test_bytes_that_are_not_the_promised_ones_are_400(sender: Sender) -> None:
    assert sender.send(build.log(3), X_Recount_Sha256="0" * 64).status_code == 400
    assert sender.send(build.log(3), X_Recount_Sha256="zz").status_code == 400


def test_names_are_bounded(sender: Sender) -> None:
    data = build.log(3)
    assert sender.send(data, X_Recount_Machine="").status_code == 400
    assert sender.send(data, X_Recount_Machine="a%00b").status_code == 400
    assert sender.send(data, X_Recount_Path="x" * 5000).status_code == 400
    assert sender.send(data, X_Recount_Project="x" * 500).status_code == 400


def test_a_path_that_is_no_text_is_asked_for_as_it_was_sent(sender: Sender) -> None:
    data = build.log(3)
    assert sender.send(data, path=b"/a/caf\xe9.jsonl").status_code == 200
    headers = sender.headers()
    answer = Client().get(f"{URL}/offset?machine=box&path=/a/caf%E9.jsonl", headers=headers)
    assert answer.json()["stored"] == len(data)


def test_what_a_sender_came_upon_is_kept_only_if_it_is_a_log(sender: Sender) -> None:
    told = sender.send(b'{"apiKey": 1}', path="/a/settings.json", X_Recount_Found="1").json()
    assert (told["state"], told["session"], told["stored"]) == ("taken", None, None)
    assert told["message"] == "not a log of a known format"
    told = sender.send(build.log(3), path="/a/b.json", X_Recount_Found="1").json()
    assert told["session"] is not None


@pytest.mark.usefixtures("always_staged")
def test_what_a_sender_came_upon_may_wait_and_is_judged_then(sender: Sender) -> None:
    answer = sender.send(b'{"apiKey": 1}', path="/a/settings.json", X_Recount_Found="1")
    assert answer.status_code == 202
    work()
    told = sender.ask(f"receipts/{answer.json()['id']}").json()
    assert (told["state"], told["session"]) == ("taken", None)


@pytest.mark.parametrize("offset", ["-1", "x", str(2**70)])
def test_an_offset_that_is_none_is_422(sender: Sender, offset: str) -> None:
    assert sender.send(build.log(3), X_Recount_Offset=offset).status_code == 422


def test_a_token_that_sent_its_share_waits(sender: Sender, settings: Settings) -> None:
    settings.INGEST_RATE = 1
    assert sender.send(b"x" * 2**20).status_code == 200
    answer = sender.send(build.log(2), path="/b")
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert sender.ask("offset", machine="box", path="/b").status_code == 429


@pytest.mark.usefixtures("always_staged")
def test_a_full_staging_folder_is_429_until_it_is_worked_off(
    sender: Sender, settings: Settings
) -> None:
    settings.STAGING_LIMIT = 1
    assert sender.send(b"x" * 2**20).status_code == 202
    answer = sender.send(build.log(2), path="/b")
    assert (answer.status_code, answer["Retry-After"]) == (429, "30")
    work()
    assert sender.send(build.log(2), path="/b").status_code == 202


@pytest.mark.usefixtures("always_staged")
def test_what_was_put_aside_does_not_stop_the_others_and_is_bounded_by_itself(
    sender: Sender, settings: Settings
) -> None:
    """T13"""
    settings.STAGING_LIMIT = 1
    for path in ("/a", "/b"):
        assert sender.send(b"x" * 2**20, path=path).status_code == 202
        Job.objects.update(state=JobState.QUARANTINED)
    answer = sender.send(build.log(2), path="/c")
    assert (answer.status_code, answer["Retry-After"]) == (429, "600")
    assert "retry or discard them on the page Jobs" in answer.json()["error"]

    job = Job.objects.latest("created_at")
    client = browser(sender.people.alice)
    assert "Discard the delivery" in client.get("/jobs/").content.decode()
    assert browser(sender.people.charlie).post(f"/jobs/{job.id}/discard").status_code == 404
    assert browser(sender.people.bob).post(f"/jobs/{job.id}/discard").status_code == 403
    assert client.post(f"/jobs/{job.id}/discard").status_code == 302
    assert client.post(f"/jobs/{job.id}/discard").status_code == 409

    assert len(staged(settings)) == 1
    assert sender.send(build.log(2), path="/c").status_code == 202
    # Mended, it may come again.
    assert sender.send(b"x" * 2**20, path="/b").status_code == 429
    work()
    assert sender.send(b"x" * 2**20, path="/b").status_code == 202


@pytest.mark.usefixtures("always_staged")
def test_a_full_disk_is_507_and_then_it_works_again(
    sender: Sender, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15"""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", full)
        answer = sender.send(build.log(5))
        assert (answer.status_code, answer["Retry-After"]) == (507, "60")
        assert staged(settings) == []
        assert Receipt.objects.count() == 0
    assert sender.send(build.log(5)).status_code == 202


def test_a_full_database_is_507_and_then_it_works_again(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15"""

    def full(*_: object, **__: object) -> None:
        raise OperationalError("could not extend file") from DiskFull()

    with monkeypatch.context() as disk:
        disk.setattr("sessions_app.ingest.deliveries.append", full)
        assert sender.send(build.log(5)).status_code == 507
        assert Receipt.objects.count() == 0
    assert sender.send(build.log(5)).status_code == 200


@pytest.mark.usefixtures("always_staged")
def test_a_job_that_met_a_full_disk_is_tried_again_by_itself(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15"""

    def full(*_: object, **__: object) -> None:
        raise OperationalError("could not extend file") from DiskFull()

    sender.send(build.log(5))
    with monkeypatch.context() as disk:
        disk.setattr("sessions_app.ingest.deliveries.append", full)
        work()
    assert Job.objects.get(kind="ingest.receipt").state == JobState.FAILED
    assert worker.sweep(jobs.clock() + timedelta(minutes=2)) == 1
    work()
    assert content(sender.session()) == build.log(5)


# Who ------------------------------------------------------------------------------------------


def routes(sender: Sender) -> Iterator[tuple[str, str]]:
    yield "post", URL
    yield "get", "/api/v1/ingest/offset?machine=box&path=x"
    yield "get", f"/api/v1/ingest/receipts/{uuid4()}"


def test_a_browsers_cookie_opens_no_door_of_machines(sender: Sender) -> None:
    client = browser(sender.people.alice)
    for method, url in routes(sender):
        answer = getattr(client, method)(url)
        assert answer.status_code == 401, url
        assert "Bearer" in answer.json()["error"]
        assert answer["WWW-Authenticate"] == "Bearer"


def test_a_token_opens_nothing_but_the_doors_of_machines(sender: Sender) -> None:
    people = sender.people
    for url in (
        "/",
        "/machines/",
        f"/sessions/{people.session.uid}/",
        f"/sessions/{people.session.uid}/export",
        "/api/v1/workspaces",
        "/api/v1/jobs",
        f"/api/v1/sessions/{people.session.uid}",
        f"/api/v1/workspaces/{people.workspace.id}/sessions",
    ):
        answer = Client().get(url, headers=sender.headers())
        assert answer.status_code in (302, 401), url


def test_a_revoked_token_sends_nothing_more(sender: Sender) -> None:
    sender.send(build.log(2))
    token = tokens.valid(sender.text)
    assert token is not None
    actions.revoke(sender.people.workspace, token.id, now=build.NOW)
    assert sender.send(build.log(3)).status_code == 401


def test_receipts_and_places_of_another_workspace_do_not_exist(sender: Sender) -> None:
    receipt = sender.send(build.log(2)).json()
    other = Sender.__new__(Sender)
    other.people, other.machine = sender.people, "box"
    place = build.workspace("Charlie's other")
    other.text = actions.create(place, name="x", user=sender.people.charlie)[1]
    assert other.ask(f"receipts/{receipt['id']}").status_code == 404
    assert other.ask("offset", machine="box", path="/a/ü.jsonl").json()["stored"] == 0
    assert other.send(build.log(2)).json()["session"] != receipt["session"]
