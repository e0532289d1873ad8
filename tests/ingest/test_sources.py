"""What a walk finds, and what it leaves alone with a reason."""

import os
import subprocess
from pathlib import Path

import pytest

from sessions_app.domain.errors import BadInput
from sessions_app.ingest import sources
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile, Skipped
from tests import build

DEEP = 1_200


def walked(*given: Path) -> tuple[list[str], dict[str, str]]:
    found = list(sources.walk([str(each) for each in given]))
    files = [item.path for item in found if isinstance(item, DiskFile)]
    return files, {item.path: item.reason for item in found if isinstance(item, Skipped)}


def test_logs_below_a_folder_are_found_in_order_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl", "a/b/c.jsonl", "c.txt", "a/notes.md", ".hidden/x.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    files, skipped = walked(tmp_path)

    wanted = (".hidden/x.jsonl", "a/b/c.jsonl", "a/z.jsonl", "b.jsonl")
    assert files == [str(tmp_path / name) for name in wanted]
    assert skipped == {}


def test_a_file_named_by_a_person_needs_no_suffix(tmp_path: Path) -> None:
    (tmp_path / "log.txt").touch()

    assert walked(tmp_path / "log.txt") == ([str(tmp_path / "log.txt")], {})


def test_links_are_not_followed_and_said(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")

    files, skipped = walked(tmp_path)

    assert files == []
    assert {Path(path).name for path in skipped} == {"x.jsonl", "loop", "gone.jsonl"}
    assert set(skipped.values()) == {"a link: not followed"}


def test_pipes_and_folders_with_the_name_of_a_log_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()

    files, skipped = walked(tmp_path)

    assert files == []
    assert skipped == {str(tmp_path / "pipe.jsonl"): "not a regular file"}


def test_a_path_that_is_not_there_is_skipped_with_its_reason(tmp_path: Path) -> None:
    assert walked(tmp_path / "nowhere.jsonl") == (
        [],
        {str(tmp_path / "nowhere.jsonl"): "No such file or directory"},
    )


def test_folders_nested_very_deeply_are_walked_without_falling(tmp_path: Path) -> None:
    top = tmp_path / "top"
    subprocess.run(["mkdir", "-p", f"{top}{'/d' * DEEP}"], check=True)
    try:
        (top / "d/d/shallow.jsonl").touch()
        Path(f"{top}{'/d' * DEEP}/deep.jsonl").touch()
        files, skipped = walked(top)
    finally:
        # Python's own way of removing a tree falls over the depth.
        subprocess.run(["rm", "-rf", str(top)], check=True)

    assert skipped == {}
    assert [Path(path).name for path in files] == ["deep.jsonl", "shallow.jsonl"]


def test_a_name_that_is_not_text_is_found_and_opened(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    with open(raw, "wb") as out:  # noqa: PTH123
        out.write(b"x\n")

    found = list(sources.walk([str(tmp_path)]))

    assert isinstance(found[0], DiskFile)
    with found[0].open() as stream:
        assert stream.read() == b"x\n"


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_file_swapped_after_the_walk_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    file = next(sources.walk([str(path)]))
    assert isinstance(file, DiskFile)
    path.unlink()
    _swapped(path, kind)

    with pytest.raises((OSError, BadInput)), file.open():
        pass


def _swapped(path: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to("/etc/passwd")
        case "folder":
            path.mkdir()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_swapped_file_fails_alone(tmp_path: Path, kind: str) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_bytes(build.log(3))
    files = [each for each in sources.walk([str(tmp_path)]) if isinstance(each, DiskFile)]
    (tmp_path / "b.jsonl").unlink()
    _swapped(tmp_path / "b.jsonl", kind)
    ingest = Ingest(build.workspace().id, now=build.NOW)

    results = list(ingest.sources(files))

    assert [result.state for result in results] == ["ingested", "failed", "ingested"]
    assert results[1].message


@pytest.mark.django_db
def test_a_file_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(build.log(3))
    # A regular file whose first byte nobody can read, not even root.
    unreadable = DiskFile(path="/proc/self/mem", size=10, mtime_ns=1, machine="box")
    readable = next(sources.walk([str(tmp_path / "a.jsonl")]))
    assert isinstance(readable, DiskFile)
    ingest = Ingest(build.workspace().id, now=build.NOW)

    results = list(ingest.sources([unreadable, readable]))

    assert [result.state for result in results] == ["failed", "ingested"]
    assert results[0].message == "Input/output error"
