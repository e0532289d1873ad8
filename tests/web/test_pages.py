"""Pages and their fragments: what a person gets to see."""

import io
import re

import pytest
from django.test import Client

from sessions_app.models import Membership, Session, SigninLink, User
from sessions_app.store import people as people_store
from tests import build
from tests.people import browser, cast

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def upload(client: Client, data: bytes, name: str = "log.jsonl") -> dict[str, object]:
    file = io.BytesIO(data)
    file.name = name
    response = client.post("/upload", {"files": file}, headers={"Accept": "application/json"})
    assert response.status_code == 200, response.content
    result: dict[str, object] = response.json()["results"][0]
    return result


def test_an_empty_workspace_greets_the_newcomer() -> None:
    client = browser(build.member("ann", build.workspace()))
    page = client.get("/").content.decode()
    assert "Welcome to Recount" in page
    assert "manage.py ingest" in page
    assert "Load demo" in page
    assert "drop-zone" in page


def test_a_viewer_of_an_empty_workspace_is_told_who_can_add() -> None:
    client = browser(build.member("ann", build.workspace(), "viewer"))
    page = client.get("/").content.decode()
    assert "Load demo" not in page
    assert "curator or an admin" in page


def test_the_list_shows_title_counts_and_link() -> None:
    people = cast()
    page = browser(people.bob).get("/").content.decode()
    assert "message number 0 about subject0" in page
    assert f"/sessions/{people.session.uid}/" in page
    assert "1 session" in page


def test_the_list_pages_by_cursor_in_both_directions() -> None:
    place = build.workspace()
    client = browser(build.member("ann", place))
    for n in range(120):
        build.session(place, build.line("user", f"topic {n:03}"), f"{n}.jsonl")
    seen: list[str] = []
    url: str | None = "/"
    pages = []
    while url:
        page = client.get(url).content.decode()
        pages.append(url)
        seen += re.findall(r">topic (\d{3})<", page)
        older = re.search(r'href="(\?after=[^"]+)"', page)
        url = f"/{older[1]}" if older else None
    assert len(pages) == 3
    assert sorted(seen) == [f"{n:03}" for n in range(120)]
    last = client.get(pages[-1]).content.decode()
    newer = re.search(r'href="(\?before=[^"]+)"', last)
    assert newer is not None
    back = client.get(f"/{newer[1]}").content.decode()
    middle = client.get(pages[1]).content.decode()
    assert re.findall(r">topic (\d{3})<", back) == re.findall(r">topic (\d{3})<", middle)


def test_a_damaged_cursor_gets_a_sentence() -> None:
    response = browser(cast().bob).get("/?after=zzz")
    assert response.status_code == 400
    assert "page marker is damaged" in response.content.decode()


def test_list_and_jobs_answer_htmx_with_the_fragment_alone() -> None:
    people = cast()
    client = browser(people.bob)
    for url in ("/", "/jobs/"):
        whole, part = client.get(url), client.get(url, headers=HTMX)
        assert b"<html" in whole.content
        assert b"<html" not in part.content


def test_hostile_text_is_shown_and_never_markup() -> None:
    place = build.workspace()
    client = browser(build.member("ann", place))
    attack = (
        "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202etxt"
    )
    data = b"".join(
        (
            build.line("user", attack, **{attack: attack}),
            build.line("assistant", attack, model=attack),
            build.line("tool", attack, name=attack),
            build.line("assistant", None, tool_calls=[{"function": {"name": attack}}]),
            attack.encode() + b"\n",
        )
    )
    session = build.session(place, data, path=f"{attack}.jsonl")
    urls = (
        "/",
        f"/sessions/{session.uid}/",
        f"/sessions/{session.uid}/record",
        *(f"/sessions/{session.uid}/raw?seq={n}" for n in range(5)),
    )
    for url in urls:
        page = client.get(url).content.decode()
        assert "<script>alert" not in page, url
        assert "<img src=x" not in page, url
        assert 'href="javascript' not in page, url
        # What the copy button holds is the true text; what is shown never is.
        shown = re.sub(r"<copy-button.*?</copy-button>", "", page, flags=re.DOTALL)
        assert "\u202e" not in shown, url
    assert "U+202E" in client.get(f"/sessions/{session.uid}/").content.decode()


