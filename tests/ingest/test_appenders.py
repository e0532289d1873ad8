"""Many appenders, one session: none interleaves, loses or doubles a line."""

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connections

from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import Chunk, Event, Session, Workspace
from sessions_app.store import read, verify
from tests import build
from tests.faults import databases

ROUNDS = 10
APPENDERS = 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grown.jsonl"


def at_once(*acts: Callable[[], None]) -> None:
    """Run them in threads that begin together; the first error of any is raised."""
    together = threading.Barrier(len(acts))
    errors: list[BaseException] = []

    def run(act: Callable[[], None]) -> None:
        try:
            together.wait()
            act()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def take(place: Workspace, path: Path) -> None:
    facts = path.stat()
    file = DiskFile(path=str(path), size=facts.st_size, mtime_ns=facts.st_mtime_ns, machine="box")
    ingest = Ingest(place.id, now=build.NOW)
    with ingest.overlapped():
        ingest.source(file)


@pytest.mark.django_db(transaction=True)
def test_threads_that_append_the_same_growing_file_keep_it_whole(path: Path) -> None:
    place = build.workspace()
    data = build.log(12_000) + build.line("user", "x" * 1_500_000) + build.log(2_000)
    rng = random.Random(11)
    cuts = [*sorted(rng.sample(range(1, len(data)), ROUNDS - 1)), len(data)]

    for cut in cuts:
        path.write_bytes(data[:cut])
        at_once(*([lambda: take(place, path)] * APPENDERS))
        session = Session.objects.select_related("key").get(workspace=place)
        assert verify.session(session).problem == ""
        assert session.raw_bytes == cut

    assert b"".join(read.stream(session)) == data
    assert session.events == data.count(b"\n")
    assert Event.objects.filter(session_id=session.id).count() == session.events
    assert Chunk.objects.count() == session.chunks


@pytest.mark.django_db(transaction=True)
def test_threads_that_append_while_the_file_grows_keep_it_whole(path: Path) -> None:
    place = build.workspace()
    data = build.log(20_000)
    path.write_bytes(b"")
    rng = random.Random(5)

    def write() -> None:
        with path.open("ab", buffering=0) as out:
            at = 0
            while at < len(data):
                size = rng.randrange(1, 60_000)
                out.write(data[at : at + size])
                at += size

    def follow() -> None:
        for _ in range(ROUNDS):
            take(place, path)

    at_once(write, follow, follow)
    take(place, path)

    session = Session.objects.select_related("key").get(workspace=place)
    assert b"".join(read.stream(session)) == data
    assert (session.events, session.tail_bytes) == (20_000, 0)
    assert verify.session(session).problem == ""


@pytest.mark.django_db(transaction=True)
def test_threads_that_meet_a_new_file_make_one_session_of_it(path: Path) -> None:
    place = build.workspace()
    for number in range(ROUNDS):
        each = path.with_name(f"{number}.jsonl")
        each.write_bytes(build.log(50))
        at_once(*([lambda each=each: take(place, each)] * APPENDERS))

    assert Session.objects.filter(workspace=place).count() == ROUNDS
    assert Event.objects.count() == ROUNDS * 50


@pytest.mark.django_db(transaction=True)
def test_a_workspace_that_goes_meanwhile_is_said_at_once(path: Path) -> None:
    place = build.workspace()
    path.write_bytes(build.log(50))
    facts = path.stat()
    file = DiskFile(path=str(path), size=facts.st_size, mtime_ns=facts.st_mtime_ns, machine="box")
    ingest = Ingest(place.id, now=build.NOW)
    # By now its keys are in memory, as they are in a worker that has run for a while.
    build.ingest(place, build.log(2))
    Workspace.objects.get(id=place.id).delete()

    (result,) = ingest.sources([file])

    assert (result.state, result.message) == ("failed", "the workspace of this session is gone")


def test_processes_that_append_the_same_growing_file_keep_it_whole(
    tmp_path: Path, path: Path
) -> None:
    data = build.log(30_000)
    with databases.house(tmp_path / "home") as house:
        for cut in (400_000, 1_200_001, len(data)):
            path.write_bytes(data[:cut])
            running = [house.start("ingest", str(path)) for _ in range(2)]
            for process in running:
                _, said = process.communicate(timeout=databases.PATIENCE)
                assert process.returncode == 0, said.decode()

        assert house.told("verify")["sound"] == 1
        assert list(house.exported(tmp_path / "out").values()) == [data]
        assert house.rows("SELECT count(*) FROM sessions_app_event") == [(30_000,)]
