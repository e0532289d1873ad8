"""Meaning derived anew is the meaning of the first reading; the bytes stay as they were sealed."""

from typing import Any

import pytest
from django.db import connection

from sessions_app.domain.errors import BrokenRecord
from sessions_app.models import Session
from sessions_app.store import facts, read, reproject, tip, verify
from tests import build
from tests.store.test_round_trip import CASES

pytestmark = pytest.mark.django_db

MORE = {
    **CASES,
    "a whole line without its end": build.log(2) + build.line("user", "last words")[:-1],
    "a cut line": build.log(2) + build.line("user", "last words")[:-9],
    "empty lines at the end": build.log(2) + b"\n\n\n",
    "a long line that is not JSON": b"word " * 500_000 + b"\n" + build.log(2),
    "a line of one chunk and more": build.line("user", "w " * 120_000) + build.log(9),
}


def rows(table: str, session: Session, columns: str, order: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {table} WHERE session_id = %s ORDER BY {order}", [session.id]
        )
        return list(cursor.fetchall())


def events(session: Session) -> list[tuple[Any, ...]]:
    return rows("sessions_app_event", session, "*", "seq")


def terms(session: Session) -> list[frozenset[int]]:
    return [frozenset(each) for (each,) in rows("sessions_app_chunk", session, "terms", "no")]


def sealed(session: Session) -> list[tuple[Any, ...]]:
    columns = "no, first_seq, lines, first_byte, raw_len, previous, hash, sealed"
    return rows("sessions_app_chunk", session, columns, "no")


def standing(session: Session) -> dict[str, Any]:
    """The session row, its facts opened, without what is made anew each time by design."""
    row = Session.objects.get(id=session.id)
    known = {k: v for k, v in vars(row).items() if k not in ("_state", "sealed_facts")}
    return {**known, "facts": facts.opened(tip.owner_of(row).key, row)}


@pytest.mark.parametrize("data", MORE.values(), ids=MORE)
def test_reading_again_gives_what_the_first_reading_gave(data: bytes) -> None:
    session = build.session(build.workspace(), data)
    before = events(session), sealed(session), standing(session)
    words = terms(session)

    counts = reproject.session(session.id, now=build.NOW)

    assert (events(session), sealed(session), standing(session)) == before
    assert [len(a ^ b) for a, b in zip(terms(session), words, strict=True)] == [0] * len(words)
    assert counts.events == session.events
    again = Session.objects.select_related("key").get(id=session.id)
    assert verify.session(again).problem == ""
    assert b"".join(read.stream(again)) == data


def test_rows_and_terms_that_were_lost_are_made_good() -> None:
    session = build.session(build.workspace(), build.log(900)[:-4])
    before = events(session), terms(session), sealed(session)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM sessions_app_event WHERE session_id = %s", [session.id])
        cursor.execute(
            "UPDATE sessions_app_chunk SET terms = '{1,2}' WHERE session_id = %s", [session.id]
        )

    reproject.session(session.id, now=build.NOW)

    assert (events(session), terms(session), sealed(session)) == before


def test_a_session_goes_on_growing_after_it_was_read_again() -> None:
    place = build.workspace()
    data = build.log(900)
    session = build.session(place, data[: len(data) // 2])

    reproject.session(session.id, now=build.NOW)
    grown = build.session(place, data)

    assert grown.id == session.id
    assert b"".join(read.stream(grown)) == data
    assert verify.session(grown).problem == ""


def test_a_broken_record_is_not_read_again_and_stays_as_it_is() -> None:
    session = build.session(build.workspace(), build.log(4))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET hash = decode(repeat('00', 32), 'hex')"
            " WHERE session_id = %s",
            [session.id],
        )
    before = events(session), terms(session), standing(session)

    with pytest.raises(BrokenRecord, match="chunk 0 of session"):
        reproject.session(session.id, now=build.NOW)
    assert (events(session), terms(session), standing(session)) == before
