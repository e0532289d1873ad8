"""`manage.py reconcile`: the disk beside the record."""

import gzip
import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sessions_app.ingest import reconcile, sources
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.reconcile import CleanUp
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import Source, WatchedRoot, Workspace
from sessions_app.store import findings
from tests import build
from tests.faults.test_strange_files import as_nobody, open_folder  # noqa: F401

pytestmark = pytest.mark.django_db
NOTHING = dict.fromkeys(reconcile.LABELS, 0)


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def told() -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    try:
        call_command("reconcile", "--json", stdout=out)
    except SystemExit as ended:
        code = int(str(ended.code))
    roots = json.loads(out.getvalue())["roots"]
    return roots[0] if roots else {}, code


def watched(place: Workspace, path: Path) -> WatchedRoot:
    return WatchedRoot.objects.create(workspace=place, path=str(path))


def take(place: Workspace, path: Path) -> None:
    build.ingest_file(place, path, sources.this_machine())


def counts(summary: dict[str, Any]) -> dict[str, int]:
    return {name: summary[name] for name in NOTHING if summary[name]}


def test_nothing_watched_is_nothing_missing() -> None:
    build.workspace()
    assert told() == ({}, 0)


def test_what_is_all_in_is_complete(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(build.log(3) + b"broken {\n")
    take(place, tmp_path / "a.jsonl")
    watched(place, tmp_path)
    summary, code = told()
    assert code == 0
    assert counts(summary) == {"on_disk": 1, "ingested": 1, "malformed": 1}
    assert summary["malformed_lines"] == 1


def test_what_is_missing_or_has_grown_is_exit_code_one(place: Workspace, tmp_path: Path) -> None:
    grown = tmp_path / "grown.jsonl"
    grown.write_bytes(build.log(3))
    take(place, grown)
    more = build.line("user", "more")
    with grown.open("ab") as file:
        file.write(more)
    (tmp_path / "new.jsonl").write_bytes(build.log(1))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    watched(place, tmp_path)
    summary, code = told()
    assert code == 1
    assert counts(summary) == {"on_disk": 3, "ingested": 1, "growing": 1, "missing": 1}
    assert summary["bytes_behind"] == len(more) + len(build.log(1))


def test_generations_links_and_what_is_gone_are_told_apart(
    place: Workspace, tmp_path: Path
) -> None:
    again, gone = tmp_path / "again.jsonl", tmp_path / "gone.jsonl"
    again.write_bytes(build.log(3))
    gone.write_bytes(build.log(3))
    take(place, again)
    take(place, gone)
    again.write_bytes(build.line("user", "something else entirely, and longer than it was") * 9)
    take(place, again)
    gone.unlink()
    (tmp_path / "link.jsonl").symlink_to(again)
    watched(place, tmp_path)
    summary, code = told()
    assert code == 1
    assert counts(summary) == {
        "on_disk": 1,
        "ingested": 1,
        "rewritten": 1,
        "deleted": 1,
        "refused": 1,
    }
    told()
    rows = findings.latest(place)
    assert [(row.kind, Path(row.path).name, row.times) for row in rows] == [
        ("deleted", "gone.jsonl", 2)
    ]
    gone.write_bytes(build.log(3))
    told()
    assert findings.number_open(place) == 0


def test_what_is_there_and_no_log_is_told_and_nothing_is_missing(
    place: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(build.log(3))
    (tmp_path / "odd.jsonl").write_bytes(b"what is this\n")
    (tmp_path / "settings.json").write_bytes(b'{"token": "secret"}')
    (tmp_path / "notes.md").write_bytes(b"# notes")
    for name in ("a.jsonl", "odd.jsonl"):
        take(place, tmp_path / name)
    watched(place, tmp_path)

    summary, code = told()

    assert code == 0
    assert counts(summary) == {
        "on_disk": 3,
        "ingested": 2,
        "malformed": 1,
        "unknown": 2,
        "other": 1,
    }


def test_what_the_agent_will_delete_is_an_alert_until_it_is_in(
    place: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / ".claude" / "projects" / "p" / "old.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(build.log(3))
    old = (datetime.now(UTC) - timedelta(days=25)).timestamp()
    os.utime(log, (old, old))
    watched(place, tmp_path)
    summary, code = told()
    assert (summary["endangered"], code) == (1, 1)
    assert findings.latest(place)[0].kind == "endangered"
    take(place, log)
    assert told()[0]["endangered"] == 0
    assert findings.number_open(place) == 0


def test_other_machines_and_other_workspaces_are_not_compared(
    place: Workspace, tmp_path: Path
) -> None:
    build.ingest(place, build.log(2), str(tmp_path / "elsewhere.jsonl"))
    (tmp_path / "a.jsonl").write_bytes(build.log(2))
    take(build.workspace("Other"), tmp_path / "a.jsonl")
    watched(place, tmp_path)
    summary, _ = told()
    assert counts(summary) == {"on_disk": 1, "missing": 1}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ('{"cleanupPeriodDays": 90}', 90),
        ('{"cleanupPeriodDays": 0}', 0),
        ('{"cleanupPeriodDays": "x"}', 30),
        ('{"cleanupPeriodDays": -1}', 30),
        ('{"cleanupPeriodDays": true}', 30),
        ("[", 30),
        ("[]", 30),
        ("{}", 30),
        (None, 30),
    ],
)
def test_the_days_are_those_of_the_agents_settings(
    tmp_path: Path, text: str | None, days: int
) -> None:
    (tmp_path / ".claude").mkdir()
    if text is not None:
        (tmp_path / ".claude" / "settings.json").write_text(text)
    item = old_file(tmp_path / ".claude/projects/p/a.jsonl")
    assert CleanUp({}, tmp_path).date_of(item) == OLD + timedelta(days=days)


OLD = datetime(2026, 3, 1, tzinfo=UTC)


def old_file(path: Path) -> DiskFile:
    mtime = int(OLD.timestamp()) * 10**9
    return DiskFile(path=str(path), size=1, mtime_ns=mtime, machine="box")


def test_each_account_is_cleaned_up_by_its_own_settings_and_all_by_the_organisations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, told in (("ann/.claude", '{"cleanupPeriodDays": 3}'), ("moved", "{}"), ("x", "{}")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "settings.json").write_text(told)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    (tmp_path / "link").symlink_to(tmp_path / "moved")
    managed = tmp_path / "managed-settings.json"
    monkeypatch.setattr(reconcile, "managed_settings", lambda: [tmp_path / "none", managed])

    def days() -> dict[str, int]:
        clean_up = CleanUp({"CLAUDE_CONFIG_DIR": str(tmp_path / "link")}, tmp_path)
        names = ("ann/.claude", "bob/.claude", "moved", "work", "x", "elsewhere")
        dates = {
            name: clean_up.date_of(old_file(tmp_path / name / "projects/a.jsonl")) for name in names
        }
        return {name: (date - OLD).days for name, date in dates.items() if date is not None}

    assert days() == {"ann/.claude": 3, "bob/.claude": 30, "moved": 30, "work": 5}
    managed.write_text('{"cleanupPeriodDays": 1}')
    assert days() == dict.fromkeys(("ann/.claude", "bob/.claude", "moved", "work"), 1)
    backup = old_file(tmp_path / "ann" / ".claude" / "history.jsonl")
    assert CleanUp({}, tmp_path).date_of(backup) is None


def test_a_file_that_was_rewritten_in_place_and_not_read_again_is_not_all_in(
    place: Workspace, tmp_path: Path
) -> None:
    same, cut, touched = (tmp_path / f"{name}.jsonl" for name in ("same", "cut", "touched"))
    for path in (same, cut, touched):
        path.write_bytes(build.log(30))
        take(place, path)
    watched(place, tmp_path)
    assert told()[1] == 0

    same.write_bytes(build.log(30).replace(b"about", b"aloud"))
    cut.write_bytes(build.line("user", "another beginning"))
    os.utime(touched, (1_900_000_000, 1_900_000_000))
    summary, code = told()

    assert code == 1
    assert counts(summary) == {"on_disk": 3, "ingested": 3, "changed": 2}
    assert summary["bytes_behind"] == same.stat().st_size + cut.stat().st_size
    take(place, same)
    take(place, cut)
    summary, code = told()
    assert (counts(summary)["rewritten"], summary["changed"], code) == (2, 0, 0)


def test_a_packed_log_of_which_only_the_beginning_is_in_is_not_all_in(
    place: Workspace, tmp_path: Path
) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(build.log(3000)))
    watched(place, tmp_path)
    (file,) = sources.walk([str(tmp_path)])
    assert isinstance(file, DiskFile)
    Ingest(place.id, now=build.NOW).source(file)
    assert told()[1] == 0

    # As a run leaves it that was cut off between two batches.
    Source.objects.update(mtime_ns=0)
    packed.write_bytes(gzip.compress(build.log(3010)))
    summary, code = told()
    assert (summary["changed"], code) == (1, 1)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may read less")
