"""What a query finds as a whole, and what may follow in the field."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.domain.facets import Facet
from sessions_app.domain.lifecycle import Ending, Status
from sessions_app.domain.searchquery import parse
from sessions_app.models import Workspace
from sessions_app.models.record import Part
from sessions_app.store import overview, suggest
from sessions_app.store.conditions import Asked
from sessions_app.store.facts import Facts
from sessions_app.store.overview import Overview
from tests import build

pytestmark = pytest.mark.django_db


def look(place: Workspace, text: str = "", wide: Facet | None = None) -> Overview:
    return overview.of(Asked(workspace=place, query=parse(text), now=build.NOW), wide=wide)


def counts(found: Overview, kind: Facet) -> dict[str, int]:
    group = next((each for each in found.groups if each.kind is kind), None)
    return {value.name: value.count for value in group.values} if group else {}


@pytest.fixture
def place() -> Workspace:
    place = build.workspace()
    for n in range(12):
        facts = Facts(
            title=f"No {n}",
            project="api" if n % 3 else "my web",
            machine="box",
            tools=("Bash", "Read") if n % 2 else ("Bash",),
            ending=(Ending.CALLING if n == 0 else Ending.ANSWERED).value,
        )
        build.row(
            place,
            facts,
            at=build.NOW - timedelta(days=n),
            agent="codex" if n > 9 else "pi",
        )
    build.row(place, Facts(project="api"), part=Part.SUBAGENT)
    return place


def test_counts_are_of_what_the_query_finds(place: Workspace) -> None:
    found = look(place)
    assert (found.count, found.is_cut, found.hidden) == (12, False, 1)
    assert counts(found, Facet.PROJECT) == {"api": 8, "my web": 4}
    assert counts(found, Facet.TOOL) == {"Bash": 12, "Read": 6}
    assert found.states == {Status.RUNNING: 1, Status.CLOSED: 11}
    assert len(found.moments) == 12
    narrow = look(place, "tool:Read agent:codex")
    assert narrow.count == 1
    assert counts(narrow, Facet.PROJECT) == {"api": 1}


def test_numbers_are_counted_by_the_power_of_two_they_reach() -> None:
    place = build.workspace()
    hour = timedelta(hours=1)
    for tokens in (0, 1, 2, 3, 4, 1024, 2**39, None):
        build.row(place, tokens=tokens, cost=tokens, started_at=build.NOW - hour)
    found = look(place).numbers
    assert found["tokens"] == found["cost"] == {0: 1, 1: 2, 2: 1, 10: 1, 39: 1}
    assert found["duration"] == {11: 8}


def test_a_key_that_is_filtered_by_offers_its_other_values(place: Workspace) -> None:
    found = look(place, "agent:codex")
    assert counts(found, Facet.AGENT) == {"pi": 10, "codex": 2}
    assert counts(found, Facet.PROJECT) == {"api": 2}


def test_hidden_subagents_are_counted_and_not_once_they_are_listed(place: Workspace) -> None:
    assert look(place, "project:api").hidden == 1
    assert look(place, "project:api in:subagents").hidden == 0
    assert look(place, 'project:"my web"').hidden == 0


def test_a_long_group_is_cut_and_says_how_much_is_left() -> None:
    place = build.workspace()
    for n in range(15):
        build.row(place, Facts(project=f"p{n:02}"))
    group = next(each for each in look(place).groups if each.kind is Facet.PROJECT)
    assert (len(group.values), group.more) == (overview.TOP, 15 - overview.TOP)
    wide = look(place, wide=Facet.PROJECT)
    assert len(counts(wide, Facet.PROJECT)) == 15


def test_the_number_of_questions_does_not_depend_on_the_sessions(place: Workspace) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as caught:
            look(place, "tool:Read")
        return len(caught)

    before = asked()
    for n in range(30):
        build.row(place, Facts(project=f"more {n}", tools=("Read", f"t{n}")))
    assert asked() == before


def test_labels_of_counts() -> None:
    assert overview.count_label(0, is_cut=False) == "0 sessions"
    assert overview.count_label(1, is_cut=False) == "1 session"
    assert overview.count_label(1000, is_cut=True) == "1,000+ sessions"


# Suggestions --------------------------------------------------------------------------------------


def offered(place: Workspace, text: str, cursor: int | None = None) -> list[suggest.Suggestion]:
    at = len(text) if cursor is None else cursor
    return suggest.suggestions(place, text, at, now=build.NOW)


def test_keys_are_offered_by_their_beginning(place: Workspace) -> None:
    assert [each.shown for each in offered(place, "to")] == ["tool:", "tokens:"]
    assert [each.text for each in offered(place, "-to")] == ["-tool:", "-tokens:"]
    assert len(offered(place, "")) == suggest.MOST


def test_values_come_with_their_counts_and_quotes_where_needed(place: Workspace) -> None:
    found = offered(place, "project:")
    assert [(each.shown, each.count) for each in found] == [
        *(("project:api", 8), ("project:my web", 4)),
    ]
    assert found[1].text == 'project:"my web" '
    assert found[1].cursor == len(found[1].text)


def test_counts_over_the_newest_alone_are_offered_as_floors(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(each.is_floor for each in offered(place, "project:"))
    monkeypatch.setattr(overview, "LOOKED_AT", 5)
    assert all(each.is_floor for each in offered(place, "project:"))
    assert all(each.is_floor for each in offered(place, "is:"))
    assert overview.count_label(0, is_cut=True) == "No sessions so far"


def test_the_rest_of_the_query_narrows_the_counts_and_stays(place: Workspace) -> None:
    text = "agent:codex tool: sort:cost"
    found = offered(place, text, len("agent:codex tool:"))
    assert [(each.shown, each.count) for each in found] == [("tool:Bash", 2), ("tool:Read", 1)]
    assert found[0].text == "agent:codex tool:Bash sort:cost"
    assert found[0].text[: found[0].cursor] == "agent:codex tool:Bash "


def test_choices_of_status_are_counted(place: Workspace) -> None:
    found = {each.shown: each.count for each in offered(place, "is:")}
    assert found["is:running"] == 1
    assert found["is:closed"] == 11
    assert found["is:stale"] == 0
    assert [each.shown for each in offered(place, "is:un")] == ["is:unclean"]
    assert [each.shown for each in offered(place, "has:p")] == ["has:picture"]


def test_a_name_is_offered_before_its_key_is_typed(place: Workspace) -> None:
    assert ("project:my web", 4) in [(each.shown, each.count) for each in offered(place, "web")]


def test_limits_and_times_are_offered_as_examples(place: Workspace) -> None:
    assert "after:-7d" in [each.shown for each in offered(place, "after:")]
    assert "tokens:>50k" in [each.shown for each in offered(place, "tokens:")]


def test_nobody_waits_for_a_search_while_typing(place: Workspace) -> None:
    with CaptureQueriesContext(connection) as caught:
        offered(place, 'timeout "a phrase" /re/ file:x tool:')
    assert not [each for each in caught if "sessions_app_chunk" in each["sql"]]


def test_odd_cursors_and_texts_are_borne(place: Workspace) -> None:
    for text, cursor in (('"', 1), ("tool:[", 6), ("a" * 9000, 9999), ("x", -5), ("OR", 2)):
        offered(place, text, cursor)
