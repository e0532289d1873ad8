"""Whoever can write to the database but has no key cannot change the record unnoticed."""

from typing import Any

import pytest
from django.db import connection

from sessions_app.domain.errors import RecountError
from sessions_app.models import Chunk, Session
from sessions_app.store import chunks, keys, read, reproject, tip, verify
from sessions_app.vault import chain
from tests import build

pytestmark = pytest.mark.django_db

LINES = 600
CANARY = b"message number"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """Several small chunks, all full but the last."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 8 * 1024)
    made = build.session(build.workspace(), build.log(LINES))
    assert made.chunks >= 4
    return made


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def again(session: Session) -> Session:
    return Session.objects.select_related("key").get(id=session.id)


def problem(session: Session) -> verify.Verdict:
    verdict = verify.session(again(session))
    assert not verdict.is_sound
    assert str(session.uid) in verdict.problem
    return verdict


def refuses_to_show(session: Session, lo: int = 0, hi: int = LINES) -> None:
    """No page and no export gets a byte that was not written there."""
    with pytest.raises(RecountError) as caught:
        read.window(again(session), lo, hi)
    assert str(session.uid) in caught.value.message
    assert CANARY.decode() not in caught.value.message


# The sealed bytes -----------------------------------------------------------------------------

BYTES = {
    "version": 0,
    "commitment": 5,
    "nonce": 40,
    "ciphertext": 46,
    "ciphertext, middle": 200,
    "tag": -1,
}


@pytest.mark.parametrize("place", BYTES.values(), ids=BYTES)
def test_a_flipped_bit_names_its_chunk(session: Session, place: int) -> None:
    row = Chunk.objects.get(session_id=session.id, no=1)
    sealed = bytearray(bytes(row.sealed))
    sealed[place] ^= 1
    sql("UPDATE sessions_app_chunk SET sealed = %s WHERE session_id = %s AND no = 1",
        bytes(sealed), session.id)  # fmt: skip

    verdict = problem(session)
    assert verdict.bad_chunk == 1
    assert "chunk 1 " in verdict.problem
    refuses_to_show(session, row.first_seq, row.first_seq + 5)


def test_a_flipped_bit_with_its_hashes_made_anew_is_still_named(session: Session) -> None:
    """Hashes need no key, so an attacker can recompute the chain; the seal does not open."""
    rows = list(Chunk.objects.filter(session_id=session.id).order_by("no"))
    head = chain.GENESIS
    for row in rows:
        sealed = bytearray(bytes(row.sealed))
        sealed[-1] ^= row.no == 2
        head, before = chain.link(head, bytes(sealed)), head
        sql("UPDATE sessions_app_chunk SET sealed = %s, previous = %s, hash = %s"
            " WHERE session_id = %s AND no = %s",
            bytes(sealed), before, head, session.id, row.no)  # fmt: skip
    sql("UPDATE sessions_app_session SET head_hash = %s WHERE id = %s", head, session.id)

    assert problem(session).bad_chunk == 2
    refuses_to_show(session, rows[2].first_seq, rows[2].first_seq + 1)


def test_swapped_chunks_name_the_first_of_them(session: Session) -> None:
    _swap_chunks(session, 1, 2)

    assert problem(session).bad_chunk == 1
    refuses_to_show(session)


def test_chunks_whose_sealed_bytes_and_hashes_were_swapped_are_named(session: Session) -> None:
    sql(
        "UPDATE sessions_app_chunk c SET sealed = o.sealed, hash = o.hash"
        " FROM sessions_app_chunk o WHERE c.session_id = %s AND o.session_id = c.session_id"
        " AND c.no IN (1, 2) AND o.no = 3 - c.no",
        session.id,
    )

    assert problem(session).bad_chunk == 1
    refuses_to_show(session)


def _swap_chunks(session: Session, one: int, two: int) -> None:
    for old, new in ((one, -1), (two, one), (-1, two)):
        sql("UPDATE sessions_app_chunk SET no = %s WHERE session_id = %s AND no = %s",
            new, session.id, old)  # fmt: skip


def test_a_dropped_middle_chunk_is_named(session: Session) -> None:
    first = Chunk.objects.get(session_id=session.id, no=2).first_seq
    sql("DELETE FROM sessions_app_chunk WHERE session_id = %s AND no = 2", session.id)

    assert problem(session).problem == f"chunk 2 of session {session.uid} is missing"
    refuses_to_show(session, first, first + 1)


def test_a_dropped_chunk_with_the_rest_moved_up_is_named(session: Session) -> None:
    sql("DELETE FROM sessions_app_chunk WHERE session_id = %s AND no = 1", session.id)
    for no in range(2, session.chunks):
        sql("UPDATE sessions_app_chunk SET no = no - 1 WHERE session_id = %s AND no = %s",
            session.id, no)  # fmt: skip
    sql("UPDATE sessions_app_session SET chunks = chunks - 1 WHERE id = %s", session.id)

    assert problem(session).bad_chunk == 1
    refuses_to_show(session)


def test_a_dropped_last_chunk_is_named(session: Session) -> None:
    last = session.chunks - 1
    sql("DELETE FROM sessions_app_chunk WHERE session_id = %s AND no = %s", session.id, last)

    assert problem(session).bad_chunk == last
    refuses_to_show(session, LINES - 3, LINES)


def test_a_record_cut_short_with_its_row_adjusted_is_refused(session: Session) -> None:
    """The attacker makes everything agree that needs no key: counts, bytes, head, event rows."""
    _cut_short(session)

    assert "its mark does not fit" in problem(session).problem
    refuses_to_show(session, 0, 1)


def test_a_record_cut_short_is_neither_grown_nor_given_a_new_mark(session: Session) -> None:
    _cut_short(session)
    mark = bytes(again(session).head_mark)

    for act in (lambda: tip.load(session.id), lambda: reproject.session(session.id, now=build.NOW)):
        with pytest.raises(RecountError, match="its mark does not fit"):
            act()
    assert bytes(again(session).head_mark) == mark


def _cut_short(session: Session) -> None:
    last = Chunk.objects.get(session_id=session.id, no=session.chunks - 1)
    before = Chunk.objects.get(session_id=session.id, no=session.chunks - 2)
    sql("DELETE FROM sessions_app_chunk WHERE session_id = %s AND no = %s", session.id, last.no)
    sql("DELETE FROM sessions_app_event WHERE session_id = %s AND chunk = %s", session.id, last.no)
    sql(
        "UPDATE sessions_app_session SET chunks = %s, events = %s, raw_bytes = %s, head_hash = %s"
        " WHERE id = %s",
        last.no, last.first_seq, last.first_byte, bytes(before.hash), session.id,
    )  # fmt: skip


def test_an_added_chunk_is_named(session: Session) -> None:
    sql(
        "INSERT INTO sessions_app_chunk (session_id, no, first_seq, lines, first_byte, raw_len,"
        " previous, hash, sealed, terms) SELECT session_id, %s, %s, 1, %s, 5, %s, %s, sealed, terms"
        " FROM sessions_app_chunk WHERE session_id = %s AND no = 0",
        session.chunks, session.events, session.raw_bytes, bytes(session.head_hash),
        bytes(session.head_hash), session.id,
    )  # fmt: skip

    assert problem(session).bad_chunk == session.chunks


def test_an_earlier_state_of_the_last_chunk_is_refused() -> None:
    place = build.workspace()
    first = build.session(place, build.log(10))
    old = Chunk.objects.get(session_id=first.id, no=0)
    grown = build.session(place, build.log(20))
    assert grown.id == first.id
    sql(
        "UPDATE sessions_app_chunk SET sealed = %s, hash = %s, raw_len = %s, lines = %s"
        " WHERE session_id = %s AND no = 0",
        bytes(old.sealed), bytes(old.hash), old.raw_len, old.lines, grown.id,
    )  # fmt: skip

    assert "head of session" in problem(grown).problem
    refuses_to_show(grown, 0, 20)


# The columns beside them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    ["first_seq", "lines", "first_byte", "raw_len"],
)
@pytest.mark.parametrize("change", [1, -1])
def test_a_changed_place_of_a_chunk_is_named(session: Session, column: str, change: int) -> None:
    first = Chunk.objects.get(session_id=session.id, no=1).first_seq
    sql(f"UPDATE sessions_app_chunk SET {column} = {column} + %s WHERE session_id = %s AND no = 1",
        change, session.id)  # fmt: skip

    assert problem(session).bad_chunk == 1
    refuses_to_show(session, first, first + 2)


@pytest.mark.parametrize("column", ["previous", "hash"])
def test_a_changed_hash_of_a_chunk_is_named(session: Session, column: str) -> None:
    sql(f"UPDATE sessions_app_chunk SET {column} = %s WHERE session_id = %s AND no = 1",
        b"x" * 32, session.id)  # fmt: skip

    assert problem(session).bad_chunk == 1


@pytest.mark.parametrize(
    "change",
    [
        "head_hash = decode(repeat('ab', 32), 'hex')",
        "head_mark = decode(repeat('ab', 32), 'hex')",
        "head_mark = ''",
        "events = events - 1",
        "raw_bytes = raw_bytes - 1",
        "raw_bytes = raw_bytes + 1",
        "tail_bytes = 1",
        "chunks = chunks + 1",
        "chunks = chunks - 1",
    ],
)
def test_a_changed_session_row_is_refused(session: Session, change: str) -> None:
    sql(f"UPDATE sessions_app_session SET {change} WHERE id = %s", session.id)

    problem(session)
    refuses_to_show(session, 0, 1)


# Event rows -----------------------------------------------------------------------------------

EVENT_CHANGES = {
    "deleted": "DELETE FROM sessions_app_event WHERE session_id = %s AND seq = 7",
    "deleted at the end": "DELETE FROM sessions_app_event WHERE session_id = %s AND seq = 599",
    "all deleted": "DELETE FROM sessions_app_event WHERE session_id = %s",
    "longer": "UPDATE sessions_app_event SET length = length + 1 WHERE session_id = %s AND seq = 7",
    "moved": "UPDATE sessions_app_event SET start = start + 1 WHERE session_id = %s AND seq = 7",
    "pointing before its chunk": (
        "UPDATE sessions_app_event SET start = -5 WHERE session_id = %s AND seq = 7"
    ),
    "pointing at another chunk": (
        "UPDATE sessions_app_event SET chunk = 1 WHERE session_id = %s AND seq = 7"
    ),
    "lengths of two exchanged with the sum kept": (
        "UPDATE sessions_app_event SET length = length + CASE seq WHEN 7 THEN 1 ELSE -1 END"
        " WHERE session_id = %s AND seq IN (7, 8)"
    ),
    "renumbered": "UPDATE sessions_app_event SET seq = 600 WHERE session_id = %s AND seq = 7",
    "swapped": (
        "UPDATE sessions_app_event e SET start = o.start, length = o.length"
        " FROM sessions_app_event o WHERE e.session_id = %s AND o.session_id = e.session_id"
        " AND e.seq IN (8, 11) AND o.seq = 19 - e.seq"
    ),
}


@pytest.mark.parametrize("change", EVENT_CHANGES.values(), ids=EVENT_CHANGES)
def test_changed_event_rows_are_named_and_made_good_by_reproject(
    session: Session, change: str
) -> None:
    before = list(_event_rows(session))
    sql(change, session.id)

    assert "event row" in problem(session).problem
    reproject.session(session.id, now=build.NOW)
    assert verify.session(again(session)).problem == ""
    assert list(_event_rows(session)) == before


def _event_rows(session: Session) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM sessions_app_event WHERE session_id = %s ORDER BY seq",
                       [session.id])  # fmt: skip
        return list(cursor.fetchall())


# Keys and owners ------------------------------------------------------------------------------


@pytest.fixture
def other(session: Session) -> Session:
    """Another session of the same workspace."""
    return build.session(session.workspace, build.log(LINES), "other.jsonl")


@pytest.fixture
def foreign() -> Session:
    return build.session(build.workspace("Foreign"), build.log(LINES), "foreign.jsonl")


def test_keys_of_two_sessions_swapped_open_neither(session: Session, other: Session) -> None:
    sql(
        "UPDATE sessions_app_sessionkey k SET wrapped = o.wrapped FROM sessions_app_sessionkey o"
        " WHERE k.session_id = %s AND o.session_id = %s",
        session.id, other.id,
    )  # fmt: skip

    assert problem(session).problem.startswith(f"key of session {session.uid}")
    refuses_to_show(session, 0, 1)


def test_a_key_of_another_workspace_does_not_open(session: Session, foreign: Session) -> None:
    sql(
        "UPDATE sessions_app_sessionkey k SET wrapped = o.wrapped FROM sessions_app_sessionkey o"
        " WHERE k.session_id = %s AND o.session_id = %s",
        session.id, foreign.id,
    )  # fmt: skip

    assert "sealed under another key" in problem(session).problem
    refuses_to_show(session, 0, 1)


def test_a_shredded_session_says_so(session: Session) -> None:
    sql("DELETE FROM sessions_app_sessionkey WHERE session_id = %s", session.id)

    assert "shredded" in problem(session).problem
    refuses_to_show(session, 0, 1)


def _moved_chunk(source: Session, target: Session) -> None:
    sql("DELETE FROM sessions_app_chunk WHERE session_id = %s AND no = 1", target.id)
    sql("UPDATE sessions_app_chunk SET session_id = %s WHERE session_id = %s AND no = 1",
        target.id, source.id)  # fmt: skip


def test_a_chunk_moved_from_another_session_is_named(session: Session, other: Session) -> None:
    _moved_chunk(other, session)

    assert problem(session).bad_chunk == 1
    assert problem(other).bad_chunk == 1
    first = Chunk.objects.get(session_id=session.id, no=1).first_seq
    refuses_to_show(session, first, first + 1)


def test_a_chunk_moved_from_another_workspace_is_named(session: Session, foreign: Session) -> None:
    _moved_chunk(foreign, session)

    assert problem(session).bad_chunk == 1
    first = Chunk.objects.get(session_id=session.id, no=1).first_seq
    refuses_to_show(session, first, first + 1)


def test_a_session_moved_to_another_workspace_does_not_open(
    session: Session, foreign: Session
) -> None:
    sql("UPDATE sessions_app_session SET workspace_id = %s WHERE id = %s",
        foreign.workspace_id, session.id)  # fmt: skip

    problem(session)
    refuses_to_show(session, 0, 1)


def test_swapped_workspace_keys_are_named(session: Session, foreign: Session) -> None:
    sql(
        "UPDATE sessions_app_workspacekey k SET wrapped = o.wrapped"
        " FROM sessions_app_workspacekey o WHERE k.workspace_id = %s AND o.workspace_id = %s",
        session.workspace_id, foreign.workspace_id,
    )  # fmt: skip
    keys.forget()

    verdict = verify.session(again(session))
    assert verdict.problem.startswith(f"key 1 of workspace {session.workspace_id}")


def test_an_export_of_a_broken_chunk_stops_before_it(session: Session) -> None:
    sql(
        "UPDATE sessions_app_chunk SET sealed = set_byte(sealed, 100, 255 - get_byte(sealed, 100))"
        " WHERE session_id = %s AND no = 2",
        session.id,
    )
    out: list[bytes] = []

    with pytest.raises(RecountError, match=f"chunk 2 of session {session.uid}"):
        out.extend(read.stream(again(session)))
    assert b"".join(out) == build.log(LINES)[: sum(map(len, out))]
    assert len(out) == 2


def test_a_sound_session_is_sound(session: Session, other: Session) -> None:
    for each in (session, other):
        assert verify.session(each).is_sound
