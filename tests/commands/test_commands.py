"""Commands as people and scripts use them: what they print, how they end, what they say."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from sessions_app.ingest import pipeline
from sessions_app.management.commands import ingest as ingest_command
from sessions_app.models import Session, Workspace
from sessions_app.store import write
from tests import build
from tests.faults.databases import ROOT

# An ingest writes in a second thread, which sees only what was committed.
pytestmark = pytest.mark.django_db(transaction=True)

Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """What a command prints with --json: one object and nothing else."""

    def run(*words: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        if code:
            with pytest.raises(SystemExit) as ended:
                call_command(*words, "--json")
            assert ended.value.code == code
        else:
            call_command(*words, "--json")
        said = capsys.readouterr()
        assert said.err == ""
        found: dict[str, Any] = json.loads(said.out)
        return found

    return run


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(build.log(4))
    (folder / "b.jsonl").write_bytes(build.log(2) + b"rubbish\n")
    return folder


def test_a_file_named_twice_is_taken_once(told: Told, logs: Path) -> None:
    found = told("ingest", str(logs / "a.jsonl"), str(logs), str(logs / "a.jsonl"))

    assert found["states"] == {"ingested": 2}
    assert Session.objects.count() == 2


def test_a_session_that_another_appender_made_meanwhile_is_told_as_it_is(
    told: Told, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one wins between preparing and writing; nothing is doubled."""
    real = write.together
    raced: list[bool] = []

    def late(*args: Any, **kwargs: Any) -> Any:
        if not raced:
            raced.append(True)
            build.ingest_file(Workspace.objects.get(), logs / "a.jsonl", machine=None)
        return real(*args, **kwargs)

    monkeypatch.setattr(pipeline, "together", late)
    found = told("ingest", str(logs))

    assert found["states"] == {"unchanged": 1, "ingested": 1}
    assert Session.objects.count() == 2


def test_ingest_tells_files_states_and_sums(told: Told, logs: Path) -> None:
    (logs / "link.jsonl").symlink_to(logs / "a.jsonl")

    found = told("ingest", str(logs))

    assert found["states"] == {"ingested": 2}
    assert (found["lines"], found["unreadable"]) == (7, 1)
    assert found["bytes"] == sum(len(f.read_bytes()) for f in logs.glob("[ab].jsonl"))
    assert found["skipped"] == [
        {"path": str(logs / "link.jsonl"), "reason": "a link: not followed"}
    ]
    first = found["files"][0]
    assert first == {
        "path": str(logs / "a.jsonl"),
        "state": "ingested",
        "format": "plain",
        "session": first["session"],
        "lines": 4,
        "unreadable": 0,
        "bytes": len(build.log(4)),
        "message": "",
    }
    assert Session.objects.filter(uid=first["session"]).exists()
    assert told("ingest", str(logs))["states"] == {"unchanged": 2}


def test_ingest_of_nothing_that_can_be_read_ends_with_one(told: Told, tmp_path: Path) -> None:
    found = told("ingest", str(tmp_path / "nowhere"), code=1)

    assert found["files"] == []
    assert found["skipped"][0]["reason"] == "No such file or directory"


def test_ingest_with_one_bad_file_takes_the_others_and_ends_with_one(
    told: Told, logs: Path
) -> None:
    found = told("ingest", str(logs), "/proc/self/mem", code=1)

    assert found["states"] == {"ingested": 2, "failed": 1}
    assert found["files"][2]["message"] == "Input/output error"


def test_ingest_goes_on_past_a_session_that_was_tampered_with(told: Told, logs: Path) -> None:
    told("ingest", str(logs))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_session SET events = 1 WHERE events = 4")
    for name in ("a", "b"):
        with (logs / f"{name}.jsonl").open("ab") as out:
            out.write(build.log(3))

    found = told("ingest", str(logs), code=1)

    assert found["states"] == {"failed": 1, "appended": 1}
    assert "its mark does not fit" in found["files"][0]["message"]


def test_ingest_asks_which_workspace_if_there_are_several(logs: Path) -> None:
    for name in ("One", "Two"):
        build.member(name, build.workspace(name))

    with pytest.raises(CommandError, match="--workspace: there are One, Two"):
        call_command("ingest", str(logs))
    with pytest.raises(CommandError, match="no workspace “Three”"):
        call_command("ingest", str(logs), "--workspace", "Three")
    call_command("ingest", str(logs), "--workspace", "Two", "--json")
    assert set(Session.objects.values_list("workspace__name", flat=True)) == {"Two"}


def test_verify_tells_verdicts_and_ends_with_one_if_any_is_bad(told: Told, logs: Path) -> None:
    told("ingest", str(logs))
    good = told("verify")
    assert (good["sound"], good["broken"]) == (2, 0)
    assert {"uid", "is_sound", "chunks", "raw_bytes", "head", "problem", "bad_chunk"} == set(
        good["sessions"][0]
    )
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_chunk SET sealed = sealed || '\\x00' WHERE lines = 4")

    bad = told("verify", code=1)

    assert (bad["sound"], bad["broken"]) == (1, 1)
    broken = next(each for each in bad["sessions"] if not each["is_sound"])
    assert broken["bad_chunk"] == 0
    row = Session.objects.get(uid=broken["uid"])
    assert (row.problem, row.bad_chunk) == (broken["problem"], 0)


