"""T15 without a disk of its own, so that it runs everywhere: the database has no room at its n-th
write, for every n, and the kernel lets files grow to this size and no further, for many sizes."""

import contextlib
import io
import resource
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from pytest_django.fixtures import Settings

from sessions_app.ingest import lines, pipeline, receipts
from sessions_app.ingest.receipts import NO_ROOM
from sessions_app.models import Event, Job, Pulse, Receipt, Session, Workspace
from sessions_app.store import chunks, facts, jobs, read, tip, verify
from tests import build
from tests.api.test_ingest import Sender, always_staged, work  # noqa: F401
from tests.faults.forks import SMALL, SMALL_BATCH
from tests.people import browser, cast

pytestmark = pytest.mark.django_db(transaction=True)

# Above the number of writes of a run: a loop that never ends would otherwise look like patience.
MOST = 100
JSON = {"Accept": "application/json"}
MEGABYTE = 1024 * 1024
# Above what is held in memory, and of few lines, so that it is soon taken in.
LARGE = b"".join(build.line("user", f"{number} " + "words " * 600) for number in range(1_000))
MAKE = """
    CREATE SEQUENCE test_writes;
    CREATE TABLE test_room (writes bigint);
    INSERT INTO test_room VALUES (NULL);
    CREATE FUNCTION test_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('test_writes') > (SELECT writes FROM test_room) THEN
            RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
        END IF;
        RETURN NULL;
    END $$;
"""
DROP = """
    DROP FUNCTION test_write CASCADE; DROP TABLE test_room; DROP SEQUENCE test_writes;
"""


class Disk:
    """The disk of the database, as far as writing rows goes. Its errors are the server's own."""

    def holds(self, writes: int) -> None:
        """So many statements that write, and no more until it is emptied."""
        ran("ALTER SEQUENCE test_writes RESTART")
        ran(f"UPDATE test_room SET writes = {writes}")

    def is_emptied(self) -> None:
        ran("UPDATE test_room SET writes = NULL")


