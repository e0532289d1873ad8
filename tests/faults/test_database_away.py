"""The database goes away while pages are open: said as what it is, and over when it is back."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError, connection
from django.test import Client
from psycopg.errors import AdminShutdown, QueryCanceled

from runtime.postgres import Server
from sessions_app.models import Workspace
from sessions_app.store import trouble
from tests import build
from tests.faults import served
from tests.faults.served import Admin, Sender, Shown
from tests.faults.test_postgres_restart import _house, server, started
from tests.people import cast
from tests.runtime.house import free_port

__all__ = ["server"]

BACK = str(trouble.BACK_SECONDS)
SPANS = b'{"resourceSpans":[]}'
JSON = "application/json"


def test_while_postgres_is_stopped_every_door_says_so_and_opens_again_with_it(
    server: tuple[Server, str], tmp_path: Path
) -> None:
    control, url = server
    port = free_port()
    extra = {"PORT": str(port), "RECOUNT_STATIC_ROOT": os.environ["RECOUNT_HOME"] + "/static"}
    with _house(tmp_path / "home", url) as bare:
        house = replace(bare, extra=extra)
        with served.web(house, port):
            admin = Admin(house, port)
            token = admin.token("box")
            sender = Sender(port, token)
            control.stop()
            with ThreadPoolExecutor(6) as pool:
                delivered = pool.submit(sender.send, "a.jsonl", build.log(4))
                shown = pool.map(lambda ask: ask(), _asked(admin, token))
                page, fragment, told, listed, spans = shown
            started(control)

            assert {each.status for each in (page, fragment, told, listed, spans)} == {503}
            assert {each.after for each in (page, fragment, told, listed, spans)} == {BACK}
            assert "<h1>The database does not answer</h1>" in page.text
            assert "Try again in a few seconds" in page.text
            assert "Try again in a few seconds" in fragment.text
            assert "<html" not in fragment.text
            assert told.text.startswith('{"error": "The database does not answer')
            assert listed.text.startswith('{"error": "The database does not answer')
            assert "The database does not answer" in spans.text
            assert (delivered.result().status, delivered.result().after) == (503, BACK)

            # No broken connection is handed out afterwards.
            again = [admin.asked("/").status for _ in range(4)]
            assert again == [200] * 4
            assert sender.send("a.jsonl", build.log(4)).status == 200


def _asked(admin: Admin, token: str) -> Iterator[Callable[[], Shown]]:
    sent = {"Content-Type": JSON, "Authorization": f"Bearer {token}"}
    yield lambda: admin.asked("/")
    yield lambda: admin.asked("/jobs/rows", None, **{"HX-Request": "true"})
    yield lambda: admin.asked("/", Accept=JSON)
    yield lambda: admin.asked("/api/v1/workspaces")
    yield lambda: admin.asked("/v1/traces", SPANS, **sent)


def _visitor() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(cast().alice, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/", "/api/v1/workspaces"])
def test_a_connection_that_is_ended_inside_a_request_is_told_and_the_next_is_a_new_one(
    path: str,
) -> None:
    visitor = _visitor()
    assert visitor.get(path).status_code == 200
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    answer = visitor.get(path)

    assert (answer.status_code, answer["Retry-After"]) == (503, BACK)
    connection.close()
    assert visitor.get(path).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("cause", "status"), [(AdminShutdown("gone"), 503), (QueryCanceled("too slow"), 500)]
)
def test_a_visit_that_cannot_be_kept_afterwards_is_told_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch, cause: Exception, status: int
) -> None:
    def save(*_: object, **__: object) -> None:
        raise OperationalError from cause

    visitor = _visitor()
    chosen = Workspace.objects.get(name="Alice's")
    monkeypatch.setattr(SessionStore, "save", save)

    answer = visitor.post(f"/workspaces/{chosen.id}/switch")

    assert answer.status_code == status
    assert ("Retry-After" in answer) is (status == 503)
