"""What sessions used as one number each: never wrong, never nothing where it is unknown."""

import orjson
import pytest

from sessions_app.models import Session
from sessions_app.store import calls, sessions, totals, usage
from tests import build

pytestmark = pytest.mark.django_db


def answer(key: str, *, output: int = 10, model: str = "claude-opus-4-5", **more: object) -> bytes:
    told = {"input_tokens": 100, "output_tokens": output, "cache_read_input_tokens": 5}
    message = {
        "role": "assistant",
        "id": key,
        "model": model,
        "content": [{"type": "text", "text": "x"}],
        "usage": told,
        **more,
    }
    record = {
        "type": "assistant",
        "sessionId": "s1",
        "timestamp": "2026-11-18T11:00:00Z",
        "message": message,
    }
    return orjson.dumps(record) + b"\n"


def prompt() -> bytes:
    record = {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "hi"}}
    return orjson.dumps(record) + b"\n"


def row(session: Session) -> Session:
    session.refresh_from_db()
    return session


def test_an_answer_told_in_several_lines_counts_once_with_its_largest_counters() -> None:
    data = prompt() + answer("a", output=3) + answer("a", output=10) + answer("b")
    session = row(build.session(build.workspace(), data))
    used = usage.of_session(session.id)
    assert session.tokens == sum(each.tokens for each in used) == 2 * 115
    assert session.cost == sum(each.cost or 0 for each in used)
    assert session.cost
    assert (session.unpriced, session.totals_events) == (0, session.events)


def test_what_the_log_does_not_say_is_unknown_and_not_nothing() -> None:
    session = row(build.session(build.workspace(), build.log()))
    assert (session.tokens, session.cost, session.calls) == (None, None, 0)
    assert sessions.shown(session, now=build.NOW).tokens is None


def test_answers_without_a_price_are_counted_beside_the_cost() -> None:
    data = prompt() + answer("a") + answer("b", model="no-such-model-1")
    session = row(build.session(build.workspace(), data))
    assert session.unpriced == 1
    assert session.cost is not None
    unknown = row(build.session(build.workspace(), prompt() + answer("c", model="no-such-1")))
    assert (unknown.cost, unknown.unpriced, unknown.tokens) == (None, 1, 115)


def test_calls_count_once_each() -> None:
    line = build.line("assistant", "", tool_calls=[{"id": "c1", "function": {"name": "Bash"}}])
    session = row(build.session(build.workspace(), build.log(1) + line + line))
    assert session.calls == calls.counts(session).calls == 1


def test_a_log_that_grows_is_counted_again() -> None:
    place = build.workspace()
    build.session(place, prompt() + answer("a"))
    session = row(build.session(place, prompt() + answer("a") + answer("b")))
    assert session.tokens == 2 * 115


def test_stale_totals_are_counted_for_whoever_shows_them() -> None:
    session = build.session(build.workspace(), prompt() + answer("a"))
    Session.objects.filter(id=session.id).update(totals_events=0, tokens=None, cost=None)
    shown = sessions.shown(row(session), now=build.NOW)
    assert shown.tokens == 115
    assert shown.cost


def test_a_large_session_is_counted_when_it_grew_by_a_quarter() -> None:
    assert totals.is_due(events=20_000, counted=19_999)
    assert not totals.is_due(events=100_001, counted=100_000)
    assert totals.is_due(events=125_000, counted=100_000)
    assert totals.is_due(events=100_000, counted=0)


def test_absurd_counters_stay_numbers() -> None:
    huge = b"".join(answer(f"k{n}", output=2**60) for n in range(2_000))
    session = row(build.session(build.workspace(), prompt() + huge))
    assert session.tokens is not None
    assert session.tokens > 2**60
