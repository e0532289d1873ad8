"""Aider: Markdown that grows, told apart by how its lines begin."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sessions_app import formats
from sessions_app.domain.events import Message, Record, Role, Unreadable
from sessions_app.formats import aider
from sessions_app.ingest import documents
from tests.formats.reading import message, notes, real, records

LOG = b"""
# aider chat started at 2024-08-05 19:33:02

> Aider v0.47.2-dev  
> Models: openrouter/anthropic/claude-3.5-sonnet with diff edit format, weak model x  

#### /add a.py  

#### fix the bug  
####   
#### in b.py  

# Plan

I will look.

> quoted
"""  # noqa: W291 - Markdown ends a line with two spaces


def test_blocks_are_runs_prompts_output_and_answers() -> None:
    assert formats.recognise(LOG) is aider.FORMAT

    run, shown, first, second, answer, quoted = records(aider.FORMAT, LOG)

    assert isinstance(run.body, Record)
    assert run.body.fields == {"started": "2024-08-05 19:33:02"}
    assert run.at == datetime(2024, 8, 5, 19, 33, 2, tzinfo=UTC)
    assert message(shown).role is Role.SYSTEM
    assert notes(shown).model == "openrouter/anthropic/claude-3.5-sonnet"
    assert notes(shown).version == "0.47.2-dev"
    assert [texts(reading.body) for reading in (first, second)] == [
        "/add a.py",
        "fix the bug\n\nin b.py",
    ]
    assert (message(first).role, message(second).role) == (Role.USER, Role.USER)
    assert (message(answer).role, texts(answer.body)) == (Role.ASSISTANT, "# Plan\n\nI will look.")
    assert message(quoted).role is Role.SYSTEM


def texts(body: object) -> str:
    assert isinstance(body, Message)
    return "".join(getattr(part, "text", "") for part in body.parts)


pieces = st.lists(
    st.sampled_from(
        [b"#", b"#### ", b"####", b"> ", b">", b"\n", b"\n\n", b"word", b" ", aider.RUN, b"2024-"]
    ),
    max_size=25,
)


class Slow:
    """A stream that gives what it has in two goes."""

    def __init__(self, *goes: bytes) -> None:
        self._goes = list(goes)

    def read(self, _: int, /) -> bytes:
        return self._goes.pop(0) if self._goes else b""


@given(pieces.map(b"".join), st.integers(0, 200))
def test_a_file_that_grew_falls_into_the_same_blocks(raw: bytes, at: int) -> None:
    at = min(at, len(raw))
    once = [item.data for item in documents.items(Slow(raw), aider.FORMAT)]
    twice = [item.data for item in documents.items(Slow(raw[:at], raw[at:]), aider.FORMAT)]

    assert once == twice or not raw[:at]


def test_a_block_without_end_is_broken() -> None:
    raw = b"# aider chat started at 2024-08-05 19:33:02\n\n" + b"word\n\n" * 500_000

    assert len(aider.cut(raw)) == 4


def test_bytes_that_are_no_text_are_kept() -> None:
    assert isinstance(formats.read(aider.FORMAT, b"> \xff\n").body, Unreadable)


def test_the_real_file_is_recognised_and_wholly_read() -> None:
    [path] = real("aider")
    raw = path.read_bytes()

    assert formats.recognise(raw) is aider.FORMAT
    readings = records(aider.FORMAT, raw)

    runs = [each for each in readings if isinstance(each.body, Record)]
    assert len([run for run in runs if run.at]) == raw.count(b"\n# aider chat started at ")
    assert not any(isinstance(each.body, Unreadable) for each in readings)
    said = [each.body for each in readings if isinstance(each.body, Message)]
    assert {each.role for each in said} == {Role.USER, Role.ASSISTANT, Role.SYSTEM}
