"""What a query says of sessions narrows a search as it narrows the list."""

import pytest

from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, Workspace
from sessions_app.store import listing, search
from tests import build
from tests.claude import Log
from tests.search.oracle import ENDLESS

pytestmark = pytest.mark.django_db


@pytest.fixture
def place() -> Workspace:
    """One word in two sessions that differ in everything a filter can ask."""
    place = build.workspace()
    short = build.line("user", "a quokka", timestamp="2026-03-01T10:00:00Z")
    long = b"".join(
        build.line("user", f"a quokka {number}", timestamp=f"2026-05-01T10:0{number}:00Z")
        for number in range(5)
    )
    build.ingest(place, short, "p/short.jsonl", project="Meadow")
    build.ingest(place, long, "p/long.jsonl", project="Forest")
    Session.objects.filter(events=5).update(tokens=70_000, cost=3 * 10**12, errors=2, held=True)
    return place


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ("", ["long", "short"]),
        ("tokens:>50k", ["long"]),
        ("-tokens:>50k", ["short"]),
        ("cost:>1", ["long"]),
        ("duration:>2m", ["long"]),
        ("events:<3", ["short"]),
        ("prompts:>1 errors:>1", ["long"]),
        ("is:held", ["long"]),
        ("-is:held", ["short"]),
        ("project:meadow", ["short"]),
        ("project:[meadow,forest]", ["long", "short"]),
        ("project:for*", ["long"]),
        ("after:2026-04-01", ["long"]),
        ("before:2026-04-01", ["short"]),
        ("project:nowhere", []),
    ],
)
def test_a_filter_about_sessions_holds_in_a_search(
    place: Workspace, filters: str, found: list[str]
) -> None:
    query = parse(f"quokka {filters}")
    results = search.page(place.id, query, now=build.NOW, limits=ENDLESS)
    names = [each.session.source_path.rpartition("/")[2] for each in results.found]
    assert names == [f"{name}.jsonl" for name in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("quokka", ["both", "bash"]),
        # Beside text a filter about events is about the event that has the text.
        ("quokka -tool:Bash", ["both"]),
        ("quokka tool:Bash", ["both", "bash"]),
        ("quokka tool:Read", []),
        ("quokka -role:assistant", ["both"]),
        # Alone it is about the session.
        ("-tool:Bash", []),
    ],
)
def test_the_list_and_the_search_mean_the_same_by_a_filter_about_events_beside_text(
    text: str, found: list[str]
) -> None:
    place = build.workspace()
    build.ingest(place, Log("a" * 36).bash("quokka", "ok").data, "p/bash.jsonl")
    both = Log("b" * 36).wait(hours=1).prompt("a quokka").bash("quokka", "ok").data
    build.ingest(place, both, "p/both.jsonl")
    asked = listing.asked(place, parse(text), now=build.NOW, limits=ENDLESS)
    rows = listing.page(asked).rows()
    names = [each.source_path.rpartition("/")[2].removesuffix(".jsonl") for each in rows]

    assert names == found
    if asked.query.has_text:
        results = search.page(place.id, parse(text), now=build.NOW, limits=ENDLESS)
        assert [each.session.id for each in results.found] == [each.id for each in rows]
