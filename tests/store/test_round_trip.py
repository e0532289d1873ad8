"""What goes in comes out, to the byte."""

import os
import random

import pytest

from sessions_app.models import Event, Session
from sessions_app.store import read, verify
from tests import build

pytestmark = pytest.mark.django_db

CASES = {
    "one line": build.log(1),
    "no final newline": build.log(3)[:-1],
    "cut inside a character": build.line("user", "naïve café")[:-9],
    "crlf": build.log(4).replace(b"\n", b"\r\n"),
    "nul bytes": b'{"role":"user","content":"a\x00b"}\n\x00\x00\n',
    "invalid utf-8": b'{"role":"user","content":"\xff\xfe"}\n' + build.log(2),
    "blank lines": b"\n\n" + build.log(2) + b"\n",
    "lone carriage returns": b"a\rb\rc\n" + build.log(2),
    "random bytes": random.Random(7).randbytes(300_000),
    "many chunks": build.log(5_000),
    "long line": build.line("user", "word " * 700_000) + build.log(3),
    "long line without end": build.log(3) + build.line("user", "word " * 700_000)[:-1],
    "escaped nul and surrogate": b'{"role":"user","content":"\\u0000 \\ud800"}\n',
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_the_stored_bytes_are_the_bytes_that_came(data: bytes) -> None:
    session = build.session(build.workspace(), data)

    assert b"".join(read.stream(session)) == data
    assert session.raw_bytes == len(data)
    assert session.events == len(data.split(b"\n")) - data.endswith(b"\n")
    assert verify.session(session).problem == ""


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_event_rows_cover_every_byte_in_order(data: bytes) -> None:
    session = build.session(build.workspace(), data)

    rows = list(Event.objects.filter(session_id=session.id).order_by("seq"))
    assert [row.seq for row in rows] == list(range(session.events))
    lines = read.window(session, 0, session.events, shown=10**9)
    assert b"".join(line.raw for line in lines) == data or sum(r.length for r in rows) == len(data)


def test_a_file_read_in_any_cuts_gives_the_same_record() -> None:
    place = build.workspace()
    data = build.log(900) + build.line("user", "x" * 3_000_000) + build.log(50)
    rng = random.Random(3)
    cuts = [*sorted(rng.sample(range(1, len(data)), 40)), len(data)]

    for cut in cuts:
        build.ingest(place, data[:cut], "grown.jsonl")
    whole = build.session(place, data, "whole.jsonl")
    grown = Session.objects.exclude(id=whole.id).get()

    assert b"".join(read.stream(grown)) == data
    assert verify.session(grown).problem == ""
    assert (grown.events, grown.prompts, grown.unreadable, grown.tail_bytes) == (
        whole.events,
        whole.prompts,
        whole.unreadable,
        0,
    )
    assert _rows(grown) == _rows(whole)


def _rows(session: Session) -> list[tuple[object, ...]]:
    return list(
        Event.objects.filter(session_id=session.id)
        .order_by("seq")
        .values_list("seq", "length", "at", "kind", "flags")
    )


def test_random_bytes_of_any_shape_never_raise() -> None:
    place = build.workspace()
    for n in range(20):
        data = os.urandom(random.Random(n).randrange(1, 5000))
        assert b"".join(read.stream(build.session(place, data, f"{n}"))) == data
