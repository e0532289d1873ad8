"""The Sources page: who may change what, which paths are taken, what is shown."""

from pathlib import Path

import pytest
from django.conf import settings

from sessions_app.ingest import sources
from sessions_app.models import Finding, Session, WatchedRoot
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings
from sessions_app.store.findings import Found
from tests import build
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db
URL = "/sources/"


def added(people: Cast, path: Path) -> WatchedRoot:
    answer = browser(people.alice).post(URL, {"action": "add", "path": str(path)})
    assert answer.status_code == 302, answer.content.decode()
    return WatchedRoot.objects.get(path=str(path))


def found(people: Cast, kind: FindingKind, path: str) -> None:
    one = Found(kind=kind, machine="box", path=path, message="a link: not followed")
    findings.raised(people.workspace.id, [one], now=build.NOW)


def test_an_admin_adds_changes_and_removes_a_source_and_the_record_stays(tmp_path: Path) -> None:
    people = cast()
    root = added(people, tmp_path)
    client = browser(people.alice)
    chosen = {"root": str(root.id)}
    assert client.get(f"/sources/{root.id}/edit").status_code == 200
    client.post(URL, {"action": "edit", **chosen, "agent": "pi", "project": "tally"})
    client.post(URL, {"action": "switch", **chosen, "on": "0"})
    client.post(URL, {"action": "retry", **chosen})
    root.refresh_from_db()
    assert (root.agent, root.project, root.is_on) == ("pi", "tally", False)
    assert root.retry_asked_at is not None
    client.post(URL, {"action": "remove", **chosen})
    assert not WatchedRoot.objects.exists()
    assert Session.objects.count() == 1


def test_a_viewer_sees_and_may_not_change(tmp_path: Path) -> None:
    people = cast()
    root = added(people, tmp_path)
    client = browser(people.bob)
    page = client.get(URL).content.decode()
    assert str(tmp_path) in page
    assert "Remove" not in page
    for action in ("add", "edit", "switch", "retry", "remove", "settle"):
        sent = {"action": action, "root": str(root.id), "path": str(tmp_path)}
        assert client.post(URL, sent).status_code == 403, action
    assert client.get(f"/sources/{root.id}/edit").status_code == 403


def test_a_stranger_sees_nothing_of_it_and_cannot_reach_it(tmp_path: Path) -> None:
    people = cast()
    root = added(people, tmp_path)
    client = browser(people.charlie)
    assert str(tmp_path) not in client.get(URL).content.decode()
    assert str(tmp_path) not in client.get("/sources/reconcile").content.decode()
    sent = {"action": "remove", "root": str(root.id)}
    assert client.post(URL, sent).status_code == 404


@pytest.mark.parametrize("path", ["relative", "/", "/..", "/nowhere/at/all", "/a\0b"])
def test_a_path_that_cannot_be_watched_comes_back_with_a_sentence(path: str) -> None:
    answer = browser(cast().alice).post(URL, {"action": "add", "path": path})
    assert answer.status_code == 422
    assert not WatchedRoot.objects.exists()


def test_recounts_own_folder_is_not_watched_nor_what_holds_it(tmp_path: Path) -> None:
    people = cast()
    settings.HOME.mkdir(parents=True, exist_ok=True)
    link = tmp_path / "link"
    link.symlink_to(settings.HOME)
    for path in (settings.HOME, settings.HOME.parent, link):
        answer = browser(people.alice).post(URL, {"action": "add", "path": str(path)})
        assert answer.status_code == 422, path


def test_a_source_is_listed_once(tmp_path: Path) -> None:
    people = cast()
    added(people, tmp_path)
    answer = browser(people.alice).post(URL, {"action": "add", "path": f"{tmp_path}/"})
    assert answer.status_code == 422


def test_findings_are_shown_counted_and_settled() -> None:
    people = cast()
    for name in ("/a.jsonl", "/b.jsonl"):
        found(people, FindingKind.REFUSED, name)
        found(people, FindingKind.REFUSED, name)
    client = browser(people.alice)
    page = client.get(URL).content.decode()
    assert page.count("a link: not followed") == 2
    assert '<span class="badge is-warn">2<' in page
    one = Finding.objects.earliest("id")
    assert one.times == 2
    client.post(URL, {"action": "settle", "finding": str(one.id)})
    assert findings.number_open(people.workspace) == 1
    client.post(URL, {"action": "settle", "finding": "all"})
    assert findings.number_open(people.workspace) == 0
    assert browser(people.charlie).get(URL).content.decode().count("a.jsonl") == 0


def test_the_table_alone_is_the_fragment(tmp_path: Path) -> None:
    people = cast()
    added(people, tmp_path)
    fragment = browser(people.bob).get(URL, headers={"HX-Request": "true"}).content.decode()
    assert fragment.startswith('<div id="sources"')
    assert str(tmp_path) in fragment


def test_folders_of_this_machine_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    people = cast()
    offered = f"Watch {folder}"
    assert offered in browser(people.alice).get(URL).content.decode()
    assert offered not in browser(people.bob).get(URL).content.decode()
    added(people, folder)
    assert offered not in browser(people.alice).get(URL).content.decode()


def test_the_comparison_names_folders_that_are_not_watched_to_an_admin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    people = cast()
    page = "/sources/reconcile"
    assert str(folder) in browser(people.alice).get(page).content.decode()
    assert str(folder) not in browser(people.bob).get(page).content.decode()


def test_the_comparison_lists_the_files_behind_each_number(tmp_path: Path) -> None:
    people = cast()
    (tmp_path / "missing.jsonl").write_bytes(build.log(2))
    (tmp_path / "here.jsonl").write_bytes(build.log(2))
    build.ingest_file(people.workspace, tmp_path / "here.jsonl", sources.this_machine())
    root = added(people, tmp_path)
    client = browser(people.bob)
    assert "Not complete" in client.get("/sources/reconcile").content.decode()
    listed = client.get(f"/sources/reconcile?root={root.id}&show=missing").content.decode()
    assert "missing.jsonl" in listed
    assert "here.jsonl" not in listed
