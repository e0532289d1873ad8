"""Questions about usage, tools, projects and agents, against answers made one row at a time."""

from collections import defaultdict
from datetime import UTC, date
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.domain import searchquery
from sessions_app.domain.calendar import EVER, Days, Step
from sessions_app.domain.spending import By, Sums
from sessions_app.models import Session, Usage, Workspace
from sessions_app.store import census, facts, listing, reproject, sessions, spending, tools
from sessions_app.store.spending import Only
from sessions_app.vault import seal
from tests import build
from tests.store.test_tally import call, result
from tests.store.test_usage import MODEL, answer, counted, rollout

pytestmark = pytest.mark.django_db

MARCH = Days(first=date(2026, 3, 1), last=date(2026, 3, 31))


@pytest.fixture
def place() -> Workspace:
    """Two projects, two machines, two agents, two users and none, an answer that two sessions hold,
    and an unknown model."""
    found = build.workspace()
    first = [answer("m1", 5, cwd="/home/ada/api"), answer("m2", 6)]
    ingest(found, first, "a.jsonl", project="Api", machine="box")
    ingest(
        found,
        [answer("m1", 5), answer("m3", 7, model="house-model", timestamp="2026-04-02T23:59:59Z")],
        "b.jsonl",
        project="web",
        machine="box",
    )
    codex = [
        rollout("session_meta", id="x", cwd=r"C:\Users\Grace\api"),
        rollout("turn_context", model="gpt-5.5"),
    ]
    ingest(found, [*codex, counted(10, 10)], "c.jsonl", project="api", machine="mac")
    return found


def ingest(place: Workspace, lines: list[bytes], path: str, **more: Any) -> None:
    build.ingest(place, b"\n".join(lines) + b"\n", path=path, **more)


def expected(place: Workspace, by: By) -> dict[str, list[int]]:
    """Answers, tokens out and tokens in, by name; names opened session by session."""
    rows = {row.id: row for row in Session.objects.select_related("key").filter(workspace=place)}
    answers: dict[int, list[Usage]] = defaultdict(list)
    for line in Usage.objects.filter(session_id__in=list(rows)):
        answers[line.key].append(line)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for lines in answers.values():
        first = min(lines, key=lambda line: line.session_id)
        told = sums[_name(by, first, rows[first.session_id])]
        told[0] += 1
        told[1] += max(line.output for line in lines)
        told[2] += max(line.input for line in lines)
    return dict(sums)


def _name(by: By, line: Usage, row: Session) -> str:
    known = sessions.facts_of(row)
    match by:
        case By.MODEL:
            return line.model
        case By.AGENT:
            return row.agent
        case By.PROJECT:
            return facts.project_of(known).casefold()
        case By.MACHINE:
            return known.machine.casefold()
        case By.USER:
            return facts.user_of(known).casefold() or "no user"
        case By.DAY:
            assert line.at is not None
            return line.at.astimezone(UTC).date().isoformat()


@pytest.mark.parametrize("by", list(By))
def test_every_way_of_telling_apart_gives_what_the_rows_say(place: Workspace, by: By) -> None:
    found = spending.by_day(place.id, EVER, by=by)

    sums: dict[str, Sums] = defaultdict(Sums)
    for row in found.rows:
        name = row.start.isoformat() if by is By.DAY else found.name(row.value).casefold()
        sums[name] += row.sums

    told = {name: [each.answers, each.output, each.input] for name, each in sums.items()}
    assert told == expected(place, by)


def test_names_that_differ_in_case_only_are_one_and_the_first_spelling_is_shown(
    place: Workspace,
) -> None:
    found = spending.report(place.id, EVER, by=By.PROJECT)
    assert sorted(found.name(value) for value in found.by_value()) == ["Api", "web"]


def test_a_range_includes_its_first_and_its_last_day(place: Workspace) -> None:
    def answers(days: Days) -> int:
        return spending.report(place.id, days, by=By.MODEL).total().answers

    assert answers(EVER) == 4
    assert answers(MARCH) == 3
    assert answers(Days(first=date(2026, 3, 1), last=date(2026, 3, 1))) == 3
    assert answers(Days(first=date(2026, 4, 2))) == 1
    assert answers(Days(last=date(2026, 2, 28))) == 0


