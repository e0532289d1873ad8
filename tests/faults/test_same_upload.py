"""The same bytes by two hands at once: one set of rows, and both are told of it."""

import io
import threading

import pytest
from django.db import connections
from django.test import Client

from sessions_app.models import Chunk, Event, Session, User
from sessions_app.store import read, verify
from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db(transaction=True)

HANDS = 3
ROUNDS = 5
LINES = 400


def test_the_same_upload_posted_at_once_is_one_session_and_one_answer() -> None:
    """T03"""
    place = build.workspace()
    ann = build.member("ann", place)
    for number in range(ROUNDS):
        data = build.log(LINES).replace(b"about", b"about round%d" % number)
        answers = _posted_at_once(ann, data)

        assert len({each["url"] for each in answers}) == 1
        assert {each["state"] for each in answers} <= {"ingested", "unchanged"}
        session = Session.objects.select_related("key").latest("id")
        assert b"".join(read.stream(session)) == data
        assert verify.session(session).is_sound

    assert Session.objects.count() == ROUNDS
    assert Event.objects.count() == ROUNDS * LINES
    assert Chunk.objects.count() == sum(row.chunks for row in Session.objects.all())


def _posted_at_once(user: User, data: bytes) -> list[dict[str, object]]:
    together = threading.Barrier(HANDS)
    answers: list[dict[str, object]] = []

    def post(client: Client) -> None:
        file = io.BytesIO(data)
        file.name = "log.jsonl"
        together.wait()
        answer = client.post("/upload", {"files": file}, headers={"Accept": "application/json"})
        answers.extend(answer.json()["results"])
        connections.close_all()

    threads = [threading.Thread(target=post, args=(browser(user),)) for _ in range(HANDS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == HANDS
    return answers
