"""The same source again: grown, touched, rewritten, cut short. Old evidence is never replaced."""

import os
from pathlib import Path

import pytest

from sessions_app.ingest.pipeline import Result
from sessions_app.models import Session, Workspace
from sessions_app.store import read, verify
from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


_clock = [1_700_000_000]


def put(place: Workspace, path: Path, data: bytes) -> Result:
    """A new state of the file, at a new time."""
    path.write_bytes(data)
    _clock[0] += 10
    os.utime(path, (_clock[0], _clock[0]))
    return build.ingest_file(place, path)


def records(place: Workspace) -> list[bytes]:
    """The bytes of all generations, oldest first; each one verified."""
    rows = Session.objects.select_related("key").filter(workspace=place).order_by("generation")
    for row in rows:
        assert verify.session(row).problem == ""
    return [b"".join(read.stream(row)) for row in rows]


LOG = build.log(600)
OTHER = build.log(600).replace(b"about", b"ABOUT")


def test_a_grown_file_is_appended_to(place: Workspace, path: Path) -> None:
    assert put(place, path, LOG[:5_000]).state == "ingested"
    assert put(place, path, LOG).state == "appended"

    assert records(place) == [LOG]


def test_the_same_file_again_is_unchanged_and_not_even_opened(
    place: Workspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, path, LOG)
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("opened"))

    assert build.ingest_file(place, path).state == "unchanged"


def test_a_touched_file_is_unchanged(place: Workspace, path: Path) -> None:
    first = put(place, path, LOG)

    assert put(place, path, LOG) == Result(
        path=str(path), state="unchanged", uid=first.uid, format="plain"
    )
    assert records(place) == [LOG]


def test_a_rewritten_file_is_a_new_generation_and_the_old_one_is_kept(
    place: Workspace, path: Path
) -> None:
    put(place, path, LOG)

    assert put(place, path, OTHER + LOG).state == "rewritten"
    assert records(place) == [LOG, OTHER + LOG]


def test_the_same_length_with_other_content_is_a_new_generation(
    place: Workspace, path: Path
) -> None:
    put(place, path, LOG)
    changed = bytearray(LOG)
    changed[len(LOG) // 2] ^= 1

    assert put(place, path, bytes(changed)).state == "rewritten"
    assert records(place) == [LOG, bytes(changed)]


def test_a_change_in_the_last_stretch_of_a_grown_file_is_a_new_generation(
    place: Workspace, path: Path
) -> None:
    put(place, path, LOG)
    changed = bytearray(LOG)
    changed[-100] ^= 1

    assert put(place, path, bytes(changed) + LOG).state == "rewritten"
    assert records(place) == [LOG, bytes(changed) + LOG]


def test_a_file_cut_short_is_unchanged_and_the_record_keeps_its_end(
    place: Workspace, path: Path
) -> None:
    put(place, path, LOG)

    assert put(place, path, LOG[:3_000]).state == "unchanged"
    assert put(place, path, b"").state == "unchanged"
    assert records(place) == [LOG]


def test_a_file_cut_short_and_regrown_the_same_goes_on(place: Workspace, path: Path) -> None:
    put(place, path, LOG[:20_000])
    put(place, path, LOG[:3_000])

    assert put(place, path, LOG).state == "appended"
    assert records(place) == [LOG]


@pytest.mark.parametrize("size", [4_000, 20_000, 36_000])
def test_a_file_cut_short_and_regrown_otherwise_is_a_new_generation(
    place: Workspace, path: Path, size: int
) -> None:
    put(place, path, LOG[:20_000])
    put(place, path, LOG[:3_000])
    regrown = (LOG[:3_000] + OTHER[3_000:])[:size]

    assert put(place, path, regrown).state == "rewritten"
    assert records(place) == [LOG[:20_000], regrown]


def test_an_older_copy_that_comes_later_is_unchanged(place: Workspace) -> None:
    whole = build.ingest(place, LOG, "upload.jsonl")

    older = build.ingest(place, LOG[:9_000], "upload.jsonl")

    assert (older.state, older.uid) == ("unchanged", whole.uid)
    assert records(place) == [LOG]


def test_an_older_generation_that_comes_back_is_known(place: Workspace, path: Path) -> None:
    first = put(place, path, LOG)
    put(place, path, OTHER)

    back = put(place, path, LOG + build.log(3))

    assert (back.state, back.uid) == ("appended", first.uid)
    assert records(place) == [LOG + build.log(3), OTHER]


def test_a_cut_last_line_is_shown_and_then_replaced_by_the_whole_one(
    place: Workspace, path: Path
) -> None:
    data = build.log(3) + build.line("user", "naïve café")
    for end in range(len(build.log(3)), len(data) + 1, 3):
        put(place, path, data[:end])
        session = Session.objects.get(workspace=place)
        assert session.events == 3 + (end > len(build.log(3)))
        assert session.tail_bytes == end - len(build.log(3))
    put(place, path, data)

    session = Session.objects.get(workspace=place)
    assert (session.events, session.tail_bytes, session.unreadable) == (4, 0, 0)
    assert records(place) == [data]


def test_two_files_with_the_same_beginning_are_two_sessions(
    place: Workspace, tmp_path: Path
) -> None:
    put(place, tmp_path / "a.jsonl", LOG)
    put(place, tmp_path / "b.jsonl", LOG)

    assert records(place) == [LOG, LOG]


def test_the_same_path_of_another_workspace_is_another_session(
    place: Workspace, path: Path
) -> None:
    other = build.workspace("Other")
    put(place, path, LOG)

    assert put(other, path, LOG).state == "ingested"
    assert records(place) == records(other) == [LOG]


def test_an_empty_file_waits_for_its_first_byte(place: Workspace, path: Path) -> None:
    assert put(place, path, b"").state == "empty"
    assert put(place, path, LOG).state == "ingested"
    assert records(place) == [LOG]
