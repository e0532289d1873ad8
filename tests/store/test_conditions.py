"""A query as the database is asked: every filter, alone and together."""

from datetime import timedelta

import pytest
from django.db.models import Q

from sessions_app.domain.lifecycle import Ending, Status
from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, Workspace
from sessions_app.models.record import Part
from sessions_app.store import sessions
from sessions_app.store.conditions import Asked, state_of
from sessions_app.store.facts import Facts
from tests import build

pytestmark = pytest.mark.django_db

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def told(**more: object) -> Facts:
    usual = {"title": "One", "project": "api", "machine": "box", "tools": ("Bash",)}
    return Facts(**{**usual, **more})  # type: ignore[arg-type]


def found(place: Workspace, text: str) -> set[int]:
    asked = Asked(workspace=place, query=parse(text), now=build.NOW)
    return set(Session.objects.filter(asked.condition()).values_list("id", flat=True))


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def test_status_by_rows_by_terms_and_by_hand_agree(place: Workspace) -> None:
    quiets = [
        *(SECOND, 599 * SECOND, 600 * SECOND, 601 * SECOND, HOUR - SECOND, HOUR, HOUR + SECOND),
        *(DAY - SECOND, DAY, 400 * DAY, -HOUR),
    ]
    for ending in Ending:
        for quiet in quiets:
            for is_timed in (True, False):
                at = build.NOW - quiet
                facts = told(ending=ending.value)
                build.row(place, facts, at=at, last_at=at if is_timed else None)
    archived = build.row(place, told(ending=Ending.CALLING.value), archived_at=build.NOW)
    rows = Session.objects.annotate(state=state_of(build.NOW))
    said = {row.id: sessions.status(row, build.NOW) for row in rows}
    assert {row.id: row.state for row in rows} == said
    assert said[archived.id] is Status.ARCHIVED
    for status in Status:
        assert found(place, f"is:{status}") == {id for id, each in said.items() if each is status}
        assert found(place, f"-is:{status}") == {
            id for id, each in said.items() if each is not status
        }


def test_names_are_found_by_any_case_and_by_patterns(place: Workspace) -> None:
    api = build.row(place, told()).id
    web = build.row(place, told(project="web-App", machine="ci-1", tools=("Read", "Grep"))).id
    for text, ids in {
        "project:API": {api},
        "project:web*": {web},
        "project:*a*": {api, web},
        "project:w?b-app": set(),
        "project:[api,WEB-APP]": {api, web},
        "project:api project:web-app": {api, web},
        "project:api OR project:web-app": {api, web},
        "-project:api": {web},
        "!project:*": set(),
        "tool:Grep tool:Bash": {api, web},
        "tool:Grep machine:box": set(),
        "tool:bash machine:BOX agent:claude-code format:claude-code": {api},
        "tool:nothing": set(),
        "tool:noth*": set(),
        "-tool:nothing": {api, web},
    }.items():
        assert found(place, text) == ids, text


def test_words_of_titles(place: Workspace) -> None:
    one = build.row(place, told(title="Fix the refund flow")).id
    two = build.row(place, told(title="Refund: tests")).id
    assert found(place, "title:refund") == {one, two}
    assert found(place, 'title:"refund flow"') == {one}
    assert found(place, "-title:flow") == {two}
    asked = Asked(workspace=place, query=parse("title:ref* -title:fl*"), now=build.NOW)
    assert [each.message for each in asked.problems()] == [
        "“title:” looks for whole words, without “*”."
    ] * 2
    # What cannot be answered is left out, and the rest still runs.
    assert found(place, "title:ref* title:tests") == {two}


