"""Live follow: who hears of a session's growth, and what is said."""

import asyncio
import html
import threading
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.http import StreamingHttpResponse
from django.test import AsyncClient

from sessions_app.store import live as store
from sessions_app.web import live
from sessions_app.web.live import Follower, Hub
from tests import build
from tests.people import browser, cast

STREAM = {"Accept": "text/event-stream"}


@pytest.mark.django_db
def test_a_page_that_cannot_follow_is_told_the_number() -> None:
    people = cast()
    url = f"/sessions/{people.session.uid}/live"
    assert browser(people.bob).get(url).json() == {"events": people.session.events}
    assert browser(people.charlie).get(url).status_code == 404


@pytest.mark.django_db
def test_a_server_that_cannot_stream_says_to_ask() -> None:
    people = cast()
    answer = browser(people.bob).get(f"/sessions/{people.session.uid}/live", headers=STREAM)
    assert answer.status_code == 503
    assert answer["Retry-After"] == "15"


@pytest.mark.django_db
def test_the_list_answers_nothing_while_nothing_is_new() -> None:
    people = cast()
    client = browser(people.bob)
    page = client.get("/").content.decode()
    again = html.unescape(page.split(' data-again="')[1].split('"')[0])
    fragment = {"HX-Request": "true"}
    assert client.get(again, headers=fragment).status_code == 204
    build.session(people.workspace, path="b/other.jsonl")
    answer = client.get(again, headers=fragment)
    assert answer.status_code == 200
    assert answer.content.decode().count("<tr") == 3


@pytest.mark.django_db(transaction=True)
def test_what_grows_is_told_once_it_is_written_and_a_rollback_says_nothing() -> None:
    place = build.workspace()
    wanted, heard = threading.Event(), []
    wanted.set()
    listening = threading.Event()

    def listen() -> None:
        for grown in store.listen(wanted.is_set):
            listening.set()
            if grown is not None:
                heard.append(grown)
        connection.close()

    thread = threading.Thread(target=listen)
    thread.start()
    assert listening.wait(10)
    first = build.ingest(place, build.log(4))
    build.ingest(place, build.log(4) + build.log(2))
    deadline = time.monotonic() + 10
    while not heard and time.monotonic() < deadline:
        time.sleep(0.02)
    wanted.clear()
    thread.join(10)
    assert heard == [store.Grown(uid=first.uid, events=6)]  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_a_follower_hears_and_the_listener_ends_with_the_last() -> None:
    place = build.workspace()
    uid = build.ingest(place, build.log(4)).uid
    assert uid is not None

    async def follow() -> int:
        hub, loop = Hub(), asyncio.get_running_loop()
        one, other = Follower(uid, loop), Follower(uuid4(), loop)
        hub.join(one)
        hub.join(other)
        await asyncio.wait_for(one.bell.wait(), 10)
        one.bell.clear()
        await asyncio.to_thread(_grow)
        await asyncio.wait_for(one.bell.wait(), 10)
        hub.leave(one)
        hub.leave(one)
        hub.leave(other)
        thread = hub._thread
        if thread is not None:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()
        return one.events

    def _grow() -> None:
        build.ingest(place, build.log(4) + build.log(2))
        connection.close()

    assert asyncio.run(follow()) == 6


@pytest.mark.django_db(transaction=True)
def test_a_stream_begins_with_where_the_session_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    people = cast()
    monkeypatch.setattr(live, "HEARTBEAT", 0.0)
    monkeypatch.setattr(live, "TICK", 0.05)

    async def first() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(people.bob, backend="django.contrib.auth.backends.ModelBackend")
        url = f"/sessions/{people.session.uid}/live"
        answer: Any = await client.get(url, headers=STREAM)
        assert isinstance(answer, StreamingHttpResponse)
        assert answer["Content-Type"] == "text/event-stream"
        content: Any = answer.streaming_content
        pieces: AsyncIterator[bytes] = aiter(content)
        told = [await anext(pieces) for _ in range(5)]
        await pieces.aclose()  # type: ignore[attr-defined]
        await sync_to_async(connections.close_all)()
        return told

    told = asyncio.run(first())
    thread = live.HUB._thread
    if thread is not None:
        thread.join(10)
    assert told[:2] == [b"retry: 2000\n\n", b"id: 4\ndata: 4\n\n"]
    assert set(told[2:]) <= {b"id: 4\ndata: 4\n\n", b": still here\n\n"}
    assert b": still here\n\n" in told


@pytest.mark.django_db(transaction=True)
def test_only_so_many_pages_follow_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    people = cast()
    monkeypatch.setattr(live, "MOST", 0)

    async def asked() -> int:
        client = AsyncClient()
        await client.aforce_login(people.bob, backend="django.contrib.auth.backends.ModelBackend")
        answer = await client.get(f"/sessions/{people.session.uid}/live", headers=STREAM)
        await sync_to_async(connections.close_all)()
        return answer.status_code

    assert asyncio.run(asked()) == 503