def test_only_what_is_asked_for_is_left_in(place: Workspace) -> None:
    found = spending.report(place.id, EVER, by=By.PROJECT)
    api = next(value for value in found.by_value() if found.name(value) == "Api")
    only = Only(project=int(api), agent="codex")

    left = spending.report(place.id, EVER, by=By.MODEL, only=only)

    assert {left.name(value) for value in left.by_value()} == {"gpt-5.5"}
    assert spending.named(place.id, only) == {"agent": "codex", "project": "Api"}


def test_users_are_told_apart_by_the_homes_their_agents_worked_in(place: Workspace) -> None:
    found = spending.report(place.id, EVER, by=By.USER)
    named = {found.name(value): sums.answers for value, sums in found.by_value().items()}
    grace = next(value for value in found.by_value() if found.name(value) == "Grace")
    hers = spending.report(place.id, EVER, by=By.AGENT, only=Only(user=int(grace)))

    assert named == {"ada": 2, "Grace": 1, "no user": 1}
    assert set(hers.by_value()) == {"codex"}
    asked = listing.asked(place, searchquery.parse("user:ADA"), now=build.NOW)
    assert [row.agent for row in listing.page(asked).found] == ["claude-code"]


def test_long_times_go_in_longer_steps_and_lose_nothing(place: Workspace) -> None:
    year = spending.report(
        place.id, Days(first=date(2026, 1, 1), last=date(2026, 12, 31)), by=By.DAY
    )
    days = spending.by_day(place.id, EVER, by=By.DAY)

    assert (year.step, days.step) == (Step.WEEK, Step.DAY)
    assert year.total() == days.total()
    assert all(row.start.weekday() == 0 for row in year.rows)


def test_an_unknown_price_is_told_as_the_number_of_answers_without_one(place: Workspace) -> None:
    found = spending.report(place.id, EVER, by=By.MODEL)
    sums = {found.name(value): each for value, each in found.by_value().items()}

    assert (sums["house-model"].cost, sums["house-model"].unpriced) == (None, 1)
    assert sums[MODEL].cost
    assert sums[MODEL].unpriced == 0
    assert found.total().unpriced == 1
    assert found.total().priced_on == sums[MODEL].priced_on


def test_answers_without_a_time_are_on_the_day_of_their_session(place: Workspace) -> None:
    dated = answer("m9", 5).replace(b'"timestamp":"2026-03-01T10:00:00Z",', b"")
    ingest(place, [dated], "d.jsonl", project="late", machine="box")
    row = Session.objects.get(workspace=place, last_at=None)

    found = spending.by_day(place.id, EVER, by=By.PROJECT)

    (told,) = [each for each in found.rows if found.name(each.value) == "late"]
    assert told.start == row.sort_at.date()


def test_what_a_session_is_told_apart_by_is_as_new_as_the_session(place: Workspace) -> None:
    spending.report(place.id, EVER, by=By.PROJECT)
    row = Session.objects.get(workspace=place, agent="codex")
    Session.objects.filter(id=row.id).update(agent="somebody", project_term=7)
    reproject.session(row.id, now=build.NOW)

    assert "codex" in spending.totals(place.id, by=By.AGENT)
    found = spending.report(place.id, EVER, by=By.AGENT)
    assert {found.name(value) for value in found.by_value()} == {"claude-code", "codex"}


# Work -----------------------------------------------------------------------------------------


