"""T16: what is no readable log is skipped with a reason, and nothing is ever followed out."""

import contextlib
import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions_app.ingest import sources
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile, Skipped
from sessions_app.models import Workspace
from tests import build
from tests.faults import databases
from tests.faults.databases import ROOT, House

# Runs a command and writes down every file that Python was asked to open meanwhile.
WATCHED = """
import os, sys
opened = open(sys.argv[1], "w", buffering=1)
def hook(event, arguments):
    if event == "open":
        opened.write(f"{arguments[0]}\\n")
sys.addaudithook(hook)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", *sys.argv[2:]])
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "sub").mkdir(parents=True)
    (made / "good.jsonl").write_bytes(build.log(5))
    (made / "sub" / "also.jsonl").write_bytes(build.log(6))
    (made / "passwd.jsonl").symlink_to("/etc/passwd")
    (made / "hidden.jsonl").symlink_to("/proc/self/environ")
    (made / "sub" / "up").symlink_to(made)
    (made / "etc").symlink_to("/etc")
    (made / "twin.jsonl").symlink_to(made / "good.jsonl")
    os.mkfifo(made / "pipe.jsonl")
    return made


def watched(house: House, folder: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
    """What the command tells, and all that it opened."""
    note = folder / "opened"
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(note), *words, "--json"],
        cwd=ROOT,
        env=house.environment,
        capture_output=True,
        timeout=databases.PATIENCE,
    )
    assert done.stdout, done.stderr.decode()[-4000:]
    return json.loads(done.stdout), note.read_text().splitlines()


def test_links_pipes_and_loops_are_skipped_with_a_reason_and_never_opened(
    tree: Path, tmp_path: Path
) -> None:
    """T16"""
    with databases.house(tmp_path / "home") as house:
        told, opened = watched(house, tmp_path, "ingest", str(tree))

        skipped = {Path(each["path"]).name: each["reason"] for each in told["skipped"]}
        link = "a link: not followed"
        assert skipped == {
            "passwd.jsonl": link,
            "hidden.jsonl": link,
            "up": link,
            "etc": link,
            "twin.jsonl": link,
            "pipe.jsonl": "not a regular file",
        }
        assert told["states"] == {"ingested": 2}
        assert str(tree / "good.jsonl") in opened
        assert not [each for each in opened if each.endswith(("/etc/passwd", "passwd.jsonl"))]
        assert not [each for each in opened if each.endswith(("environ", "pipe.jsonl"))]
        assert house.rows("SELECT count(*) FROM sessions_app_session") == [(2,)]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """The folders of pytest are for their owner alone: one that anybody may enter."""
    with tempfile.TemporaryDirectory(prefix="recount-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """For root every file can be read: be somebody else for a while."""
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def taken(place: Workspace, tree: Path) -> dict[str, str]:
    """Files by name with their state, or the reason why not."""
    found = list(sources.walk([str(tree)]))
    files = [each for each in found if isinstance(each, DiskFile)]
    results = list(Ingest(place.id, now=build.NOW).sources(files))
    told = {Path(each.path).name: each.message or each.state for each in results}
    skipped = {Path(each.path).name: each.reason for each in found if isinstance(each, Skipped)}
    return told | skipped


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may read less")
@pytest.mark.django_db
def test_what_may_not_be_read_is_said_and_taken_once_it_may(open_folder: Path) -> None:
    """T16"""
    place = build.workspace()
    build.ingest(place, build.log(2))
    tree = open_folder / "tree"
    (tree / "sub").mkdir(parents=True)
    for name in ("good.jsonl", "secret.jsonl", "sub/deep.jsonl"):
        (tree / name).write_bytes(build.log(5))
    (tree / "sub").chmod(0o700)
    (tree / "secret.jsonl").chmod(0o600)

    with as_nobody():
        first = taken(place, tree)
    (tree / "sub").chmod(0o755)
    (tree / "secret.jsonl").chmod(0o644)
    (tree / "good.jsonl").chmod(0o600)
    with as_nobody():
        second = taken(place, tree)

    no = "Permission denied"
    assert first == {"good.jsonl": "ingested", "secret.jsonl": no, "sub": no}
    assert second == {
        "good.jsonl": "unchanged",
        "secret.jsonl": "ingested",
        "deep.jsonl": "ingested",
    }
