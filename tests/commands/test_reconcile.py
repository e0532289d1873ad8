"""`manage.py reconcile`: the disk beside the record."""

import json
import os
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sessions_app.ingest import reconcile, sources
from sessions_app.ingest.reconcile import CleanUp
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import WatchedRoot, Workspace
from sessions_app.store import findings
from tests import build

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
    [('{"cleanupPeriodDays": 90}', 90), ('{"cleanupPeriodDays": "x"}', 30), ("[", 30), ("[]", 30)],
)
def test_the_days_are_those_of_the_agents_settings(tmp_path: Path, text: str, days: int) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(text)
    assert CleanUp.of({}, tmp_path).days == days
    assert CleanUp.of({}, tmp_path / "nobody").days == reconcile.USUAL_DAYS


def test_a_folder_the_agent_was_moved_to_is_cleaned_up_as_well(tmp_path: Path) -> None:
    moved = CleanUp.of({"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}, tmp_path)
    old = 1_000_000_000
    for path, is_endangered in (("moved/projects/a.jsonl", True), ("backup/a.jsonl", False)):
        item = DiskFile(path=str(tmp_path / path), size=1, mtime_ns=old, machine="box")
        assert moved.endangers(item, datetime.now(UTC)) is is_endangered


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
