"""Uploads: archives, folders, the same bytes by two ways, answers as they come."""

import io
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.conf import LazySettings
from django.test import Client

from sessions_app.domain.errors import OutOfStep
from sessions_app.ingest import deliveries, sources, stores
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import Session, Workspace
from sessions_app.store import read, sessions
from tests import build
from tests.ingest import stores as databases
from tests.ingest.test_archives import tarred, zipped
from tests.people import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def ann(place: Workspace) -> Client:
    return browser(build.member("ann", place, "curator"))


def send(client: Client, *files: tuple[str, bytes], paths: bool = True) -> list[dict[str, Any]]:
    held = []
    for name, data in files:
        held.append(io.BytesIO(data))
        held[-1].name = name.rpartition("/")[2][-99:]
    body: dict[str, Any] = {"files": held}
    if paths:
        body["paths"] = [name for name, _ in files]
    response = client.post("/upload", body, headers={"Accept": "application/x-ndjson"})
    assert response.status_code == 200
    lines = b"".join(response.streaming_content).splitlines()  # type: ignore[attr-defined]
    return [json.loads(line) for line in lines]


def stored() -> dict[str, bytes]:
    """Source path to bytes."""
    found = {}
    for row in Session.objects.select_related("key"):
        shown = sessions.shown(row, now=build.NOW)
        found[shown.source_path] = b"".join(read.stream(row))
    return found


def test_members_of_an_archive_are_stored_under_their_paths(ann: Client) -> None:
    files = {
        "projects/-srv-app/one.jsonl": build.log(3),
        "projects/-srv-app/two.jsonl.zst": zstandard.ZstdCompressor().compress(build.log(5)),
        "projects/readme.txt": b"hello\n",
        "projects/in.zip": zipped({"a.jsonl": build.log(2)}),
        "projects/empty.jsonl": b"",
    }

    results = send(ann, ("logs.tar", tarred(files)))

    assert {each["name"]: each["state"] for each in results} == {
        "projects/-srv-app/one.jsonl": "ingested",
        "projects/-srv-app/two.jsonl": "ingested",
        "projects/readme.txt": "unknown",
        "projects/in.zip": "refused",
        "projects/empty.jsonl": "refused",
    }
    assert {each["archive"] for each in results} == {"logs.tar"}
    assert stored() == {
        "projects/-srv-app/one.jsonl": build.log(3),
        "projects/-srv-app/two.jsonl": build.log(5),
    }


def test_a_dropped_folder_keeps_its_paths(ann: Client) -> None:
    results = send(ann, ("p/a/x.jsonl", build.log(3)), ("p/b/x.jsonl", build.log(4)))
    assert [each["state"] for each in results] == ["ingested", "ingested"]
    assert stored() == {"p/a/x.jsonl": build.log(3), "p/b/x.jsonl": build.log(4)}


@pytest.mark.parametrize("path", ["../x.jsonl", "/etc/x.jsonl", "a\\b.jsonl", "x" * 2000, ""])
def test_a_path_that_leads_elsewhere_is_refused(ann: Client, path: str) -> None:
    [told] = send(ann, (path, build.log(3)))
    assert told["state"] == "refused"
    assert stored() == {}


def test_a_refused_archive_leaves_nothing_behind(ann: Client) -> None:
    [told] = send(ann, ("a.zip", zipped({"good.jsonl": build.log(3), "../bad": b"x"})))
    assert told["state"] == "refused"
    assert "leads out of the archive" in told["message"]
    assert stored() == {}


def test_what_is_above_the_limit_unpacked_is_refused(ann: Client, settings: LazySettings) -> None:
    settings.UPLOAD_LIMIT = 1
    big = build.log(30_000)
    [told] = send(ann, ("a.jsonl.zst", zstandard.ZstdCompressor().compress(big)))
    assert told["state"] == "refused"
    assert "more than 1 MB" in told["message"]


def test_the_same_bytes_by_two_ways_are_one_session(ann: Client, place: Workspace) -> None:
    log = build.log(500)
    first = build.session(place, log, "/home/bob/.claude/projects/p/one.jsonl")
    # The same ends and length, another middle.
    other = log[:9000] + b"X" + log[9001:]

    [plain, zipped_too, different] = [
        *send(ann, ("one.jsonl", log)),
        *send(ann, ("b.zip", zipped({"deep/one.jsonl": log}))),
        *send(ann, ("one.jsonl", other)),
    ]

    for told in (plain, zipped_too):
        assert told["state"] == "unchanged"
        assert told["url"] == f"/sessions/{first.uid}/"
        assert "as /home/bob/.claude/projects/p/one.jsonl of box" in told["message"]
    assert different["state"] == "ingested"
    assert Session.objects.count() == 2


