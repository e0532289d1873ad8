"""What a log ends with, told line by line and kept between batches."""

import pytest

from sessions_app.domain.events import (
    Flag,
    Message,
    Part,
    Picture,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from sessions_app.domain.lifecycle import Ending
from sessions_app.models import Session
from sessions_app.store import reproject, sessions
from sessions_app.store.facts import Facts
from sessions_app.store.standing import MOST_NAMES, MOST_OPEN, Standing
from tests import build


def said(role: Role, *parts: Part, name: str = "") -> Message:
    return Message(role=role, parts=parts, name=name)


def call(call_id: str = "c1", name: str = "Bash") -> ToolCall:
    return ToolCall(name=name, call_id=call_id, arguments={})


def result(call_id: str = "c1", *, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id=call_id, text="x", is_error=is_error)


Line = tuple[Message, int]

PROMPT: Line = (said(Role.USER, Text(text="please")), Flag.PROMPT)
ANSWER: Line = (said(Role.ASSISTANT, Text(text="done")), 0)
CALL = (said(Role.ASSISTANT, call()), 0)
RESULT = (said(Role.USER, result()), 0)

SEQUENCES: dict[str, tuple[list[Line], Ending]] = {
    "nothing": ([], Ending.NOTHING),
    "a prompt": ([PROMPT], Ending.ASKED),
    "a prompt and its answer": ([PROMPT, ANSWER], Ending.ANSWERED),
    "a call": ([PROMPT, CALL], Ending.CALLING),
    "a call and its result": ([PROMPT, CALL, RESULT], Ending.ASKED),
    "a result in a message of its own role": (
        [PROMPT, CALL, (said(Role.TOOL, result(), name="Bash"), 0)],
        Ending.ASKED,
    ),
    "two calls and one result": (
        [PROMPT, CALL, (said(Role.ASSISTANT, call("c2")), 0), RESULT],
        Ending.CALLING,
    ),
    "two calls and both results": (
        [
            *(PROMPT, CALL, (said(Role.ASSISTANT, call("c2")), 0), RESULT),
            (said(Role.USER, result("c2")), 0),
        ],
        Ending.ASKED,
    ),
    "an answer after a call nobody answered": ([PROMPT, CALL, ANSWER], Ending.ANSWERED),
    "a prompt after a call nobody answered": ([PROMPT, CALL, PROMPT], Ending.ASKED),
    "thinking": ([PROMPT, (said(Role.ASSISTANT, Thinking(text="hm")), 64)], Ending.ASKED),
    "a picture": (
        [PROMPT, (said(Role.ASSISTANT, Picture(media_type="image/png", size=1)), 128)],
        Ending.ANSWERED,
    ),
    "a failing tool": (
        [PROMPT, CALL, (said(Role.USER, result(is_error=True)), Flag.ERROR)],
        Ending.FAILED,
    ),
    "an interruption": (
        [PROMPT, CALL, (said(Role.SYSTEM, Text(text="x")), Flag.INTERRUPTED)],
        Ending.INTERRUPTED,
    ),
    "what a person ran": (
        [PROMPT, ANSWER, (said(Role.USER, call(""), result("")), 0)],
        Ending.ANSWERED,
    ),
    "a system message": ([PROMPT, (said(Role.SYSTEM, Text(text="x")), 0)], Ending.ASKED),
    "a repetition": ([PROMPT, (ANSWER[0], Flag.ECHO)], Ending.ASKED),
    "a summary": ([PROMPT, (ANSWER[0], Flag.COMPACTION)], Ending.ASKED),
    "a subagent inside": ([PROMPT, CALL, (ANSWER[0], Flag.SIDECHAIN)], Ending.CALLING),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_log_that_ends_with(name: str) -> None:
    lines, ending = SEQUENCES[name]
    standing = Standing(Facts())
    for body, flags in lines:
        standing.message(body, int(flags), is_subagent=False)
    assert Ending(standing.put_into(Facts()).ending) is ending


def test_a_subagents_own_lines_count_in_its_own_log() -> None:
    standing = Standing(Facts())
    standing.message(ANSWER[0], int(Flag.SIDECHAIN), is_subagent=True)
    assert standing.put_into(Facts()).ending == Ending.ANSWERED


def test_records_stand_for_failures_and_interruptions() -> None:
    standing = Standing(Facts())
    for flags, is_readable, ending in (
        (Flag.ERROR, True, Ending.FAILED),
        (Flag.INTERRUPTED, True, Ending.INTERRUPTED),
        (Flag.ERROR | Flag.ECHO, True, Ending.INTERRUPTED),
        (Flag.INCOMPLETE, True, Ending.INTERRUPTED),
        (Flag.INCOMPLETE, False, Ending.CUT),
    ):
        standing.other(int(flags), is_readable=is_readable)
        assert standing.put_into(Facts()).ending == ending


def test_hostile_logs_leave_bounded_facts() -> None:
    standing = Standing(Facts())
    for n in range(5_000):
        standing.message(said(Role.ASSISTANT, call(f"c{n}", f"tool {n}")), 0, is_subagent=False)
        standing.model(f"model {n}")
        standing.branch(f"branch {n}")
    kept = standing.put_into(Facts())
    assert len(kept.open_calls) == MOST_OPEN
    assert len(kept.tools) == len(kept.models) == len(kept.branches) == MOST_NAMES


# In the record -----------------------------------------------------------------------------------


TIME = {"timestamp": "2026-11-18T11:59:00Z"}
ASK = build.line("user", "please", **TIME)
CALLS = build.line(
    "assistant",
    "",
    tool_calls=[{"id": "c1", "function": {"name": "Bash", "arguments": "{}"}}],
    **TIME,
)
ANSWERS = build.line("tool", "ok", tool_call_id="c1", name="Bash", **TIME)
SAYS = build.line("assistant", "done", **TIME)


def stands(session: Session) -> Ending:
    session.refresh_from_db()
    return Ending(session.ending)


@pytest.mark.django_db
def test_the_row_follows_the_log_as_it_grows() -> None:
    place = build.workspace()
    lines = [ASK, CALLS, ANSWERS, SAYS]
    endings = [Ending.ASKED, Ending.CALLING, Ending.ASKED, Ending.ANSWERED]
    for count, ending in enumerate(endings, start=1):
        session = build.session(place, b"".join(lines[:count]))
        assert stands(session) is ending
    assert Session.objects.count() == 1


@pytest.mark.django_db
def test_calls_stay_open_from_batch_to_batch() -> None:
    place = build.workspace()
    two = CALLS + CALLS.replace(b'"c1"', b'"c2"')
    session = build.session(place, ASK + two)
    build.session(place, ASK + two + ANSWERS)
    assert stands(session) is Ending.CALLING
    build.session(place, ASK + two + ANSWERS + ANSWERS.replace(b'"c1"', b'"c2"'))
    assert stands(session) is Ending.ASKED


@pytest.mark.django_db
def test_a_line_that_is_not_whole_is_read_again() -> None:
    place = build.workspace()
    session = build.session(place, ASK + SAYS[:-9])
    assert stands(session) is Ending.CUT
    build.session(place, ASK + SAYS[:-1])
    # Whole, only without its line end: it says what it says.
    assert stands(session) is Ending.ANSWERED
    build.session(place, ASK + SAYS + ASK)
    assert stands(session) is Ending.ASKED


@pytest.mark.django_db
def test_reading_again_gives_the_same_row() -> None:
    place = build.workspace()
    session = build.session(place, ASK + CALLS + ANSWERS + SAYS[:-9])
    fields = ("ending", "facets", "tokens", "cost", "calls", "seconds", "totals_events")
    before = Session.objects.values(*fields).get()
    facts = sessions.facts_of(session)
    reproject.session(session.id, now=build.NOW)
    assert Session.objects.values(*fields).get() == before
    session.refresh_from_db()
    assert sessions.facts_of(session) == facts


def claude(role: str, content: object, **more: object) -> bytes:
    import orjson

    message = {"role": role, "content": content}
    record = {"type": role, "sessionId": "s1", "message": message, **TIME, **more}
    return orjson.dumps(record) + b"\n"


@pytest.mark.django_db
def test_claude_code_tells_an_interruption_by_its_words() -> None:
    place = build.workspace()
    stop = claude("user", [{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    session = build.session(place, claude("user", "please") + stop)
    assert stands(session) is Ending.INTERRUPTED
    assert session.prompts == 1
