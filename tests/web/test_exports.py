"""Exports over HTTP: the pages, the API and the command give the same, and only to members."""

import csv
import io
import re
import sys
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from sessions_app.models import Session
from sessions_app.store import selection
from tests import build
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db

KINDS = {
    "html": b"<!doctype html>",
    "md": b"# message",
    "csv": b"session,seq,",
    "jsonl": b'{"role"',
}
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|manage.py export|alice")


def body(response: object) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


@pytest.fixture
def people() -> Cast:
    return cast()


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_comes_in_each_kind_as_a_file_named_by_its_id(people: Cast, kind: str) -> None:
    uid = people.session.uid
    response = browser(people.bob).get(f"/sessions/{uid}/export?as={kind}")
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="session-{uid}.{kind}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert body(response).startswith(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_page_api_and_command_give_the_same_document(
    people: Cast, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, client = people.session.uid, browser(people.alice)
    page = body(client.get(f"/sessions/{uid}/export?as={kind}&from=1&to=2"))
    api = body(client.get(f"/api/v1/sessions/{uid}/export?as={kind}&from=1&to=2"))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    call_command("export", str(uid), "--as", kind, "--from", "1", "--until", "2")
    command: bytes = out.buffer.getvalue()
    assert MOMENT.sub(b"", page) == MOMENT.sub(b"", api) == MOMENT.sub(b"", command)
    assert b"message number 1 " in page
    assert b"message number 3 " not in page