def test_export_gives_the_bytes_back() -> None:
    place = build.workspace()
    client = browser(build.member("ann", place))
    data = build.log(3_000) + b"\xff\x00 not json\r\n" + build.log(1)[:-1]
    session = build.session(place, data)
    response = client.get(f"/sessions/{session.uid}/export")
    assert b"".join(response.streaming_content) == data  # type: ignore[attr-defined]
    assert response["Content-Disposition"] == f'attachment; filename="session-{session.uid}.jsonl"'


def test_an_upload_becomes_a_session_once() -> None:
    place = build.workspace()
    client = browser(build.member("ann", place, "curator"))
    first = upload(client, build.log(6) + b"nonsense\n")
    again = upload(client, build.log(6) + b"nonsense\n")
    grown = upload(client, build.log(6) + b"nonsense\n" + build.log(2))
    other = upload(client, build.line("user", "another file of the same name"))
    older = upload(client, build.log(6))
    assert (first["state"], first["lines"], first["unreadable"]) == ("ingested", 7, 1)
    assert again["state"] == "unchanged"
    assert (grown["state"], grown["lines"], grown["url"]) == ("ingested", 2, first["url"])
    assert other["url"] != first["url"]
    assert (older["state"], older["url"]) == ("unchanged", first["url"])
    assert [s.generation for s in Session.objects.all()] == [1, 1]


def test_an_empty_upload_is_refused_with_a_sentence() -> None:
    client = browser(build.member("ann", build.workspace()))
    assert upload(client, b"")["message"] == "The file is empty."
    response = client.post("/upload", headers={"Accept": "application/json"})
    assert response.status_code == 400
    assert "No file arrived" in response.json()["error"]


def test_verify_now_says_sound_and_names_a_bad_chunk() -> None:
    from sessions_app.models import Chunk

    place = build.workspace()
    client = browser(build.member("ann", place))
    session = build.session(place, build.log(12_000))
    page = client.post(f"/sessions/{session.uid}/verify", follow=True).content.decode()
    assert "Verified" in page
    chunk = Chunk.objects.filter(session_id=session.id, no=1).get()
    bad = bytearray(chunk.sealed)
    bad[-1] ^= 1
    Chunk.objects.filter(session_id=session.id, no=1).update(sealed=bytes(bad))
    page = client.post(f"/sessions/{session.uid}/verify", follow=True).content.decode()
    assert f"chunk 1 of session {session.uid}" in page
    broken = client.get(f"/sessions/{session.uid}/?seq=6000")
    assert broken.status_code == 500
    assert f"chunk 1 of session {session.uid}" in broken.content.decode()


# People ------------------------------------------------------------------------------------------


def test_a_sign_in_link_works_once() -> None:
    people = cast()
    from django.utils import timezone

    from sessions_app.actions import people as actions

    token = actions.new_link(people.bob, now=timezone.now(), lifetime=actions.START_LINK)
    assert token.encode() not in bytes(SigninLink.objects.get().token_hash)
    ahead = browser(None).get(f"/enter/{token}", headers={"Sec-Purpose": "prefetch"})
    assert ahead.status_code == 200
    first, second = browser(None), browser(None)
    assert first.get(f"/enter/{token}").status_code == 302
    assert first.get("/").status_code == 200
    assert second.get(f"/enter/{token}").status_code == 410
    assert second.get("/").status_code == 302