def test_verify_of_one_looks_at_that_one(told: Told, logs: Path) -> None:
    told("ingest", str(logs))
    uid = str(Session.objects.order_by("id")[0].uid)

    assert [each["uid"] for each in told("verify", uid)["sessions"]] == [uid]


def test_reproject_tells_counts(told: Told, logs: Path) -> None:
    told("ingest", str(logs))

    found = told("reproject", "--all")

    assert [(s["events"], s["unreadable"]) for s in found["sessions"]] == [(4, 0), (3, 1)]


def test_check_keys_makes_the_key_once_and_tells_its_health(told: Told) -> None:
    first = told("check_keys")

    assert first["ok"] is True
    assert told("check_keys") == first


def test_signin_link_gives_a_link_that_works_once(told: Told, client: Any) -> None:
    found = told("signin_link")

    assert set(found) == {"url", "user", "expires_at"}
    assert found["user"] == "admin"
    assert Workspace.objects.count() == 1
    assert told("signin_link", "--user", "admin")["url"] != found["url"]
    with pytest.raises(CommandError, match="no active user “nobody”"):
        call_command("signin_link", "--user", "nobody")


@pytest.mark.parametrize("command", ["verify", "reproject", "export"])
def test_an_id_that_is_none_or_nobodys_is_said_in_a_sentence(command: str) -> None:
    with pytest.raises(CommandError, match="“rubbish” is not a session id"):
        call_command(command, "rubbish")
    nobody = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(CommandError, match=f"no session {nobody}"):
        call_command(command, nobody)


@pytest.mark.parametrize("command", ["reproject", "export"])
def test_without_an_id_a_command_says_what_to_name(command: str) -> None:
    with pytest.raises(CommandError, match="name at least one session id, or --all"):
        call_command(command)


def test_text_of_a_log_does_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "\x1b[31mred\u202e.jsonl").symlink_to("/etc/passwd")

    with pytest.raises(SystemExit):
        call_command("ingest", str(tmp_path))

    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "[ESC][31mred" in said


def test_the_bar_counts_what_is_passed_without_reading_and_ends_at_all_files(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("ingest", str(logs / "a.jsonl"), "--json")
    with (logs / "c.jsonl").open("wb") as file:
        file.write(build.log(5000))
    capsys.readouterr()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    call_command("ingest", str(logs))

    shown = capsys.readouterr().err.split("\r")
    assert shown[1].startswith("1/3 files  0.0 MB  0.0 MB/s")
    assert shown[-2].startswith("3/3 files")
    assert shown[-2].rstrip().endswith("0 s left \x1b[K")


def test_a_command_that_is_stopped_says_so_and_how_to_go_on(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ingest_command, "_take", stopped)
    with pytest.raises(CommandError, match=r"stopped: .* run the command again") as told:
        call_command("ingest", str(logs))
    assert told.value.returncode == 130


@pytest.mark.parametrize(
    "words",
    [
        ("ingest",),
        ("ingest", "/tmp", "--workspace", "nobodys"),
        ("verify", "x"),
        ("export",),
        ("reproject", "0b4c1c0e-0000-4000-8000-000000000000"),
        ("search", "x", "--limit", "0"),
        ("signin_link", "--user", "nobody"),
    ],
)
def test_with_json_what_went_wrong_is_json_as_well(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    build.workspace()
    with pytest.raises(CommandError) as told:
        call_command(*words, "--json")
    assert json.loads(capsys.readouterr().out) == {"error": str(told.value)}


def test_ingest_with_one_missing_path_takes_the_others_and_ends_with_one(
    told: Told, logs: Path
) -> None:
    found = told("ingest", str(logs), str(logs / "nowhere"), code=1)
    assert found["states"] == {"ingested": 2}
    assert [each["reason"] for each in found["skipped"]] == ["No such file or directory"]


def test_a_link_that_is_left_alone_is_told_and_no_failure(told: Told, logs: Path) -> None:
    (logs / "link.jsonl").symlink_to(logs / "a.jsonl")
    found = told("ingest", str(logs))
    assert [each["reason"] for each in found["skipped"]] == ["a link: not followed"]


def run(words: list[str], **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("PORT", "abc", "PORT must be a whole number"), ("DATABASE_URL", "mysql://x", "postgresql")],
)
def test_a_setting_that_cannot_be_is_a_sentence_and_no_traceback(
    name: str, value: str, said: str
) -> None:
    done = run(["verify", "--all", "--json"], **{name: value})
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert said in json.loads(done.stdout)["error"]


def test_a_reader_that_has_had_enough_ends_a_command_quietly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    build.workspace()
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", stdout=Closed())
    assert ended.value.code == 141
