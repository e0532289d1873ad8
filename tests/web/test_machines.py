"""The page of machines: a token is shown once, kept as a hash, and revoked for good."""

import re

import pytest
from pytest_django.fixtures import Settings

from sessions_app.models import IngestToken
from sessions_app.store import tokens
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db


def made(people: Cast, name: str = "build-3") -> str:
    page = browser(people.alice).post("/machines/", {"action": "create", "name": name})
    assert page["Cache-Control"] == "no-store"
    found = re.search(r"rct_[\w-]{43}", page.content.decode())
    assert found is not None
    return found[0]


def test_a_token_is_shown_once_and_kept_only_as_a_hash() -> None:
    people = cast()
    text = made(people)

    assert "rct_" not in browser(people.alice).get("/machines/").content.decode()
    row = IngestToken.objects.get()
    assert bytes(row.hash) == tokens.hash_of(text)
    assert text not in repr(row.__dict__)
    assert (row.name, row.workspace_id, row.created_by) == (
        "build-3",
        people.workspace.id,
        people.alice,
    )


def test_a_revoked_token_is_no_longer_valid_and_stays_on_the_page() -> None:
    people = cast()
    text = made(people)
    token = tokens.valid(text)
    assert token is not None

    browser(people.alice).post("/machines/", {"action": "revoke", "token": str(token.id)})

    assert tokens.valid(text) is None
    assert "Revoked" in browser(people.bob).get("/machines/").content.decode()


def test_another_workspaces_token_cannot_be_seen_or_revoked() -> None:
    people = cast()
    text = made(people, "only-alices")
    token = tokens.valid(text)
    assert token is not None
    client = browser(people.charlie)

    answer = client.post("/machines/", {"action": "revoke", "token": str(token.id)})

    assert answer.status_code == 404
    assert tokens.valid(text) is not None
    assert "only-alices" not in client.get("/machines/").content.decode()


def test_a_name_is_asked_for_and_a_hostile_one_is_harmless() -> None:
    people = cast()
    client = browser(people.alice)
    assert client.post("/machines/", {"action": "create", "name": " "}).status_code == 422
    assert client.post("/machines/", {"action": "create", "name": "x" * 81}).status_code == 422
    assert client.post("/machines/", {"action": "what"}).status_code == 400

    page = client.post("/machines/", {"action": "create", "name": "<b onclick=x>\u202e"})

    assert b"<b onclick" not in page.content


def test_the_page_names_commands_with_the_address_it_was_asked_by() -> None:
    page = browser(cast().bob).get("/machines/", headers={"Host": "localhost:8123"})
    text = page.content.decode()
    assert "curl -fsS -o recount_ship.py http://localhost:8123/ship.py" in text
    assert "python3 recount_ship.py --url http://localhost:8123 --discover --install" in text


def test_an_address_that_the_shipper_refuses_is_said_to_be_one(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["recount.lan", "127.0.0.1"]
    client = browser(cast().bob)
    said = "This address is plain http"
    for host, is_told in (("recount.lan:8000", True), ("127.0.0.1:8000", False)):
        text = client.get("/machines/", headers={"Host": host}).content.decode()
        assert (said in text) is is_told


def test_anybody_may_download_the_shipper() -> None:
    answer = browser(None).get("/ship.py")
    assert answer.status_code == 200
    assert 'filename="recount_ship.py"' in answer["Content-Disposition"]
    assert b'"""Sends this machine' in answer.content
