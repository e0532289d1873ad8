"""Files that agents and log rotation cut, replace and move: old evidence stays, new is added."""

import io
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from sessions_app.ingest import sources
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import facts, findings, read, tip, verify
from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db

LOG = build.log(500)
OTHER = LOG.replace(b"about", b"ABOUT")


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "logs"
    made.mkdir()
    return made


_clock = [1_700_000_000]


def put(path: Path, data: bytes) -> None:
    """In place: the same inode, a new time."""
    path.write_bytes(data)
    _clock[0] += 10
    os.utime(path, (_clock[0], _clock[0]))


def take(place: Workspace, folder: Path) -> dict[str, str]:
    """One run over the folder; the state of each file by its name."""
    files = [each for each in sources.walk([str(folder)]) if isinstance(each, DiskFile)]
    results = Ingest(place.id, now=build.NOW).sources(files)
    return {Path(result.path).name: result.state for result in results}


def records(place: Workspace) -> list[tuple[str, int, bytes]]:
    """Name, generation and bytes of every record, each verified, its rows counted."""
    rows = list(Session.objects.select_related("key").filter(workspace=place).order_by("id"))
    assert all(verify.session(row).is_sound for row in rows)
    assert Event.objects.count() == sum(row.events for row in rows)
    return [(_name(row), row.generation, b"".join(read.stream(row))) for row in rows]


def _name(row: Session) -> str:
    return Path(facts.opened(tip.owner_of(row).key, row).path).name


def settled(place: Workspace, folder: Path) -> bool:
    """A further look finds nothing new."""
    return set(take(place, folder).values()) == {"unchanged"}


def test_a_file_truncated_and_regrown_is_a_new_generation(place: Workspace, folder: Path) -> None:
    """T05"""
    path = folder / "a.jsonl"
    put(path, LOG)
    take(place, folder)
    put(path, b"")
    assert take(place, folder) == {"a.jsonl": "unchanged"}
    put(path, OTHER + OTHER)

    assert take(place, folder) == {"a.jsonl": "rewritten"}
    assert records(place) == [("a.jsonl", 1, LOG), ("a.jsonl", 2, OTHER + OTHER)]
    assert settled(place, folder)


def test_a_replacement_of_the_same_length_is_a_new_generation(
    place: Workspace, folder: Path
) -> None:
    """T05"""
    path = folder / "a.jsonl"
    put(path, LOG)
    take(place, folder)
    fresh = folder / "a.tmp"
    put(fresh, OTHER)
    fresh.replace(path)

    assert take(place, folder) == {"a.jsonl": "rewritten"}
    assert records(place) == [("a.jsonl", 1, LOG), ("a.jsonl", 2, OTHER)]
    assert settled(place, folder)


def test_copytruncate_keeps_the_copy_and_begins_anew(place: Workspace, folder: Path) -> None:
    """T05"""
    path = folder / "a.jsonl"
    put(path, LOG)
    take(place, folder)
    shutil.copyfile(path, folder / "a-1.jsonl")
    os.truncate(path, 0)
    with path.open("ab") as out:
        out.write(OTHER[:4_000])

    assert take(place, folder) == {"a-1.jsonl": "ingested", "a.jsonl": "rewritten"}
    assert records(place) == [
        ("a.jsonl", 1, LOG),
        ("a-1.jsonl", 1, LOG),
        ("a.jsonl", 2, OTHER[:4_000]),
    ]
    assert settled(place, folder)


def test_rotation_by_renaming_keeps_both_files(place: Workspace, folder: Path) -> None:
    """T05"""
    path = folder / "a.jsonl"
    put(path, LOG[:5_000])
    take(place, folder)
    with path.open("ab") as out:
        out.write(LOG[5_000:])
    path.rename(folder / "a-1.jsonl")
    put(path, OTHER[:4_000])

    assert take(place, folder) == {"a-1.jsonl": "ingested", "a.jsonl": "rewritten"}
    assert records(place) == [
        ("a.jsonl", 1, LOG[:5_000]),
        ("a-1.jsonl", 1, LOG),
        ("a.jsonl", 2, OTHER[:4_000]),
    ]
    assert settled(place, folder)


def test_an_inode_used_again_by_another_file_is_another_session(
    place: Workspace, folder: Path
) -> None:
    """T05"""
    path, other = folder / "a.jsonl", folder / "b.jsonl"
    put(path, LOG)
    inode = path.stat().st_ino
    take(place, folder)
    path.rename(other)
    put(other, OTHER)
    assert other.stat().st_ino == inode

    assert take(place, folder) == {"b.jsonl": "ingested"}
    assert records(place) == [("a.jsonl", 1, LOG), ("b.jsonl", 1, OTHER)]
    assert settled(place, folder)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("data", [OTHER, OTHER + OTHER, OTHER[:4_000]])
def test_a_rewritten_file_is_a_finding_for_the_admin(
    place: Workspace, folder: Path, data: bytes
) -> None:
    """T05"""
    path = folder / "a.jsonl"
    put(folder / "b.jsonl", LOG)
    for each in (LOG, data):
        put(path, each)
        call_command("ingest", str(folder), "--json", workspace=str(place.id))

    (found,) = findings.latest(place)
    assert (found.kind, found.path, found.times) == ("rewritten", str(path), 1)


@pytest.mark.parametrize("end", [b"", build.line("user", "the same end " * 400)])
def test_two_files_that_begin_and_end_alike_are_two_sessions(
    place: Workspace, folder: Path, end: bytes
) -> None:
    """T06"""
    head = build.line("user", "the same beginning " * 300)
    assert len(head) > 4096
    one, two = head + LOG + end, head + OTHER + end
    put(folder / "a.jsonl", one)
    put(folder / "b.jsonl", two)

    assert take(place, folder) == {"a.jsonl": "ingested", "b.jsonl": "ingested"}
    assert records(place) == [("a.jsonl", 1, one), ("b.jsonl", 1, two)]
    assert settled(place, folder)


def test_two_uploads_of_one_name_that_begin_and_end_alike_are_both_kept(place: Workspace) -> None:
    """T06"""
    client = browser(build.member("ann", place))
    head = build.line("user", "the same beginning " * 300)
    for middle in (LOG, OTHER):
        file = io.BytesIO(head + middle + head)
        file.name = "log.jsonl"
        answer = client.post("/upload", {"files": file}, headers={"Accept": "application/json"})
        assert answer.json()["results"][0]["state"] == "ingested"

    kept = [data for _, _, data in records(place)]
    assert kept == [head + LOG + head, head + OTHER + head]