def test_without_a_kind_the_bytes_come_as_they_always_did(people: Cast) -> None:
    response = browser(people.bob).get(f"/sessions/{people.session.uid}/export")
    assert body(response) == build.log()
    assert response["Content-Length"] == str(len(build.log()))
    assert response["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "query",
    [
        "as=exe",
        "as=list",
        "as=",
        "as=html&from=x",
        "as=html&from=-1",
        "as=html&to=1.5",
        "as=html&from=3&to=2",
        "as=html&from=4",
        "as=html&from=99999999999",
        "as=html%0d%0aX-Evil:%201",
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(people: Cast, query: str) -> None:
    response = browser(people.bob).get(f"/sessions/{people.session.uid}/export?{query}")
    assert response.status_code == 400
    assert "X-Evil" not in response.headers


@pytest.mark.parametrize("kind", [*KINDS, "list"])
def test_charlie_exports_nothing_of_others(people: Cast, kind: str) -> None:
    uid, client = people.session.uid, browser(people.charlie)
    own = build.session(people.charlie.memberships.get().workspace, build.log(2), "own.jsonl")
    for url in (
        f"/sessions/{uid}/export?as={kind}",
        f"/export?session={uid}&as={kind}",
        f"/export?session={own.uid}&session={uid}&as={kind}",
        f"/export?session={uid}",
        f"/api/v1/sessions/{uid}/export?as={kind}",
        f"/api/v1/export?ids={own.uid},{uid}&as={kind}",
        f"/api/v1/export?workspace={people.workspace.id}&as={kind}",
        f"/api/v1/export?workspace={people.workspace.id}&q=message&as={kind}",
    ):
        assert client.get(url).status_code == 404, url
    assert str(uid).encode() not in body(client.get(f"/export?q=message&as={kind}"))


def test_named_and_found_sessions_come_in_one_document(people: Cast) -> None:
    other = build.session(people.workspace, build.line("user", "about pears"), "pears.jsonl")
    client = browser(people.bob)
    both = body(client.get(f"/export?session={people.session.uid}&session={other.uid}&as=list"))
    found = body(client.get("/export?q=PEARS about&as=list"))
    everything = body(client.get("/export?as=list"))
    assert titles(both) == ["message number 0 about subject0", "about pears"]
    assert titles(found) == ["about pears"]
    assert set(titles(everything)) == set(titles(both))
    page = body(client.get("/export?q=pears&as=html")).decode()
    assert "<dt>Found by</dt><dd>pears</dd>" in page


def titles(data: bytes) -> list[str]:
    return [row["title"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]


def test_the_api_finds_by_words_as_the_page_does(people: Cast) -> None:
    build.session(people.workspace, build.line("user", "about pears"), "pears.jsonl")
    client = browser(people.bob)
    url = f"/api/v1/export?workspace={people.workspace.id}&q=pears&as=list"
    assert titles(body(client.get(url))) == ["about pears"]


@pytest.mark.parametrize("query", ["as=exe", "session=x&as=csv", "q=no%20such%20words&as=csv"])
def test_many_that_make_no_sense_are_refused(people: Cast, query: str) -> None:
    assert browser(people.bob).get(f"/export?{query}").status_code == 400


def test_more_than_200_sessions_cannot_be_named(people: Cast) -> None:
    query = "&".join(f"session={uuid4()}" for _ in range(201))
    assert browser(people.bob).get(f"/export?as=csv&{query}").status_code == 400


def test_the_page_that_asks_says_how_many_it_would_give(people: Cast) -> None:
    client = browser(people.bob)
    page = client.get("/export?q=message").content.decode()
    assert "1\u00a0session" in page
    assert 'value="html" checked' in page
    assert "No session matches" in client.get("/export?q=zebra").content.decode()


def test_the_head_of_a_session_offers_every_kind_and_a_range(people: Cast) -> None:
    page = browser(people.bob).get(f"/sessions/{people.session.uid}/").content.decode()
    for kind in ("html", "md", "csv"):
        assert f"/sessions/{people.session.uid}/export?as={kind}" in page
    assert 'name="from"' in page
    assert 'max="3"' in page


def test_documents_of_many_go_below_a_folder(
    people: Cast, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("export", "--all", "--as", "html", "--to", str(tmp_path))
    files = [path.name for path in tmp_path.iterdir()]  # type: ignore[attr-defined]
    assert files == [f"session-{people.session.uid}.html"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--all", "--query", "x"],
        ["--all", "--as", "list", "--to", "unused"],
        ["--query", "about", "--as", "html", "--from", "1"],
        ["--all", "--from", "-1"],
    ],
)
def test_the_command_says_what_does_not_go_together(people: Cast, arguments: list[str]) -> None:
    build.session(people.workspace, build.line("user", "about pears"), "pears.jsonl")
    with pytest.raises(CommandError):
        call_command("export", "--workspace", "Alice's", *arguments)


def test_words_are_found_in_titles_projects_and_machines_the_newest_first(people: Cast) -> None:
    old = build.session(people.workspace, build.line("user", "Straße nine"), "p/a.jsonl")
    new = build.session(people.workspace, build.line("user", "strasse ten"), "p/b.jsonl")

    def found(text: str, most: int = 10) -> list[Session]:
        return selection.named(people.workspace, text, most=most)

    assert [row.uid for row in found("STRASSE")] == [new.uid, old.uid]
    assert [row.uid for row in found("strasse nine")] == [old.uid]
    assert len(found("box")) == 3
    assert len(found("", most=2)) == 2
    assert found("zebra") == []


def test_an_export_takes_what_the_list_shows_for_the_same_line(people: Cast) -> None:
    pears = build.session(people.workspace, build.line("user", "about pears"), "p/pears.jsonl")
    build.session(people.workspace, build.line("user", "about plums"), "p/plums.jsonl")

    def found(text: str) -> list[str]:
        chosen = selection.found(people.workspace, text, most=10, now=build.NOW)
        return [str(row.uid) for row in chosen.rows]

    assert found("pears") == [str(pears.uid)]
    assert found("about -plums -message agent:chat") == [str(pears.uid)]
    assert found("project:nowhere") == []


def test_the_list_and_the_search_lead_to_the_export_of_what_they_find(people: Cast) -> None:
    client = browser(people.bob)
    for url in ("/?q=message+agent:chat", "/search?q=message+agent:chat"):
        page = client.get(url).content.decode()
        assert 'href="/export?q=message+agent%3Achat"' in page, url


def test_an_export_says_what_was_left_out_and_that_there_is_more(
    people: Cast, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build.session(people.workspace, build.line("user", "a message, too"), "p/more.jsonl")
    monkeypatch.setattr("sessions_app.web.exports.MOST_FOUND", 1)
    monkeypatch.setattr("sessions_app.management.commands.export.MOST_FOUND", 1)
    client = browser(people.bob)

    asked = client.get("/export", {"q": 'message "open'}).content.decode()
    document = body(client.get("/export", {"q": 'message "open', "as": "md"})).decode()
    call_command("export", "--workspace", "Alice's", "--query", "message tokens:x", "--as", "list")

    assert "The quotation is not closed" in asked
    assert "1\u00a0session</strong>, the first of more" in asked
    assert "without" in document
    assert "the first 1 of more" in document
    said = capsys.readouterr().err
    assert "left out tokens:x:" in said
    assert "there may be more" in said