def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was unsealed from here on."""
    seen: list[str] = []
    unseal = seal.unseal

    def watched(*values: Any, name: str) -> bytes:
        seen.append(name)
        return unseal(*values, name=name)

    monkeypatch.setattr(seal, "unseal", watched)
    return seen


def many(place: Workspace, number: int) -> None:
    for each in range(number):
        lines = [answer(f"n{each}", 1), call("Bash", f"c{each}", "2026-03-01T10:00:00Z")]
        ingest(place, lines, f"n{each}.jsonl", project=f"p{each % 3}", machine="box")


@pytest.mark.parametrize("sessions_more", [0, 30])
def test_no_page_opens_a_seal_or_asks_a_query_for_each_session(
    place: Workspace, monkeypatch: pytest.MonkeyPatch, sessions_more: int
) -> None:
    many(place, 3 + sessions_more)
    spending.report(place.id, EVER, by=By.PROJECT)
    seen = opened(monkeypatch)
    with CaptureQueriesContext(connection) as asked:
        spending.report(place.id, EVER, by=By.PROJECT)
        tools.called(place.id, EVER)
        census.projects(place.id)
    assert len(asked) == 13
    # Five projects, twice, and the tool.
    assert len([name for name in seen if name == "a name of a facet"]) == 5 + 5 + 1
    assert not [name for name in seen if name.startswith("facts of")]


def test_versions_are_looked_for_in_the_newest_sessions_only(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(place, census.VERSIONS_OF + 10)
    seen = opened(monkeypatch)
    census.agents(place.id)
    facts_opened = [name for name in seen if name.startswith("facts of")]
    assert len(facts_opened) == census.VERSIONS_OF + 1


# Projects and agents --------------------------------------------------------------------------


def test_projects_are_counted_with_their_sessions_agents_and_usage(place: Workspace) -> None:
    groups = {group.name: group for group in census.projects(place.id).groups}

    assert set(groups) == {"Api", "web"}
    assert (groups["Api"].sessions, groups["web"].sessions) == (2, 1)
    assert set(groups["Api"].agents.shown) == {"claude-code", "codex"}
    assert groups["Api"].sums.answers == 3
    # The copy of the first project's answer counts there.
    assert groups["web"].sums.answers == 1
    assert groups["web"].sums.unpriced == 1


def test_agents_are_counted_with_their_models_and_versions(place: Workspace) -> None:
    line = answer("m9", 5, version="2.1.62")
    ingest(place, [line], "v.jsonl", project="web", machine="box")
    groups = {group.name: group for group in census.agents(place.id).groups}

    claude = groups["claude-code"]
    assert claude.versions.shown == ("2.1.62",)
    assert claude.models.shown == (MODEL, "house-model")
    assert (claude.sessions, claude.projects) == (3, 2)
    assert groups["codex"].models.shown == ("gpt-5.5",)


def test_a_session_that_cannot_be_opened_does_not_hide_the_others(place: Workspace) -> None:
    Session.objects.filter(workspace=place, agent="codex").update(sealed_facts=b"x" * 60)
    assert {group.name for group in census.agents(place.id).groups} == {"claude-code", "codex"}


def test_side_files_are_no_sessions_of_a_project(place: Workspace) -> None:
    ingest(place, [b"a large result"], "a/tool-results/x.txt", project="web", machine="box")
    groups = {group.name: group for group in census.projects(place.id).groups}
    assert groups["web"].sessions == 1


# Tools ----------------------------------------------------------------------------------------


def test_tools_are_counted_with_errors_and_times(place: Workspace) -> None:
    at = "2026-03-01T10:00:{:02}Z".format
    lines = []
    for number in range(20):
        lines += [call("Bash", f"b{number}", at(0)), result(f"b{number}", at(number + 1))]
    lines += [
        call("Bash", "f", at(30)),
        result("f", at(31), failed=True),
        call("Read", "r", at(40)),
    ]
    ingest(place, lines, "t.jsonl", project="web", machine="box")

    found = {tool.name: tool for tool in tools.called(place.id, EVER).rows}

    bash, read = found["Bash"], found["Read"]
    assert (bash.calls, bash.failed, bash.missing, bash.sessions) == (21, 1, 0, 1)
    assert bash.error_rate == 1 / 21
    assert (bash.median, bash.slow) == (10_000, 19_000)
    assert (read.calls, read.missing, read.error_rate, read.median) == (1, 1, None, None)
    assert bash.agents == ("claude-code",)


def test_tools_are_told_apart_by_agent_and_by_time(place: Workspace) -> None:
    at = "2026-03-01T10:00:00Z"
    ingest(place, [call("Bash", "b1", at)], "t.jsonl", project="web", machine="box")
    named = rollout("response_item", type="function_call", name="bash", call_id="z", arguments="")
    ingest(place, [rollout("session_meta", id="y"), named], "u.jsonl", project="web", machine="m")

    (both,) = tools.called(place.id, EVER).rows
    split = tools.called(place.id, EVER, is_split=True).rows

    assert (both.calls, both.agents, both.sessions) == (2, ("claude-code", "codex"), 2)
    assert sorted((tool.agents, tool.calls) for tool in split) == [
        (("claude-code",), 1),
        (("codex",), 1),
    ]
    assert [tool.calls for tool in tools.called(place.id, EVER, agent="codex").rows] == [1]
    assert tools.called(place.id, Days(first=date(2026, 3, 2))).rows == []
    assert tools.agents(place.id) == ["claude-code", "codex"]