def ran(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(lines, "LONG_LINE", SMALL)
    monkeypatch.setattr(lines, "READ_BYTES", SMALL)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", SMALL)
    monkeypatch.setattr(pipeline, "BATCH_BYTES", SMALL_BATCH)
    ran(MAKE)
    for table in connection.introspection.table_names():
        if table.startswith("sessions_app_"):
            ran(
                f"CREATE TRIGGER test_write BEFORE INSERT OR UPDATE OR DELETE ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION test_write()"
            )
    try:
        yield Disk()
    finally:
        ran(DROP)


def stored(place: Workspace) -> dict[str, bytes]:
    """What is sound, by the name of its file."""
    rows = Session.objects.select_related("key").filter(workspace=place)
    for row in rows:
        assert verify.session(row).problem == ""
        assert Event.objects.filter(session_id=row.id).count() == row.events
    told = [(row, facts.opened(tip.owner_of(row).key, row)) for row in rows]
    return {Path(each.path).name: b"".join(read.stream(row)) for row, each in told}


def test_an_ingest_whose_database_has_no_room_at_any_write_says_so_and_the_next_one_goes_on(
    disk: Disk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T15"""
    files = {"a.jsonl": build.log(3), "b.jsonl": build.log(400) + b"{cut", "c.jsonl": b"{}\n"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    for number in range(MOST):
        place = build.workspace(f"Room for {number}")
        words = ("ingest", str(tmp_path), f"--workspace={place.id}", "--json")
        disk.holds(number)
        said = ""
        try:
            call_command(*words)
        except CommandError as error:
            said = str(error)
        disk.is_emptied()
        assert not said or "is full" in said, (number, said)
        # Without the note that nobody could take away, the next run reads in this process.
        Pulse.objects.all().delete()
        for name, data in stored(place).items():
            assert files[name].startswith(data), (number, name)
        call_command(*words)
        assert stored(place) == files, number
        if not said:
            break
    assert 5 < number < MOST - 1


def test_a_delivery_whose_database_has_no_room_at_any_write_is_kept_whole_or_not_at_all(
    disk: Disk, settings: Settings, tmp_path: Path
) -> None:
    """T15"""
    settings.STAGING_FOLDER = tmp_path / "staging"
    people, data = cast(), build.log(400)
    sender = Sender(people)

    for number in range(MOST):
        path = f"/full/{number}.jsonl"
        disk.holds(number)
        answer = sender.send(data, path=path)
        disk.is_emptied()
        if answer.status_code == 200:
            break
        assert (answer.status_code, answer["Retry-After"]) == (507, "60"), number
        assert f"{number}.jsonl" not in stored(people.workspace)
        assert sender.send(data, path=path).status_code == 200
        assert stored(people.workspace)[f"{number}.jsonl"] == data
    assert 5 < number < MOST - 1


@pytest.mark.usefixtures("always_staged")
def test_a_job_whose_database_has_no_room_at_any_write_is_done_once_there_is(
    disk: Disk, settings: Settings, tmp_path: Path
) -> None:
    """T15"""
    settings.STAGING_FOLDER = tmp_path / "staging"
    people, data = cast(), build.log(400)
    sender = Sender(people)

    for number in range(MOST):
        path = f"/full/{number}.jsonl"
        number_of = sender.send(data, path=path).json()["id"]
        disk.holds(number)
        is_full = not worked()
        disk.is_emptied()
        assert stored(people.workspace).get(f"{number}.jsonl", data) == data
        # What the minutes bring that pass until there is room.
        Job.objects.filter(state="running").update(lease_until=jobs.clock())
        jobs.revive_lost()
        receipts.sweep(jobs.clock() + timedelta(minutes=2))
        assert worked()
        assert sender.ask(f"receipts/{number_of}").json()["state"] == "taken", number
        assert stored(people.workspace)[f"{number}.jsonl"] == data
        if not is_full:
            break
    assert 5 < number < MOST - 1
    assert not list(settings.STAGING_FOLDER.iterdir())


def worked() -> bool:
    """Did the jobs that wait come to their end?"""
    with contextlib.suppress(OperationalError):
        work()
    return not Job.objects.exclude(state="done").exists()


@contextlib.contextmanager
def largest(size: int) -> Iterator[None]:
    """What is written beyond this, the kernel refuses."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.usefixtures("always_staged")
def test_a_delivery_is_whole_or_507_wherever_the_kernel_stops_a_file_from_growing(
    settings: Settings, tmp_path: Path
) -> None:
    """T15"""
    settings.STAGING_FOLDER = tmp_path / "staging"
    settings.STAGING_FOLDER.mkdir()
    people, data = cast(), LARGE
    sender = Sender(people)
    states = []
    # The file that holds it while it comes, then the sealed one, which is a little longer.
    for size in (MEGABYTE, len(data) - 1, len(data) + 100, 2 * len(data)):
        path = f"/full/{size}.jsonl"
        with largest(size):
            answer = sender.send(data, path=path)
        states.append(answer.status_code)
        if answer.status_code == 507:
            assert answer["Retry-After"] == "60"
            assert not list(settings.STAGING_FOLDER.iterdir())
            assert not Receipt.objects.filter(state="staged").exists()
            assert sender.send(data, path=path).status_code == 202
        with largest(MEGABYTE):
            work()
        told = sender.ask(f"receipts/{Receipt.objects.latest('created_at').id}").json()
        assert NO_ROOM in told["message"]
        receipts.sweep(jobs.clock() + timedelta(minutes=2))
        work()
        assert stored(people.workspace)[f"{size}.jsonl"] == data
    assert states == [507, 507, 507, 202]
    assert not list(settings.STAGING_FOLDER.iterdir())


def test_an_upload_is_whole_or_507_wherever_the_kernel_stops_a_file_from_growing() -> None:
    """T15"""
    place = build.workspace()
    client = browser(build.member("ann", place))
    data = LARGE

    def upload() -> Any:
        file = io.BytesIO(data)
        file.name = "log.jsonl"
        return client.post("/upload", {"files": file}, headers=JSON)

    for size in (0, 3 * MEGABYTE, len(data) - 1):
        with largest(size):
            answer = upload()
        assert answer.status_code == 507, size
        assert "is full" in answer.json()["error"]
        assert not Session.objects.exists()
    with largest(2 * len(data)):
        assert upload().json()["results"][0]["state"] == "ingested"
    assert stored(place) == {"log.jsonl": data}