def test_an_expired_link_says_so() -> None:
    from datetime import timedelta

    from django.utils import timezone

    from sessions_app.actions import people as actions

    people = cast()
    then = timezone.now() - timedelta(days=1)
    token = actions.new_link(people.bob, now=then, lifetime=actions.START_LINK)
    page = browser(None).get(f"/enter/{token}")
    assert page.status_code == 410
    assert "expired" in page.content.decode()


def test_a_password_signs_in_and_failures_lock_only_that_address() -> None:
    people = cast()
    good = {"username": "bob", "password": "bob-correct-horse"}
    bad = {**good, "password": "wrong"}
    attacker = {"REMOTE_ADDR": "10.9.9.9"}
    for _ in range(8):
        last = Client().post("/sign-in/", bad, **attacker)  # type: ignore[arg-type]
    assert last.status_code == 429
    assert Client().post("/sign-in/", good, **attacker).status_code == 429  # type: ignore[arg-type]
    assert Client().post("/sign-in/", good).status_code == 302
    assert people.bob.has_usable_password()


def test_members_are_added_with_a_link_and_the_last_admin_stays() -> None:
    people = cast()
    client = browser(people.alice)
    page = client.post(
        "/members/", {"action": "add", "username": "dora", "email": "", "role": "auditor"}
    ).content.decode()
    link = re.search(r"http://testserver(/enter/[\w-]+)", page)
    assert link is not None
    dora = browser(None)
    assert dora.get(link[1]).status_code == 302
    assert Membership.objects.get(user__username="dora").role == "auditor"
    alice = Membership.objects.get(user=people.alice)
    for form in (
        {"action": "role", "member": alice.id, "role": "viewer"},
        {"action": "remove", "member": alice.id},
    ):
        refused = client.post("/members/", form)
        assert refused.status_code == 409
        assert "at least one admin" in refused.content.decode()
    assert people_store.members_of(people.workspace, people.alice)[0].role == "admin"


def test_a_member_of_another_workspace_cannot_be_changed() -> None:
    people = cast()
    stranger = Membership.objects.get(user=people.charlie)
    form = {"action": "remove", "member": stranger.id}
    assert browser(people.alice).post("/members/", form).status_code == 404
    assert Membership.objects.filter(id=stranger.id).exists()


def test_the_profile_keeps_theme_and_shortcuts() -> None:
    people = cast()
    client = browser(people.bob)
    client.post("/profile/", {"form": "settings", "display_name": "Bob B", "theme": "dark"})
    bob = User.objects.get(id=people.bob.id)
    assert (str(bob), bob.theme, bob.shortcuts) == ("Bob B", "dark", False)
    page = client.get("/").content.decode()
    assert 'data-theme="dark"' in page
    assert 'data-shortcuts="off"' in page


def test_a_changed_password_ends_other_sessions() -> None:
    people = cast()
    here, elsewhere = browser(people.bob), browser(people.bob)
    new = "a much longer passphrase 7"
    here.post(
        "/profile/",
        {
            "form": "password",
            "old_password": "bob-correct-horse",
            "new_password1": new,
            "new_password2": new,
        },
    )
    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


def test_the_open_api_document_and_the_api_answer() -> None:
    people = cast()
    client = browser(people.bob)
    assert client.get("/api/v1/openapi.json").json()["info"]["title"] == "Recount"
    listed = client.get(f"/api/v1/workspaces/{people.workspace.id}/sessions").json()
    assert [s["id"] for s in listed["sessions"]] == [str(people.session.uid)]
    events = client.get(f"/api/v1/sessions/{people.session.uid}/events?lo=1&size=2").json()
    assert [e["seq"] for e in events["events"]] == [1, 2]
    verdict = client.get(f"/api/v1/sessions/{people.session.uid}/verdict").json()
    assert verdict["is_sound"] is True


def test_every_page_carries_the_strict_policy() -> None:
    policy = browser(cast().bob).get("/")["Content-Security-Policy"]
    for directive in ("default-src 'none'", "script-src 'self'", "style-src 'self'"):
        assert directive in policy
    assert "unsafe" not in policy
