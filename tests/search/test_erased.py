"""An erased session leaves nothing that a search could tell of."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from retention.actions import demo
from sessions_app.models import Session, VocabularySegment, Workspace
from sessions_app.store import erase, suggest
from tests import build
from tests.people import browser
from tests.search.oracle import by_searching, pages

pytestmark = pytest.mark.django_db

WORD = "zanzibarine"
QUERIES = (
    WORD,
    WORD.upper(),
    "zanzib*",
    f'"secret {WORD}"',
    f"/{WORD[:6]}[a-z]+/",
    f"{WORD} OR secret",
)


@pytest.fixture
def place() -> Workspace:
    """Two sessions; the older one will go."""
    made = build.workspace("Demo")
    Workspace.objects.filter(id=made.id).update(is_demo=True)
    made.refresh_from_db()
    gone = build.line("user", f"the secret {WORD}", model=f"{WORD}-model") + build.log(3)
    build.ingest(made, gone, f"{WORD}/gone.jsonl", project=f"{WORD}-project")
    build.ingest(made, build.log(3), "kept.jsonl", project="kept")
    return made


def test_words_of_an_erased_session_are_found_no_more(place: Workspace) -> None:
    for q in QUERIES:
        assert len(by_searching(place, q)) == 1, q
    kept = str(Session.objects.latest("id").uid)

    assert next(erase.demo_sessions(place)) == 1

    for q in QUERIES:
        assert pages(place, q) == [], q
    assert pages(place, "message") == [kept]


def test_its_text_is_in_no_answer(place: Workspace) -> None:
    client = browser(build.member("ann", place))
    assert next(erase.demo_sessions(place)) == 1
    for q in ("zanzib*", "zanz", "secret OR message", "-nothing", "project:za*", "/z.*/"):
        out = StringIO()
        call_command("search", "--json", "--workspace", str(place.id), "--", q, stdout=out)
        answers = [out.getvalue()]
        for path in ("/search", "/search/scan", "/api/v1/search", "/"):
            answer = client.get(path, {"q": q})
            answers.append((b"".join(answer) if answer.streaming else answer.content).decode())
        assert not [each for each in answers if WORD in each], q


@pytest.mark.parametrize("begun", ["zanz", "project:zanz", "model:zanz"])
def test_it_is_suggested_no_more(place: Workspace, begun: str) -> None:
    def told() -> str:
        found = suggest.suggestions(place, begun, len(begun), now=build.NOW)
        client = browser(build.member(f"u{Session.objects.count()}", place))
        page = client.get(
            "/sessions/suggest", {"q": begun, "at": str(len(begun))}, headers={"HX-Request": "true"}
        )
        return json.dumps([str(each) for each in found]) + page.content.decode()

    before = told()
    assert next(erase.demo_sessions(place)) == 1
    assert WORD not in told()
    assert begun == "model:zanz" or WORD in before


def test_with_the_workspace_its_vocabulary_goes(place: Workspace) -> None:
    assert VocabularySegment.objects.filter(workspace=place).exists()
    demo.remove(place, lambda _done, _all: None)
    assert not VocabularySegment.objects.exists()
