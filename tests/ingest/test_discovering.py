"""What is found below a folder, and what becomes of packed logs, documents and strangers' files."""

import gzip
import sqlite3
from pathlib import Path

import pytest
import zstandard

from sessions_app import formats
from sessions_app.ingest import discover, parallel, sources
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import DiskFile, Skipped
from sessions_app.models import Session, Workspace
from sessions_app.models.record import Part
from sessions_app.store import read
from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def taken(place: Workspace, folder: Path) -> dict[str, Result]:
    files = [item for item in discover.found([str(folder)]) if not isinstance(item, Skipped)]
    results = Ingest(place.id, now=build.NOW).sources(files)
    return {str(Path(result.path).relative_to(folder)): result for result in results}


def raw(result: Result) -> bytes:
    session = Session.objects.select_related("key").get(uid=str(result.uid))
    return b"".join(read.stream(session))


def test_a_packed_log_is_taken_as_what_is_inside(place: Workspace, tmp_path: Path) -> None:
    log = build.log(50)
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(log))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(log))

    found = taken(place, tmp_path)

    assert {name: result.state for name, result in found.items()} == {
        "a.jsonl": "ingested",
        "b.jsonl": "ingested",
    }
    assert [raw(result) for result in found.values()] == [log, log]


def test_a_log_that_is_packed_later_stays_the_same_session(
    place: Workspace, tmp_path: Path
) -> None:
    plain = tmp_path / "a.jsonl"
    plain.write_bytes(build.log(50))
    first = taken(place, tmp_path)["a.jsonl"]
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(plain.read_bytes()))
    plain.unlink()

    again = taken(place, tmp_path)["a.jsonl"]

    assert (again.state, again.uid) == ("unchanged", first.uid)
    assert taken(place, tmp_path)["a.jsonl"].state == "unchanged"
    assert Session.objects.count() == 1


def test_a_file_that_only_calls_itself_packed_fails_alone(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(build.log(2))
    (tmp_path / "b.jsonl").write_bytes(build.log(2))

    found = taken(place, tmp_path)

    assert (found["a.jsonl"].state, found["b.jsonl"].state) == ("failed", "ingested")
    assert "packed" in found["a.jsonl"].message


def test_a_json_file_of_no_known_format_below_a_folder_is_left_alone(
    place: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "settings.json").write_bytes(b'{"token": "secret"}')
    (tmp_path / "notes.md").write_bytes(b"# notes")
    (tmp_path / "odd.jsonl").write_bytes(b"what is this\n")

    found = taken(place, tmp_path)

    assert {name: result.state for name, result in found.items()} == {
        "settings.json": "unknown",
        "odd.jsonl": "ingested",
    }
    assert Session.objects.count() == 1


def test_a_file_somebody_names_is_kept_whatever_it_is(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(b'{"some": "thing"}')

    (file,) = discover.found([str(tmp_path / "settings.json")])
    assert isinstance(file, DiskFile)

    assert Ingest(place.id, now=build.NOW).source(file).state == "ingested"


def test_outputs_beside_a_log_are_side_files_with_their_whole_text(
    place: Workspace, tmp_path: Path
) -> None:
    text = b"line one\nline two, caf\xc3\xa9\n" * 1000
    folder = tmp_path / "0b4c" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "toolu_1.txt").write_bytes(text)

    found = taken(place, tmp_path)["0b4c/tool-results/toolu_1.txt"]
    session = Session.objects.select_related("key").get(uid=str(found.uid))

    assert (session.part, session.events, raw(found)) == (Part.SIDE, 1, text)
    (line,) = read.window(session, 0, 5)
    assert line.raw == text


def test_a_database_of_nobody_is_skipped_with_a_reason(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "some.db") as db:
        db.execute("CREATE TABLE t (a)")
    db.close()

    (item,) = discover.found([str(tmp_path)])

    assert isinstance(item, Skipped)
    assert "no agent that is known" in item.reason


def test_a_document_that_changes_becomes_a_generation(place: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.meta.json"
    path.write_bytes(b'{"agentType": "Explore", "description": "a"}')
    first = build.ingest_file(place, path)
    path.write_bytes(b'{"agentType": "Explore", "description": "a", "spawnDepth": 1}')
    second = build.ingest_file(place, path)

    assert (first.state, second.state) == ("ingested", "rewritten")
    assert raw(first) == b'{"agentType": "Explore", "description": "a"}'


def test_a_document_too_large_to_be_cut_is_kept_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "DOCUMENT_LIMIT", 10)
    head = b'{"agentType": "Explore"}'

    assert formats.choose(head, 24, "a.meta.json") is formats.UNKNOWN
    assert formats.choose(head, 10, "a.meta.json").name == "claude-code-subagent"


@pytest.mark.django_db(transaction=True)
def test_several_processes_take_the_same_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = build.workspace()
    monkeypatch.setattr(parallel, "SHARE_FILES", 3)
    for number in range(10):
        (tmp_path / f"{number}.jsonl").write_bytes(build.log(number + 1))
    files = [item for item in sources.walk([str(tmp_path)]) if isinstance(item, DiskFile)]
    told: list[int] = []

    results = list(parallel.take(place.id, files, now=build.NOW, processes=2, progress=told.append))

    assert sorted(result.lines for result in results) == list(range(1, 11))
    assert sum(told) == sum(file.size for file in files)
    assert {result.state for result in results} == {"ingested"}
