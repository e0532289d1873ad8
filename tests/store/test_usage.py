"""Tokens and cost: every answer of a provider once, whatever its lines repeat."""

from typing import Any

import orjson
import pytest

from sessions_app.models import Session, Workspace
from sessions_app.store import reproject, usage
from tests import build

pytestmark = pytest.mark.django_db
MODEL = "claude-opus-4-5-20251101"


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def answer(message: str, output: int, **more: Any) -> bytes:
    record = {
        "type": "assistant",
        "sessionId": "s1",
        "uuid": f"{message}-{output}-{more.get('request', '')}",
        "requestId": more.pop("request", "r1"),
        "timestamp": "2026-03-01T10:00:00Z",
        "message": {
            "id": message,
            "role": "assistant",
            "model": more.pop("model", MODEL),
            "content": [{"type": "text", "text": "x"}],
            "usage": {
                "input_tokens": 10,
                "output_tokens": output,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 100,
            },
        },
        **more,
    }
    return orjson.dumps(record)


def taken(place: Workspace, lines: list[bytes], path: str = "a.jsonl") -> Session:
    result = build.ingest(place, b"\n".join(lines) + b"\n", path=path)
    return Session.objects.select_related("key").get(uid=str(result.uid))


def test_the_lines_of_one_answer_count_once_with_the_largest_of_each_counter(
    place: Workspace,
) -> None:
    session = taken(place, [answer("m1", 8), answer("m1", 8), answer("m1", 349)])

    (row,) = usage.of_session(session.id)

    assert (row.model, row.answers) == (MODEL, 1)
    assert (row.input, row.output, row.cache_read, row.cache_write) == (10, 349, 1000, 100)


def test_another_request_of_the_same_message_is_another_answer(place: Workspace) -> None:
    session = taken(place, [answer("m1", 5), answer("m1", 5, request="r2")])

    (row,) = usage.of_session(session.id)

    assert (row.answers, row.output) == (2, 10)


def test_an_answer_in_two_sessions_counts_once_in_their_workspace(place: Workspace) -> None:
    first = taken(place, [answer("m1", 5)])
    second = taken(place, [answer("m1", 7), answer("m2", 1)], path="b.jsonl")

    assert [row.output for row in usage.of_session(first.id)] == [5]
    assert [row.output for row in usage.of_session(second.id)] == [8]
    (both,) = usage.of_workspace(place.id)
    assert (both.answers, both.output) == (2, 8)


def test_a_known_model_has_a_price_and_its_day_an_unknown_one_has_neither(
    place: Workspace,
) -> None:
    session = taken(place, [answer("m1", 5), answer("m2", 5, model="house-model-1")])

    rows = {row.model: row for row in usage.of_session(session.id)}

    assert rows[MODEL].cost
    assert rows[MODEL].priced_on is not None
    assert rows["house-model-1"].cost is None
    assert rows["house-model-1"].unpriced == 1


def test_an_error_the_program_made_up_uses_nothing(place: Workspace) -> None:
    session = taken(place, [answer("m1", 0, model="<synthetic>", isApiErrorMessage=True)])

    assert usage.of_session(session.id) == []
    assert session.errors == 1


def test_a_last_line_without_an_end_counts_and_counts_once_when_it_is_whole(
    place: Workspace,
) -> None:
    whole = answer("m1", 5) + b"\n" + answer("m2", 6)
    build.ingest(place, whole, path="a.jsonl")
    result = build.ingest(place, whole + b"\n" + answer("m3", 7) + b"\n", path="a.jsonl")
    session = Session.objects.get(uid=str(result.uid))

    (row,) = usage.of_session(session.id)

    assert (row.answers, row.output) == (3, 18)


def test_deriving_anew_gives_the_same_usage(place: Workspace) -> None:
    session = taken(place, [answer("m1", 8), answer("m1", 349), answer("m2", 1)])
    before = usage.of_session(session.id)

    reproject.session(session.id, now=build.NOW)

    assert usage.of_session(session.id) == before


