"""What every format owes a source: each record once, each byte kept, the same when read again."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import Kind
from sessions_app.formats import FORMATS, Format
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import read, reproject, verify
from tests import build

pytestmark = pytest.mark.django_db
each_format = pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: str(fmt.name))

# The shortest beginning by which each is recognised.
SIGNS: dict[str, Any] = {
    "claude-code-subagent": {"agentType": "x"},
    "claude-code-output": "any text",
    "otel": {"otel": 1, "span": {}},
    "cline-ui": [{"ts": 1, "type": "say", "say": "task", "text": "x"}],
    "cline-api": [{"ts": 1, "role": "user", "content": []}],
    "cline-task": {"id": "1", "ts": 1, "task": "x", "tokensIn": 1, "tokensOut": 1},
    "agents-sdk": {"store": "agents-sdk", "row": {}},
    "managed-agents-page": {"data": [{"type": "user.message", "processed_at": None}]},
    "managed-agents": {"type": "user.message", "processed_at": None},
    "claude-code": {"type": "user", "sessionId": "s", "message": {"content": "x"}},
    "codex": {"type": "event_msg", "payload": {}},
    "copilot-cli": {"type": "user.x", "data": {}, "id": "1", "timestamp": "", "parentId": None},
    "openclaw": {"type": "session", "id": "1", "timestamp": "", "cwd": "/a/.openclaw/b"},
    "pi": {"type": "session", "id": "1", "timestamp": "", "cwd": "/a"},
    "opencode": {"store": "opencode"},
    "goose": {"store": "goose"},
    "gemini": {"sessionId": "s", "projectHash": "h", "messages": [{"type": "user"}]},
    "gemini-log": {"$set": {}},
    "opencode-file": {"id": "1", "projectID": "p", "directory": "/a", "time": {}},
    "aider": "# aider chat started at 2026-01-01 10:00:00",
    "plain-conversation": {"messages": [{"role": "user", "content": "x"}]},
    "plain": {"role": "user", "content": "x"},
    "unknown": "nothing known",
}
# These are recognised by all that is in them: nothing may follow.
ALONE = {"claude-code-subagent", "cline-task", "opencode-file"}
STRANGE = (
    b"\n".join(
        [
            b"",
            b"not JSON \x00\xff\xfe",
            b'{"type":"user","timestamp":1e308}',
            b'{"type":"message","timestamp":-1,"message":{"timestamp":"99999-01-01"}}',
            b'{"content":"\\ud800\\u0000"}',
            b"[" * 5_000,
            b'["a list"]',
            b'{"role":"user","content":"' + b"long " * 40_000 + b'"}',
            b'{"role":"user","content":"cut in the mid',
        ]
    )
    + b"\r"
)


def source(fmt: Format) -> tuple[str, bytes]:
    sign = SIGNS[fmt.name]
    raw = sign.encode() if isinstance(sign, str) else orjson.dumps(sign)
    folder = "tool-results" if fmt.name == "claude-code-output" else "logs"
    if fmt.name == "plain-conversation":
        # Every line that is looked at has to be one.
        raw = b"\n".join([raw] * formats.HEAD_LINES)
    return f"/home/ada/{folder}/{fmt.name}", raw if fmt.name in ALONE else raw + b"\n" + STRANGE


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


def rows(session: Session) -> list[tuple[Any, ...]]:
    found = Event.objects.filter(session_id=session.id).order_by("seq")
    return list(found.values_list("seq", "length", "at", "kind", "flags", "tool"))


def records(fmt: Format, raw: bytes) -> Iterator[bytes]:
    """Counted apart from the reader."""
    if fmt.cut is None:
        yield from _lines(raw)
    else:
        starts = fmt.cut(raw)
        yield from (raw[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True))


def _lines(raw: bytes) -> Iterator[bytes]:
    *whole, rest = raw.split(b"\n")
    yield from (each + b"\n" for each in whole)
    if rest:
        yield rest


@each_format
def test_every_record_of_any_source_is_an_event_and_every_byte_is_kept(
    fmt: Format, place: Workspace
) -> None:
    path, raw = source(fmt)
    session = build.session(place, raw, path=path)
    found, expected = rows(session), list(records(fmt, raw))

    assert session.format == fmt.name
    assert [(seq, length) for seq, length, *_ in found] == [
        (seq, len(each)) for seq, each in enumerate(expected)
    ]
    assert b"".join(read.stream(session)) == raw
    assert verify.session(session).problem == ""
    unreadable = sum(kind == Kind.UNREADABLE for _, _, _, kind, *_ in found)
    assert session.unreadable in (unreadable, unreadable - 1)
    assert all(at is None or 1970 <= at.year <= 9999 for _, _, at, *_ in found)
    for seq, each in enumerate(expected):
        assert read.event(session, seq, shown=10**9).raw == each


@each_format
def test_reading_again_equals_reading(fmt: Format, place: Workspace) -> None:
    path, raw = source(fmt)
    session = build.session(place, raw, path=path)
    before = rows(session)

    reproject.session(session.id, now=build.NOW)

    assert rows(session) == before
    assert build.ingest(place, raw, path).state == "unchanged"


@pytest.mark.parametrize(
    "fmt", [fmt for fmt in FORMATS if fmt.cut is None or fmt.grows], ids=lambda fmt: str(fmt.name)
)
def test_a_source_that_grew_in_any_steps_equals_one_that_came_whole(
    fmt: Format, place: Workspace
) -> None:
    path, raw = source(fmt)
    head = raw.index(b"\n") + 1
    for step in (head, head + 1, head + 7, len(raw) // 2, len(raw) - 3, len(raw)):
        build.ingest(place, raw[:step], path)

    grown = Session.objects.select_related("key").get()
    whole = build.session(place, raw, path=f"{path}-whole")

    assert rows(grown) == rows(whole)
    assert b"".join(read.stream(grown)) == raw


def test_every_format_has_a_source_here() -> None:
    assert set(SIGNS) == set(formats.BY_NAME)
