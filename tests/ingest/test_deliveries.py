"""Bytes handed over piece by piece end as the same record as a file read at once."""

import io
import random
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from sessions_app.domain.errors import OutOfStep
from sessions_app.ingest import deliveries
from sessions_app.ingest.pipeline import Result
from sessions_app.models import Event, Session, Workspace
from sessions_app.store import read, verify
from sessions_app.store.sources import Fingerprints
from tests import build
from tests.ingest.test_appenders import at_once

pytestmark = pytest.mark.django_db


def send(
    place: Workspace,
    data: bytes,
    offset: int = 0,
    *,
    generation: int | None = None,
    machine: str = "box",
    path: str = "a/session.jsonl",
) -> Result:
    return deliveries.append(
        place.id,
        machine=machine,
        path=path,
        project="a",
        offset=offset,
        data=data,
        now=build.NOW,
        generation=generation,
    )


def key(place: Workspace, machine: str = "box", path: str = "a/session.jsonl") -> bytes:
    return Fingerprints(place.id).of_place(machine, path)


def only(place: Workspace) -> Session:
    return Session.objects.select_related("key").get(workspace=place)


def content(session: Session) -> bytes:
    assert verify.session(session).problem == ""
    return b"".join(read.stream(session))


def test_pieces_cut_anywhere_become_one_record() -> None:
    place = build.workspace()
    data = build.log(300) + build.line("user", "é" * 700_000) + build.log(50) + b'{"cut'
    rng = random.Random(3)
    cuts = [0, *sorted(rng.sample(range(1, len(data)), 9)), len(data)]

    for lo, hi in pairwise(cuts):
        send(place, data[lo:hi], lo, generation=1)

    session = only(place)
    assert content(session) == data
    assert (session.events, session.tail_bytes) == (352, 5)
    assert Event.objects.filter(session_id=session.id).count() == 352


def test_what_is_read_here_and_sent_from_there_is_stored_once(tmp_path: Path) -> None:
    place = build.workspace()
    path = tmp_path / "s.jsonl"
    data = build.log(60)
    path.write_bytes(data[:1000])
    build.ingest_file(place, path)

    send(place, data[:1500], path=str(path))
    send(place, data[900:2000], 900, path=str(path))
    path.write_bytes(data)
    build.ingest_file(place, path)

    session = only(place)
    assert content(session) == data
    assert session.generation == 1


def test_the_same_path_of_two_machines_is_two_sessions() -> None:
    place = build.workspace()
    one, other = send(place, build.log(3)), send(place, build.log(3), machine="other")
    assert one.uid != other.uid
    assert Session.objects.filter(workspace=place).count() == 2


def test_a_sender_out_of_step_is_told_what_is_stored() -> None:
    place = build.workspace()
    data = build.log(10)
    send(place, data[:200])
    for offset, body in (
        (201, data[201:]),
        (150, data[150:200]),
        (0, b"x" * 100),
        (150, b"x" * 200),
    ):
        with pytest.raises(OutOfStep) as told:
            send(place, body, offset, generation=1)
        assert (told.value.stored, told.value.generation) == (200, 1)
    assert content(only(place)) == data[:200]


def test_a_generation_that_is_not_there_is_begun_at_its_beginning() -> None:
    place = build.workspace()
    with pytest.raises(OutOfStep, match="offset 0"):
        send(place, build.log(3), 5)
    send(place, build.log(3))
    for generation, offset in ((2, 5), (3, 0), (0, 5)):
        with pytest.raises(OutOfStep) as told:
            send(place, build.log(9), offset, generation=generation or 7)
        assert told.value.generation == 1
    assert content(only(place)) == build.log(3)


def test_another_file_from_offset_0_is_a_new_generation() -> None:
    place = build.workspace()
    send(place, build.log(5))
    assert send(place, build.log(5)).state == "unchanged"
    assert send(place, build.log(3)).state == "unchanged"
    assert send(place, build.line("user", "other")).state == "rewritten"
    assert [each.generation for each in deliveries.stored(place.id, key(place))] == [2, 1]


def test_a_rewritten_file_with_the_same_beginning_is_sent_as_the_next_generation() -> None:
    place = build.workspace()
    first = build.log(200)
    second = build.log(150) + build.line("user", "changed") + build.log(80)
    send(place, first)

    send(place, second[:3000], generation=2)
    send(place, second[3000:], 3000, generation=2)

    old, new = Session.objects.select_related("key").order_by("generation")
    assert (content(old), content(new)) == (first, second)
    assert (old.generation, new.generation) == (1, 2)


def test_a_generation_begun_twice_is_one() -> None:
    place = build.workspace()
    send(place, build.log(200))
    send(place, build.log(20), generation=2)
    with pytest.raises(OutOfStep):
        send(place, build.log(20), generation=2)
    assert Session.objects.count() == 2


def test_an_older_generation_goes_on_when_it_is_named() -> None:
    place = build.workspace()
    data = build.log(40)
    send(place, data[:500])
    send(place, build.line("user", "other"))
    send(place, data[500:], 500, generation=1)
    assert content(Session.objects.select_related("key").get(generation=1)) == data


def test_the_end_of_what_is_stored_can_be_compared_and_nothing_else() -> None:
    place = build.workspace()
    data = build.log(200)
    send(place, data)
    last = sha256(data[-4096:]).digest()
    assert deliveries.agrees(place.id, key(place), generation=1, digest=last)
    assert not deliveries.agrees(place.id, key(place), generation=2, digest=last)
    earlier = sha256(data[:4096]).digest()
    assert not deliveries.agrees(place.id, key(place), generation=1, digest=earlier)


def test_a_stream_is_taken_as_well_as_bytes() -> None:
    place = build.workspace()
    data = build.log(10)
    deliveries.append(
        place.id,
        machine="m",
        path="p",
        project="",
        offset=0,
        data=io.BytesIO(data),
        now=build.NOW,
    )
    assert content(only(place)) == data


def test_a_large_delivery_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions_app.ingest.pipeline.BATCH_BYTES", 400_000)
    place = build.workspace()
    data = build.log(20_000)
    send(place, data[:300_001])
    send(place, data[300_001:], 300_001)
    assert content(only(place)) == data


@pytest.mark.django_db(transaction=True)
def test_two_senders_of_the_same_piece_store_it_once() -> None:
    place = build.workspace()
    data = build.log(2000)
    send(place, data[:1000])

    def go() -> None:
        for at in range(1000, len(data), 20_000):
            with suppress(OutOfStep):
                send(place, data[at : at + 20_000], at, generation=1)

    at_once(go, go, go)

    assert content(only(place)) == data