def rollout(kind: str, **payload: object) -> bytes:
    return orjson.dumps({"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload})


def counted(last: int, whole: int) -> bytes:
    info = {
        "last_token_usage": {"input_tokens": last, "output_tokens": 1},
        "total_token_usage": {"input_tokens": whole, "output_tokens": 1},
    }
    return rollout("event_msg", type="token_count", info=info)


TURNS = [rollout("turn_context", turn_id=name, model="gpt-5.5") for name in ("t1", "t2", "t3")]


def test_a_total_told_again_is_the_same_answer_even_after_a_new_turn_began(
    place: Workspace,
) -> None:
    lines = [TURNS[0], counted(10, 10), counted(10, 10), TURNS[1], counted(10, 10), TURNS[2]]
    session = taken(place, [rollout("session_meta", id="a"), *lines, counted(20, 30)])

    (row,) = usage.of_session(session.id)

    assert (row.model, row.answers, row.input) == ("gpt-5.5", 2, 30)


def test_a_total_told_again_after_the_file_grew_is_the_same_answer(place: Workspace) -> None:
    lines = [rollout("session_meta", id="a"), TURNS[0], counted(10, 10)]
    taken(place, lines)
    session = taken(place, [*lines, TURNS[1], counted(10, 10)])

    (row,) = usage.of_session(session.id)

    assert (row.answers, row.input) == (1, 10)


def test_a_fork_that_copies_turns_counts_only_its_own_answers(place: Workspace) -> None:
    copied = [rollout("session_meta", id="a"), TURNS[0], counted(10, 10)]
    taken(place, copied)
    own = rollout("session_meta", id="b", forked_from_id="a")
    taken(place, [own, *copied, TURNS[1], counted(20, 30)], path="b.jsonl")

    (row,) = usage.of_workspace(place.id)

    assert (row.answers, row.input) == (2, 30)


def test_the_same_totals_in_two_unrelated_sessions_are_two_answers(place: Workspace) -> None:
    for name in ("a", "b"):
        lines = [rollout("session_meta", id=name), rollout("turn_context", model="gpt-5.5")]
        taken(place, [*lines, counted(10, 10)], path=f"{name}.jsonl")

    (row,) = usage.of_workspace(place.id)

    assert (row.answers, row.input) == (2, 20)


@pytest.mark.parametrize("bad", [-5, 2**63, 1.5, "9", None, [], True])
def test_hostile_counters_are_bounded(place: Workspace, bad: object) -> None:
    line = answer("m1", 5).replace(
        b'"input_tokens":10',
        b'"input_tokens":' + orjson.dumps(bad)
        if bad != 2**63
        else b'"input_tokens":9223372036854775808',
    )
    session = taken(place, [line, answer("m2", 1)])

    (row,) = usage.of_session(session.id)

    assert row.answers == 2
    assert 10 <= row.input <= 10 + 2**53


# By turn ------------------------------------------------------------------------------------------


def prompt(words: str) -> bytes:
    message = {"role": "user", "content": words}
    return orjson.dumps({"type": "user", "sessionId": "s1", "uuid": words, "message": message})


def test_answers_belong_to_the_turn_they_are_first_told_in(place: Workspace) -> None:
    lines = [
        answer("m0", 1),
        prompt("one"),
        answer("m1", 5),
        answer("m1", 9),
        prompt("two"),
        answer("m1", 9),
        answer("m2", 2, request="r2"),
        prompt("three"),
    ]
    session = taken(place, lines)
    found = usage.turns(session.id, first=0, size=10)

    assert [(turn.number, turn.seq, turn.answers, turn.output) for turn in found] == [
        (0, None, 1, 1),
        (1, 1, 1, 9),
        (2, 4, 1, 2),
        (3, 7, 0, 0),
    ]
    assert [turn.context for turn in found] == [1110, 1110, 1110, 0]
    assert found[3].cost is None
    assert usage.turns(session.id, first=1, size=1) == [found[1]]
    assert usage.turns(session.id, first=2, size=2) == found[2:]
    assert usage.turns(session.id, first=0, size=2) == found[:2]
    groups = usage.groups(session.id, together=1)
    assert [(group.number, group.answers) for group in groups] == [(0, 1), (1, 1), (2, 1)]


def test_turns_are_paged_and_grouped(place: Workspace) -> None:
    lines = []
    for number in range(1, 31):
        lines += [prompt(f"p{number}"), answer(f"m{number}", number, request=f"r{number}")]
    session = taken(place, lines)
    groups = usage.groups(session.id, together=10)

    assert [t.number for t in usage.turns(session.id, first=25, size=25)] == list(range(25, 31))
    assert [(group.number, group.answers) for group in groups] == [
        (0, 9),
        (10, 10),
        (20, 10),
        (30, 1),
    ]
    assert sum(group.output for group in groups) == sum(range(1, 31))
    total = usage.of_session(session.id)[0]
    assert sum(group.cost or 0 for group in groups) == total.cost


def test_a_session_without_prompts_is_all_before_the_first(place: Workspace) -> None:
    session = taken(place, [answer("m1", 5)])
    found = usage.turns(session.id, first=0, size=25)

    assert [(turn.number, turn.seq, turn.answers) for turn in found] == [(0, None, 1)]
    assert usage.turns(session.id, first=25, size=25) == []


def test_a_turn_with_an_unknown_price_says_so(place: Workspace) -> None:
    lines = [prompt("p"), answer("m1", 5), answer("m2", 5, request="r2", model="house-llm-1")]
    (turn,) = usage.turns(taken(place, lines).id, first=1, size=1)

    assert turn.cost is not None
    assert turn.unpriced == 1


def test_the_context_grows_answer_by_answer_in_few_points(place: Workspace) -> None:
    lines = [answer(f"m{n}", 1, request=f"r{n}") for n in range(50)]
    session = taken(place, lines)

    every = usage.growth(session.id, most=100, is_subagent=False)
    assert [point.number for point in every] == list(range(1, 51))
    few = usage.growth(session.id, most=10, is_subagent=False)
    assert [point.number for point in few] == list(range(1, 51, 5))
    assert {(point.tokens, point.least) for point in few} == {(1110, 1110)}


def test_a_range_counts_only_its_own_lines(place: Workspace) -> None:
    session = taken(place, [answer("m1", 5), answer("m2", 7, request="r2")])

    assert [row.output for row in usage.of_range(session.id, 1, 2)] == [7]
    assert usage.of_range(session.id, 2, 9) == []


# Wholes and their parts --------------------------------------------------------------------------

TRACE = "5b8efff798038103d269b633813fc60c"


def span(number: int, operation: str, tokens: int, **more: str) -> bytes:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": MODEL,
        **more,
    }
    if tokens:
        attributes |= {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 1}
    told = {"traceId": TRACE, "spanId": f"{number:016x}", "attributes": attributes}
    return orjson.dumps({"otel": 1, "span": told})


def spans(place: Workspace, path: str, *lines: bytes) -> Session:
    return taken(place, list(lines), path)


def both(place: Workspace, *found: Session) -> list[int]:
    """By session, and of the workspace."""
    of = [sum(row.input for row in usage.of_session(each.id)) for each in found]
    return [*of, sum(row.input for row in usage.of_workspace(place.id))]


def test_what_only_an_agent_tells_is_counted(place: Workspace) -> None:
    one = spans(place, "a.jsonl", span(1, "execute_tool", 0), span(2, "invoke_agent", 30))

    assert both(place, one) == [30, 30]


def test_of_agents_inside_agents_the_outermost_is_counted(place: Workspace) -> None:
    one = spans(place, "a.jsonl", span(1, "invoke_agent", 20), span(2, "invoke_workflow", 30))

    assert both(place, one) == [30, 30]


@pytest.mark.parametrize("order", [1, -1])
def test_an_agent_is_not_counted_beside_its_calls(place: Workspace, order: int) -> None:
    lines = [span(1, "chat", 10), span(2, "chat", 20), span(3, "invoke_agent", 30)][::order]

    one = spans(place, "a.jsonl", *lines)

    assert both(place, one) == [30, 30]
    reproject.session(one.id, now=build.NOW)
    assert both(place, one) == [30, 30]


@pytest.mark.parametrize("is_agent_first", [True, False])
def test_its_calls_may_be_told_in_another_session(place: Workspace, is_agent_first: bool) -> None:
    agent = [span(3, "invoke_agent", 30, **{"gen_ai.conversation.id": "c1"})]
    calls = [span(1, "chat", 10), span(2, "chat", 20)]
    if is_agent_first:
        whole = spans(place, "a.jsonl", *agent)
        assert both(place, whole) == [30, 30]
        parts = spans(place, "b.jsonl", *calls)
    else:
        parts = spans(place, "b.jsonl", *calls)
        whole = spans(place, "a.jsonl", *agent)

    assert both(place, whole, parts) == [0, 30, 30]
    whole.refresh_from_db()
    assert not whole.tokens


def test_calls_that_come_later_take_the_place_of_their_agent(place: Workspace) -> None:
    agent = span(3, "invoke_agent", 30)
    spans(place, "a.jsonl", agent)
    one = spans(place, "a.jsonl", agent, span(1, "chat", 10), span(2, "chat", 20))

    assert both(place, one) == [30, 30]
    assert one.tokens == 32


def goose_log(accumulated: int) -> bytes:
    header = {"working_dir": "/x", "description": "d", "total_tokens": 5}
    tokens = {"accumulated_input_tokens": accumulated, "accumulated_output_tokens": 1}
    return b"".join(
        orjson.dumps(line) + b"\n"
        for line in (
            {**header, **tokens},
            {"role": "user", "created": 1, "content": [{"type": "text", "text": "hi"}]},
        )
    )


def test_totals_in_a_first_line_that_is_rewritten_count_once(place: Workspace) -> None:
    for accumulated in (10, 25):
        build.ingest(place, goose_log(accumulated), path="/g/20250101_101010.jsonl")

    assert Session.objects.filter(workspace=place).count() == 2
    (row,) = usage.of_workspace(place.id)
    assert (row.model, row.answers, row.input, row.output) == ("", 1, 25, 1)
    assert (row.cost, row.unpriced) == (None, 1)
