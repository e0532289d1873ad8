"""Exports: the same bytes under the same paths, below the folder that was named."""

import hashlib
import io
import json
import os
import resource
import socket
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from sessions_app.ingest import discover
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import HeldFile, Skipped
from sessions_app.models import Session, Workspace
from sessions_app.store import export
from tests import build

pytestmark = pytest.mark.django_db

DATA = build.log(5)[:-3] + b"\xff\x00\r\n"


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def taken(
    place: Workspace, path: str, data: bytes = DATA, machine: str = "box", project: str = "p"
) -> Session:
    file = HeldFile(
        machine=machine, path=path, project=project, size=len(data), stream=io.BytesIO(data)
    )
    result = Ingest(place.id, now=build.NOW).source(file)
    return Session.objects.get(uid=str(result.uid))


def exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    call_command("export", "--all", "--to", str(folder), "--json")
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["failed"] == []
    files: list[dict[str, Any]] = told["files"]
    return files


def written(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_one_session_goes_to_standard_output_as_bytes(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = taken(place, "a.jsonl")
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)

    call_command("export", str(session.uid))

    assert out.buffer.getvalue() == DATA


def test_many_sessions_go_below_a_folder_under_their_paths(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = taken(place, "/srv/logs/a.jsonl")
    taken(place, "/srv/logs/b/c.jsonl", build.log(9), machine="other box")

    files = exported(tmp_path / "out" / "deep", capsys)

    assert written(tmp_path / "out" / "deep") == {
        "box/srv/logs/a.jsonl": DATA,
        "other box/srv/logs/b/c.jsonl": build.log(9),
    }
    assert files[0] == {
        "session": str(first.uid),
        "path": str(tmp_path / "out/deep/box/srv/logs/a.jsonl"),
        "bytes": len(DATA),
        "sha256": hashlib.sha256(DATA).hexdigest(),
    }


def test_generations_of_one_path_are_told_apart(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken(place, "a.jsonl")
    taken(place, "a.jsonl", b"rewritten\n")

    exported(tmp_path / "out", capsys)

    assert written(tmp_path / "out") == {
        "box/a.jsonl": DATA,
        "box/a.jsonl.generation-2": b"rewritten\n",
    }


HOSTILE = {
    "up and away": "../../../../etc/passwd",
    "absolute": "/etc/passwd",
    "dots inside": "a/../../b/./../c.jsonl",
    "NUL": "a\0b.jsonl",
    "backslashes": "..\\..\\windows\\system32",
    "nothing": "",
    "only dots": "../..",
    "slashes": "////",
    "very long": "x" * 5_000,
    "very long in bytes": "字" * 199 + ".jsonl",
    "not text": os.fsdecode(b"caf\xe9\xff.jsonl"),
    "line ends and bidi": "a\nb\r\u202e.jsonl",
    "an option": "--to=/etc",
    "home": "~root/.ssh/authorized_keys",
}


@pytest.mark.parametrize("path", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("machine", ["box", "", "../../up", "..", "a/b", "x" * 400])
def test_a_hostile_path_stays_below_the_folder(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, machine: str
) -> None:
    taken(place, path, machine=machine)
    folder = tmp_path / "a" / "b" / "out"

    exported(folder, capsys)

    assert list(written(tmp_path).values()) == [DATA]
    assert list(written(folder).values()) == [DATA]


def test_paths_that_come_to_one_name_are_all_written(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = build.workspace("Other")
    for number, (workspace, path) in enumerate(
        [(place, "a.jsonl"), (other, "a.jsonl"), (place, "./a.jsonl"), (place, "a.jsonl/b.jsonl")]
    ):
        taken(workspace, path, build.log(number + 1))

    exported(tmp_path / "out", capsys)

    assert sorted(written(tmp_path / "out").values(), key=len) == [
        build.log(n) for n in (1, 2, 3, 4)
    ]


def test_a_file_that_is_there_is_not_overwritten(place: Workspace, tmp_path: Path) -> None:
    taken(place, "a.jsonl")
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "a.jsonl").write_text("mine")

    with pytest.raises(CommandError, match="choose an empty folder"):
        call_command("export", "--all", "--to", str(tmp_path))
    assert (tmp_path / "box" / "a.jsonl").read_text() == "mine"


@pytest.mark.parametrize("name", ["box/a.jsonl", "box"])
def test_a_link_that_is_there_is_not_followed(place: Workspace, tmp_path: Path, name: str) -> None:
    taken(place, "a.jsonl")
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / name).parent.mkdir(parents=True)
    (folder / name).symlink_to(elsewhere if name == "box" else elsewhere / "new.jsonl")

    with pytest.raises(CommandError, match="choose an empty folder"):
        call_command("export", "--all", "--to", str(folder))
    assert list(elsewhere.iterdir()) == []


def test_a_broken_session_leaves_no_part_of_it_and_stops_no_other(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = taken(place, "broken.jsonl", build.log(20_000))
    taken(place, "sound.jsonl")
    last = broken.chunks - 1
    assert last > 0
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET sealed = sealed || '\\x00'"
            " WHERE session_id = %s AND no = %s",
            [broken.id, last],
        )

    with pytest.raises(SystemExit) as ended:
        call_command("export", "--all", "--to", str(tmp_path / "out"), "--json")

    assert ended.value.code == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["session"] for each in told["failed"]] == [str(broken.uid)]
    assert f"chunk {last} of session" in told["failed"][0]["message"]
    assert written(tmp_path / "out") == {"box/sound.jsonl": DATA}


def test_a_disk_that_gets_full_leaves_no_part_of_a_record(place: Workspace, tmp_path: Path) -> None:
    """T15"""
    taken(place, "a.jsonl", build.log(20_000))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, usual[1]))
    try:
        with pytest.raises(CommandError, match="too large: what was written is kept"):
            call_command("export", "--all", "--to", str(tmp_path / "out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert written(tmp_path / "out") == {}


def test_files_are_for_their_owner_alone(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken(place, "a.jsonl")

    exported(tmp_path / "out", capsys)

    assert (tmp_path / "out" / "box" / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_several_sessions_need_a_folder(place: Workspace) -> None:
    taken(place, "a.jsonl")
    taken(place, "b.jsonl")

    with pytest.raises(CommandError, match="add --to DIR"):
        call_command("export", "--all")


def opencode_folder(folder: Path, title: str = "Fix") -> dict[str, bytes]:
    """A session of OpenCode before its database, one of its files not UTF-8."""
    about = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}
    own = {"id": "ses_1", "projectID": "p", "directory": "/x", "title": title, "time": {}}
    held = {
        "storage/session/p/ses_1.json": json.dumps(own, indent=2).encode(),
        "storage/message/ses_1/msg_1.json": json.dumps(about).encode() + b"\n",
        "storage/part/msg_1/prt_1.json": b'{"id": "prt_1", "type": "text", "text": "\xff"}',
    }
    for name, data in held.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return held


def taken_folder(place: Workspace, folder: Path) -> None:
    found = [item for item in discover.found([str(folder)]) if not isinstance(item, Skipped)]
    assert {result.state for result in Ingest(place.id, now=build.NOW).sources(found)} <= {
        "ingested",
        "rewritten",
    }


def test_a_folder_of_small_files_comes_out_as_these_files(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home" / ".local" / "share" / "opencode"
    held = opencode_folder(home)
    taken_folder(place, home)
    above = f"{socket.gethostname()}{home}"

    files = exported(tmp_path / "out", capsys)

    assert written(tmp_path / "out") == {f"{above}/{name}": data for name, data in held.items()}
    assert {item["bytes"] for item in files} == set(map(len, held.values()))
    call_command("export", "--all", "--to", str(tmp_path / "home2"), "--layout", "agent")
    assert written(tmp_path / "home2") == {
        f".local/share/opencode/{name}": data for name, data in held.items()
    }
    with tarfile.open(fileobj=io.BytesIO(b"".join(export.tar(Session.objects.all(), "path")))) as t:
        assert {m.name: t.extractfile(m).read() for m in t} == {  # type: ignore[union-attr]
            f"{above}/{name}": data for name, data in held.items()
        }


def test_an_earlier_generation_of_such_a_folder_is_kept_beside_the_later(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = opencode_folder(tmp_path / "oc")
    taken_folder(place, tmp_path / "oc")
    second = opencode_folder(tmp_path / "oc", title="Fixed at last")
    taken_folder(place, tmp_path / "oc")
    above = f"{socket.gethostname()}{tmp_path}/oc"

    exported(tmp_path / "out", capsys)

    assert written(tmp_path / "out") == {
        **{f"{above}/{name}": data for name, data in first.items()},
        **{f"{above}/{name}.generation-2": data for name, data in second.items()},
    }


def test_an_agent_finds_the_last_generation_under_the_plain_name(
    place: Workspace, tmp_path: Path
) -> None:
    path = "/home/ann/.claude/projects/-srv-app/one.jsonl"
    first, last = build.log(9), build.log(3) + build.line("user", "and then something else")
    taken(place, path, first)
    taken(place, path, last)

    call_command("export", "--all", "--to", str(tmp_path / "out"), "--layout", "agent")

    assert written(tmp_path / "out") == {
        ".claude/projects/-srv-app/one.jsonl": last,
        ".claude/projects/-srv-app/one.jsonl.generation-1": first,
    }


def test_what_only_bears_the_name_of_such_a_folder_loses_no_line(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b'{"store": "opencode", "file": "storage/a.json", "text": "{}"}\n{"more": 1}\n'
    taken(place, "/x/storage#ses_1", lines)

    exported(tmp_path / "out", capsys)

    assert written(tmp_path / "out") == {"box/x/storage#ses_1": lines}