def test_a_log_that_was_uploaded_before_its_place_was_met_stays_one_session_and_grows(
    ann: Client, place: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(build.log(500))
    [sent] = send(ann, ("sent.jsonl", build.log(500)))

    met = build.ingest_file(place, path, machine="box")
    elsewhere = build.ingest_file(place, path, machine="other")

    assert (met.state, f"/sessions/{met.uid}/") == ("unchanged", sent["url"])
    assert elsewhere.state == "ingested"
    path.write_bytes(build.log(600))
    assert build.ingest_file(place, path, machine="box").state == "appended"
    assert b"".join(
        read.stream(Session.objects.select_related("key").get(uid=str(met.uid)))
    ) == build.log(600)
    assert Session.objects.count() == 2
    # And sent again as it was: the other machine still has that.
    assert [each["state"] for each in send(ann, ("sent.jsonl", build.log(500)))] == ["unchanged"]


def test_an_upload_that_only_begins_and_ends_like_a_log_is_another_session(
    ann: Client, place: Workspace
) -> None:
    log = build.log(500)
    send(ann, ("one.jsonl", log[:9000] + b"X" + log[9001:]))
    assert build.ingest(place, log, "/a/one.jsonl").state == "ingested"
    assert Session.objects.count() == 2


def test_a_whole_delivery_of_an_uploaded_log_is_the_same_session(
    ann: Client, place: Workspace
) -> None:
    send(ann, ("one.jsonl", build.log(50)))
    result = deliveries.append(
        place.id,
        machine="box",
        path="/a/one.jsonl",
        project="",
        offset=0,
        generation=1,
        data=build.log(50),
        now=build.NOW,
    )
    assert result.state == "unchanged"
    assert Session.objects.count() == 1


@pytest.mark.parametrize(("name", "lines"), [("one.jsonl", 3), ("sent.jsonl", 500)])
def test_an_uploaded_log_that_has_grown_since_goes_on_at_its_place(
    ann: Client, place: Workspace, tmp_path: Path, name: str, lines: int
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(build.log(600))
    [sent] = send(ann, (name, build.log(600)[: len(build.log(lines))]))

    met = build.ingest_file(place, path, machine="box")

    assert (met.state, f"/sessions/{met.uid}/") == ("appended", sent["url"])
    assert list(stored().values()) == [build.log(600)]


def test_a_short_log_of_another_name_that_begins_alike_is_another_session(
    ann: Client, place: Workspace
) -> None:
    send(ann, ("sent.jsonl", build.log(3)))
    assert build.ingest(place, build.log(9), "/a/one.jsonl").state == "ingested"
    assert Session.objects.count() == 2


def test_a_log_that_is_the_same_comes_before_one_that_grew(
    ann: Client, place: Workspace, tmp_path: Path
) -> None:
    for name, lines in (("0", 700), ("1", 500)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "full.jsonl").write_bytes(build.log(700)[: len(build.log(500))])
        if lines == 700:
            (tmp_path / name / "full.jsonl").write_bytes(build.log(700))
    send(ann, ("full.jsonl", build.log(700)[: len(build.log(500))]))

    found = [item for item in sources.walk([str(tmp_path)]) if isinstance(item, DiskFile)]
    states = {
        result.path[-12:]: result.state for result in Ingest(place.id, now=build.NOW).sources(found)
    }

    assert states == {"0/full.jsonl": "ingested", "1/full.jsonl": "unchanged"}


def test_a_delivery_in_pieces_of_an_uploaded_log_is_the_same_session(
    ann: Client, place: Workspace
) -> None:
    log = build.log(40_000)
    piece = 1024 * 1024
    assert len(log) > 2 * piece
    [sent] = send(ann, ("one.jsonl", log))

    def deliver(offset: int, data: bytes) -> Result:
        return deliveries.append(
            place.id,
            machine="box",
            path="/a/other.jsonl",
            project="",
            offset=offset,
            generation=1,
            data=data,
            now=build.NOW,
        )

    first = deliver(0, log[:piece])
    assert (first.state, f"/sessions/{first.uid}/") == ("unchanged", sent["url"])
    with pytest.raises(OutOfStep) as told:
        deliver(piece, log[piece : 2 * piece])
    assert told.value.stored == len(log)
    assert deliver(len(log), build.log(1)).state == "appended"
    assert Session.objects.count() == 1


def test_an_uploaded_database_is_met_again_and_grows(
    ann: Client, place: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "opencode.db"
    made = databases.opencode(path)
    [sent] = send(ann, ("opencode.db", path.read_bytes()))
    assert sent["state"] == "ingested"

    def take() -> list[str]:
        found = list(stores.sessions_in(str(path), "box"))
        return [result.state for result in Ingest(place.id, now=build.NOW).sources(found)]

    assert take() == ["unchanged"]
    databases.opencode_turn(made, "ses_1", 2)
    made.close()
    assert take() == ["appended"]
    assert Session.objects.count() == 1


def test_the_same_bytes_in_another_workspace_are_not_told_of(ann: Client) -> None:
    build.session(build.workspace("Other"), build.log(50))
    assert [each["state"] for each in send(ann, ("one.jsonl", build.log(50)))] == ["ingested"]


def test_a_database_becomes_its_sessions_and_leaves_no_file(
    ann: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sent.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE things (id INTEGER)")
    db.close()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    [told] = send(ann, ("x/some.db", path.read_bytes()))

    assert (told["state"], told["url"]) == ("refused", None)
    assert told["message"].startswith("x/some.db: ")
    assert list(scratch.iterdir()) == []


def test_names_that_hide_characters_are_shown_as_they_are(ann: Client) -> None:
    [told] = send(ann, ("a\u202egnp.jsonl", build.log(2)))
    assert "\u202e" not in told["name"]
    assert list(stored()) == ["a\u202egnp.jsonl"]


def test_without_the_script_a_form_does_the_same(ann: Client) -> None:
    file = io.BytesIO(zipped({"a.jsonl": build.log(2), "b.txt": b"x"}))
    file.name = "a.zip"
    response = ann.post("/upload", {"files": file}, follow=True)
    assert "Upload finished: 1 added, 1 of no known format." in response.content.decode()
