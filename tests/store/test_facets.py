"""Names behind blind terms: sealed, found again by any spelling, gone with their sessions."""

import pytest
from django.db import connection

from sessions_app.domain.facets import Facet
from sessions_app.models import FacetValue, Session, Workspace
from sessions_app.store import erase, facets, keys, reproject
from sessions_app.store.facets import Blind
from tests import build

pytestmark = pytest.mark.django_db

CALL = build.line("assistant", "", tool_calls=[{"id": "c", "function": {"name": "HiddenTool"}}])


def names(place: Workspace, kind: Facet) -> set[str]:
    return {name.value for name in facets.all_of(place.id, kind)}


def test_a_session_has_terms_of_what_it_is_filtered_by() -> None:
    place = build.workspace()
    session = build.session(place, build.log() + CALL)
    session.refresh_from_db()
    blind = Blind(place.id)
    for key, value in (
        ("project", "A"),
        ("machine", "BOX"),
        ("tool", "hiddentool"),
        ("agent", session.agent),
        ("format", session.format),
        ("title", "message"),
    ):
        assert blind.term(key, value) in session.facets, key
    assert blind.term("has", "error") not in session.facets
    assert session.facets == sorted(set(session.facets))


def test_names_come_back_as_they_were_spelled() -> None:
    place = build.workspace()
    build.session(place, build.log() + CALL)
    assert names(place, Facet.TOOL) == {"HiddenTool"}
    assert names(place, Facet.MACHINE) == {"box"}
    assert names(place, Facet.PROJECT) == {"a"}


def test_no_name_stands_in_the_database_as_text() -> None:
    place = build.workspace()
    build.ingest(place, build.log() + CALL, machine="SecretMachine", project="SecretProject")
    with connection.cursor() as cursor:
        for table in ("session", "facetvalue"):
            cursor.execute(f"SELECT string_agg(t::text, ' ') FROM sessions_app_{table} t")
            text = cursor.fetchone()[0]
            for name in ("SecretMachine", "SecretProject", "HiddenTool"):
                assert name.lower() not in text.lower()
                assert name.encode().hex() not in text


def test_terms_of_two_workspaces_never_meet() -> None:
    one, two = build.workspace(), build.workspace()
    assert Blind(one.id).term("tool", "Bash") != Blind(two.id).term("tool", "Bash")


def test_a_name_moved_to_another_place_does_not_open() -> None:
    place = build.workspace()
    build.session(place, build.log() + CALL)
    FacetValue.objects.filter(kind=Facet.TOOL).update(kind=Facet.BRANCH)
    assert names(place, Facet.BRANCH) == {"(a name that cannot be opened)"}


def test_names_go_with_the_last_session_that_has_them() -> None:
    keys.prepare()
    place = keys.new_workspace("Demo", is_demo=True)
    build.session(place, build.log() + CALL, "one.jsonl")
    build.session(place, build.log(2), "two.jsonl")
    gone = erase.demo_sessions(place)
    next(gone)
    assert names(place, Facet.TOOL) == set()
    assert names(place, Facet.PROJECT) == {"a"}
    list(gone)
    assert not FacetValue.objects.exists()


def test_a_name_that_changes_does_not_stay_behind() -> None:
    place = build.workspace()
    record = b'{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"}%s}\n'
    build.ingest(place, record % b"", project="")
    assert names(place, Facet.PROJECT) == {"a"}
    build.ingest(place, record % b"" + record % b',"cwd":"/home/x/found"', project="")
    assert names(place, Facet.PROJECT) == {"found"}
    session = Session.objects.get()
    Session.objects.update(facets=[*session.facets, Blind(place.id).term("project", "old")])
    facets.keep(
        place.id, [facets.Name(Facet.PROJECT, Blind(place.id).term("project", "old"), "old")]
    )
    reproject.session(session.id, now=build.NOW)
    assert names(place, Facet.PROJECT) == {"found"}


def test_strange_names_are_kept_as_they_are() -> None:
    place = build.workspace()
    for strange in ("line\nbreak", "\udcff raw", "x" * 500, "\u202e", "a\0b"):
        build.ingest(place, build.log(), f"{strange}/x.jsonl", machine=strange, project=strange)
    assert "line\nbreak" in names(place, Facet.MACHINE)
    assert "\udcff raw" in names(place, Facet.PROJECT)
    assert max(len(name) for name in names(place, Facet.PROJECT)) == facets.LONGEST_NAME
