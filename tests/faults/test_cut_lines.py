"""A line cut in the middle, and ended later: never broken, in the end one event."""

import os
from pathlib import Path

import pytest

from sessions_app.models import Event, Session
from sessions_app.store import read, verify
from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db

BEFORE = build.log(3)
LINE = '{"role":"user","content":"naïve café 🦊 done"}\n'.encode()
# In the middle of a word, of é, of the fox's four bytes, and before the line end.
CUTS = {
    "a word": LINE.index(b"done") + 2,
    "two bytes": LINE.index("é".encode()) + 1,
    "four bytes": LINE.index("🦊".encode()) + 2,
    "the line end": len(LINE) - 1,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_line_cut_anywhere_is_not_shown_as_broken_and_then_is_one_event(
    cut: int, tmp_path: Path
) -> None:
    """T04"""
    place = build.workspace()
    client = browser(build.member("ann", place))
    path = tmp_path / "cut.jsonl"
    path.write_bytes(BEFORE + LINE[:cut])
    build.ingest_file(place, path)
    session = Session.objects.get()
    page = f"/sessions/{session.uid}/"

    shown = client.get(page).content.decode()
    assert "Incomplete" in shown
    assert "nreadable" not in shown
    assert "nreadable" not in client.get("/").content.decode()
    assert (session.events, session.unreadable, session.tail_bytes) == (4, 0, cut)

    path.write_bytes(BEFORE + LINE + build.log(1))
    os.utime(path, (1_900_000_000, 1_900_000_000))
    assert build.ingest_file(place, path).state == "appended"

    session = Session.objects.select_related("key").get()
    shown = client.get(page).content.decode()
    assert "naïve café 🦊 done" in shown
    assert "Incomplete" not in shown
    assert (session.events, session.unreadable, session.tail_bytes) == (5, 0, 0)
    assert Event.objects.count() == 5
    assert b"".join(read.stream(session)) == BEFORE + LINE + build.log(1)
    assert verify.session(session).is_sound


def test_a_line_that_stays_broken_when_it_ends_is_counted_as_unreadable(tmp_path: Path) -> None:
    """T04"""
    place = build.workspace()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(BEFORE + b'{"role": "us')
    build.ingest_file(place, path)
    assert Session.objects.get().unreadable == 0

    path.write_bytes(BEFORE + b'{"role": "us\n')
    build.ingest_file(place, path)

    assert Session.objects.get().unreadable == 1