def test_what_lies_in_a_folder_that_cannot_be_looked_into_is_not_said_to_be_deleted(
    place: Workspace,
    open_folder: Path,  # noqa: F811
) -> None:
    inner = open_folder / "inner"
    inner.mkdir()
    for path in (inner / "a.jsonl", open_folder / "b.jsonl"):
        path.write_bytes(build.log(3))
        take(place, path)
    watched(place, open_folder)
    inner.chmod(0)
    (open_folder / "b.jsonl").unlink()
    with as_nobody():
        summary, code = told()
    inner.chmod(0o755)

    assert code == 1
    assert counts(summary) == {"refused": 1, "deleted": 1}
    assert [Path(row.path).name for row in findings.latest(place)] == ["b.jsonl"]


def test_a_source_that_is_gone_as_a_whole_is_said_and_so_is_each_of_its_files(
    place: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(build.log(3))
    take(place, folder / "a.jsonl")
    watched(place, folder)
    shutil.rmtree(folder)
    summary, code = told()
    assert (counts(summary), code) == ({"refused": 1, "deleted": 1}, 1)


def test_a_database_of_no_agent_is_unknown_and_hinders_nothing(
    place: Workspace, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "other.db") as made:
        made.execute("CREATE TABLE t (x)")
    watched(place, tmp_path)
    summary, code = told()
    assert (counts(summary), code) == ({"on_disk": 1, "unknown": 1}, 0)


def test_a_name_of_strange_bytes_is_compared_like_any_other(
    place: Workspace, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    name = b"caf\xe9 \x1b[31m\n\xff.jsonl"
    raw = os.fsencode(tmp_path) + b"/" + name
    with open(raw, "wb") as file:  # noqa: PTH123
        file.write(build.log(3))
    watched(place, tmp_path)
    assert counts(told()[0]) == {"on_disk": 1, "missing": 1}
    with pytest.raises(SystemExit):
        call_command("reconcile")
    said = capsysbinary.readouterr().out
    assert b"\x1b" not in said
    assert b"not all ingested" in said
    take(place, Path(os.fsdecode(raw)))
    assert counts(told()[0]) == {"on_disk": 1, "ingested": 1}
    os.unlink(raw)  # noqa: PTH108
    assert counts(told()[0]) == {"deleted": 1}


def test_folders_of_agents_that_no_source_covers_are_named(
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    said = f"Not watched: {folder} of Codex\n"
    call_command("reconcile")
    assert said in capsys.readouterr().out
    watched(place, tmp_path)
    call_command("reconcile")
    assert said not in capsys.readouterr().out
