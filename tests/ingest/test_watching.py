"""The real watch loop, in a thread, over a real folder."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.db import OperationalError, connections
from psycopg.errors import DiskFull

from sessions_app.ingest import following, watching
from sessions_app.ingest.following import Folders
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import SourceFile
from sessions_app.ingest.watching import Watcher
from sessions_app.models import Finding, Pulse, Session, WatchedRoot, Workspace
from sessions_app.store import findings, read, sessions
from tests import build

pytestmark = pytest.mark.django_db(transaction=True)


def until(told: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Running:
    def __init__(self, **options: float) -> None:
        self.stop = threading.Event()
        self.watcher = Watcher(self.stop, **options)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.watcher.run()
        finally:
            connections.close_all()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def begin() -> Iterator[Callable[..., Running]]:
    begun: list[Running] = []

    def start(**options: float) -> Running:
        begun.append(Running(**options))
        return begun[-1]

    yield start
    for each in begun:
        each.end()


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def watch(place: Workspace, path: Path, **values: object) -> WatchedRoot:
    return WatchedRoot.objects.create(workspace=place, path=str(path), **values)


def events() -> list[int]:
    return list(Session.objects.order_by("id").values_list("events", flat=True))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def is_settled(root: WatchedRoot) -> bool:
    root.refresh_from_db()
    return root.seen_at is not None and Pulse.objects.filter(name="watcher").exists()


def test_what_is_there_is_taken_and_what_is_added_follows(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(4))
    root = watch(place, tmp_path)
    begin()
    until(lambda: events() == [4])
    append(log, build.log(2))
    until(lambda: events() == [6], 3)
    deep = tmp_path / "new" / "deeper"
    deep.mkdir(parents=True)
    (deep / "b.jsonl").write_bytes(build.log(3))
    until(lambda: events() == [6, 3], 3)
    append(deep / "b.jsonl", build.log(1))
    until(lambda: events() == [6, 4], 3)
    until(lambda: WatchedRoot.objects.get(id=root.id).files == 2)
    root.refresh_from_db()
    assert root.lag_ms is not None
    assert root.lag_ms < 3000
    assert root.changed_at is not None
    assert root.error == ""


def test_a_root_is_noticed_and_let_go_while_the_watcher_runs(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(4))
    begin()
    until(lambda: Pulse.objects.filter(name="watcher").exists())
    root = watch(place, tmp_path)
    until(lambda: events() == [4], 3)
    WatchedRoot.objects.filter(id=root.id).update(is_on=False)
    time.sleep(1.5)
    append(log, build.log(2))
    time.sleep(1)
    assert events() == [4]
    WatchedRoot.objects.filter(id=root.id).update(is_on=True)
    until(lambda: events() == [6], 3)


def test_links_pipes_and_loops_are_findings_and_never_followed(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    """T16"""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_bytes(build.log(4))
    home = tmp_path / "root"
    home.mkdir()
    (home / "link.jsonl").symlink_to(outside / "secret.jsonl")
    (home / "folder").symlink_to(outside)
    (home / "loop").symlink_to(home)
    os.mkfifo(home / "pipe.jsonl")
    (home / "good.jsonl").write_bytes(build.log(2))
    root = watch(place, home)
    begin()
    until(lambda: Finding.objects.count() == 4)
    append(outside / "secret.jsonl", build.log(2))
    (outside / "later.jsonl").write_bytes(build.log(2))
    (home / "late.jsonl").symlink_to(outside / "secret.jsonl")
    until(lambda: Finding.objects.count() == 5, 3)
    assert events() == [2]
    rows = findings.latest(place)
    names = {"link.jsonl", "folder", "loop", "pipe.jsonl", "late.jsonl"}
    assert {Path(row.path).name for row in rows} == names
    assert str(tmp_path).encode() not in bytes(Finding.objects.earliest("id").sealed_path)
    until(lambda: "4 paths are not read" in WatchedRoot.objects.get(id=root.id).error)


def test_what_was_fixed_is_taken_and_its_finding_settled(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").symlink_to("/nowhere")
    root = watch(place, tmp_path)
    begin()
    until(lambda: findings.number_open(place) == 1)
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "a.jsonl").write_bytes(build.log(2))
    until(lambda: events() == [2], 3)
    until(lambda: findings.number_open(place) == 0, 3)
    WatchedRoot.objects.filter(id=root.id).update(retry_asked_at=build.NOW)
    until(lambda: WatchedRoot.objects.get(id=root.id).error == "", 5)


def test_a_source_that_cannot_be_opened_is_a_finding_until_it_can(
    begin: Callable[..., Running],
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T16"""
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(2))
    usual, closed = os.open, threading.Event()
    closed.set()

    def refusing(path: object, *rest: object, **more: object) -> int:
        if closed.is_set() and path == str(log):
            raise PermissionError(13, "Permission denied")
        return usual(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)
    watch(place, tmp_path)
    begin()
    until(lambda: findings.number_open(place) == 1)
    assert findings.latest(place)[0].message == "Permission denied"
    closed.clear()
    os.utime(log)
    until(lambda: events() == [2], 3)
    until(lambda: findings.number_open(place) == 0, 3)