def test_numbers_and_what_is_unknown(place: Workspace) -> None:
    small = build.row(place, told(), tokens=10, cost=10**11, errors=0, prompts=1).id
    large = build.row(
        place,
        told(),
        tokens=90_000,
        cost=2 * 10**12,
        errors=4,
        prompts=9,
        events=500,
        started_at=build.NOW - HOUR,
    ).id
    unknown = build.row(place, told(), started_at=None).id
    for text, ids in {
        "tokens:>50k": {large},
        "tokens:<50k": {small},
        "tokens:>=10": {small, large},
        "tokens:10": {small},
        "tokens:[10,90000]": {small, large},
        "tokens:>5 tokens:<100": {small},
        "-tokens:>50k": {small, unknown},
        "cost:>0.5": {large},
        "cost:<=0.1": {small},
        "has:cost": {small, large},
        "errors:>0": {large},
        "errors:0": {small, unknown},
        "events:>100": {large},
        "prompts:<=1": {small, unknown},
        "duration:>30m": {large},
        "duration:<1m": {small},
    }.items():
        assert found(place, text) == ids, text


def test_times(place: Workspace) -> None:
    old = build.row(place, told(), at=build.NOW - 10 * DAY).id
    new = build.row(place, told(), at=build.NOW - HOUR).id
    assert found(place, "after:-7d") == {new}
    assert found(place, "before:-7d") == {old}
    assert found(place, "after:2026-11-08 before:2026-11-09") == {old}
    assert found(place, "after:today") == {new}
    assert found(place, "-after:-7d") == {old}


def test_a_session_is_active_from_its_first_event_to_its_last(place: Workspace) -> None:
    start = build.NOW - 10 * DAY
    long = build.row(place, told(), at=build.NOW - HOUR, started_at=start).id
    short = build.row(place, told(), at=start + HOUR, started_at=start).id
    build.row(place, told(), started_at=None, last_at=None)
    assert found(place, "during:-240h..-5d") == {long, short}
    assert found(place, "during:-5d..-4d") == {long}
    assert found(place, "during:-1m..now") == set()
    assert found(place, "during:-20d..-15d") == set()
    assert found(place, "during:-20d..-15d during:-5d..now") == {long}


def test_marks(place: Workspace) -> None:
    from sessions_app.domain.events import Flag

    plain = build.row(place, told()).id
    rich = build.row(
        place,
        told(seen=int(Flag.PICTURE | Flag.THINKING | Flag.COMPACTION), is_forked=True),
        errors=2,
        unreadable=1,
        tail_bytes=5,
        held=True,
    ).id
    for text in (
        *("has:picture", "has:thinking", "has:compaction", "has:error", "has:unreadable"),
        *("is:forked", "is:incomplete", "is:held", "is:error", "error:yes"),
    ):
        assert found(place, text) == {rich}, text
        assert found(place, f"-{text}") == {plain}, text
    assert found(place, "error:no") == {plain}
    assert found(place, "is:pinned") == set()
    assert found(place, "is:error is:held") == {rich}


def test_subagents_are_listed_where_the_query_says_so(place: Workspace) -> None:
    main = build.row(place, told()).id
    child = build.row(place, told(), part=Part.SUBAGENT).id
    side = build.row(place, told(), part=Part.SIDE).id
    assert found(place, "") == {main}
    assert found(place, "in:subagents") == {main, child}
    assert found(place, "is:subagent") == {child}
    assert found(place, "-is:subagent") == {main}
    assert side not in found(place, "in:subagents tool:Bash")


def test_bad_parts_are_left_out(place: Workspace) -> None:
    one = build.row(place, told()).id
    assert found(place, 'colour:red project:api tokens:many "') == {one}


def test_another_workspace_is_never_found(place: Workspace) -> None:
    other = build.workspace()
    build.row(other, told())
    for text in ("", "project:api", "in:subagents", "-project:x", "tokens:<5", "sort:cost"):
        assert found(place, text) == set()


def test_filters_of_one_key_can_be_left_aside(place: Workspace) -> None:
    from sessions_app.domain.facets import Facet

    build.row(place, told())
    asked = Asked(workspace=place, query=parse("project:x tool:Bash"), now=build.NOW)
    assert Session.objects.filter(asked.condition(less=Facet.PROJECT)).count() == 1
    assert isinstance(asked.condition(), Q)