def test_nothing_is_lost_while_the_database_is_away(
    begin: Callable[..., Running],
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(2))
    root = watch(place, tmp_path)
    begin()
    until(lambda: events() == [2] and is_settled(root))
    monkeypatch.setattr(watching, "AWAY", 0.05)
    away, usual = threading.Event(), Ingest.source
    away.set()

    def refusing(self: Ingest, file: SourceFile) -> Result:
        if away.is_set():
            raise OperationalError("the server closed the connection")
        return usual(self, file)

    monkeypatch.setattr(Ingest, "source", refusing)
    append(log, build.log(2))
    time.sleep(0.5)
    assert events() == [2]
    away.clear()
    until(lambda: events() == [4], 3)


def test_a_full_disk_of_the_database_is_said_and_the_look_goes_on_when_there_is_room(
    begin: Callable[..., Running],
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T15"""
    full, usual = threading.Event(), Ingest.sources
    full.set()

    def refusing(self: Ingest, files: Iterable[SourceFile]) -> Iterator[Result]:
        if full.is_set():
            raise OperationalError("could not extend file") from DiskFull()
        return usual(self, files)

    monkeypatch.setattr(Ingest, "sources", refusing)
    (tmp_path / "a.jsonl").write_bytes(build.log(2))
    root = watch(place, tmp_path)
    begin()
    until(lambda: "disk of the database is full" in WatchedRoot.objects.get(id=root.id).error)
    full.clear()
    until(lambda: events() == [2])
    until(lambda: WatchedRoot.objects.get(id=root.id).error == "")


def test_a_watcher_that_ends_by_itself_leaves_no_sign_of_life_and_one_that_died_does(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    """T13"""
    (tmp_path / "a.jsonl").write_bytes(build.log(2))
    watch(place, tmp_path)
    Pulse.objects.create(name="watcher", at=build.NOW)
    running = begin()
    # As after a death: read by a process of its own.
    until(lambda: events() == [2])
    append(tmp_path / "a.jsonl", build.log(1))
    until(lambda: events() == [3])
    running.end()
    assert not Pulse.objects.exists()


def test_two_watchers_at_once_double_nothing(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    root = watch(place, tmp_path)
    begin()
    begin()
    until(lambda: is_settled(root))
    log, whole = tmp_path / "a.jsonl", b""
    for _ in range(10):
        piece = build.log(3)
        append(log, piece)
        whole += piece
        time.sleep(0.05)
    until(lambda: events() == [30])
    session = sessions.row(Session.objects.get().id)
    assert b"".join(read.stream(session)) == whole


def test_a_rewritten_log_is_a_new_generation_and_a_finding(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    """T05"""
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(4))
    root = watch(place, tmp_path)
    begin()
    until(lambda: events() == [4] and is_settled(root))
    log.write_bytes(build.line("user", "something else entirely"))
    until(lambda: events() == [4, 1], 3)
    until(lambda: findings.number_open(place) == 1, 3)
    assert findings.latest(place)[0].kind == "rewritten"


def test_a_root_that_is_missing_says_so_until_it_is_there(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "later"
    root = watch(place, folder)
    begin()
    until(lambda: "no such folder" in WatchedRoot.objects.get(id=root.id).error)
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(build.log(2))
    until(lambda: events() == [2], 4)
    until(lambda: WatchedRoot.objects.get(id=root.id).error == "", 4)


def test_a_single_file_can_be_watched(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(2))
    (tmp_path / "other.jsonl").write_bytes(build.log(2))
    root = watch(place, log)
    begin()
    until(lambda: events() == [2] and is_settled(root))
    append(log, build.log(1))
    until(lambda: events() == [3], 3)


def test_without_notices_of_the_kernel_it_looks_by_itself(
    begin: Callable[..., Running],
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(following, "RustNotify", refused)
    monkeypatch.setattr(watching, "RESCAN_BLIND", 0.2)
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(2))
    root = watch(place, tmp_path)
    begin()
    until(lambda: events() == [2])
    append(log, build.log(1))
    until(lambda: events() == [3], 5)
    until(lambda: "max_user_watches" in WatchedRoot.objects.get(id=root.id).error)


def test_unchanged_sources_are_not_opened(
    begin: Callable[..., Running],
    place: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(build.log(2))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    root = watch(place, tmp_path)
    first = begin()
    until(lambda: events() == [2] and is_settled(root))
    first.end()
    opened: list[object] = []
    usual = os.open

    def told(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(path)
        return usual(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", told)
    WatchedRoot.objects.update(seen_at=None, files=0)
    begin()
    until(lambda: WatchedRoot.objects.get(id=root.id).files == 1)
    assert str(log) not in opened


def test_folders_tell_of_what_changes_below_them_and_of_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "way").symlink_to(tmp_path / "out")
    folders, stop = Folders([str(tmp_path / "in")]), threading.Event()
    (tmp_path / "out" / "a.jsonl").write_text("")
    assert folders.wait(0.3, stop) == set()
    (tmp_path / "in" / "b.jsonl").write_text("")
    assert folders.wait(1, stop) == {str(tmp_path / "in" / "b.jsonl")}
    stop.set()
    assert folders.wait(5, stop) == set()


def test_what_a_switched_off_source_is_about_to_lose_is_a_finding(
    begin: Callable[..., Running], place: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / ".claude" / "projects" / "p" / "old.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(build.log(3))
    os.utime(log, (0, time.time() - 25 * 86_400))
    watch(place, tmp_path, is_on=False)
    begin()
    until(lambda: [row.kind for row in findings.latest(place)] == ["endangered"])
    assert events() == []
