"""Who asks is known from one question to the database, and as it is at this moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session as Visit
from django.test import Client
from pytest_django.fixtures import Settings

from sessions_app.models import Membership, User, Workspace
from sessions_app.store import door, prepared
from sessions_app.web import access
from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db
SEARCH = "/api/v1/search?q=nothing"


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def ann(place: Workspace) -> User:
    return build.member("ann", place)


@pytest.fixture
def client(ann: User) -> Client:
    """Whose visit is known already."""
    made = browser(ann)
    assert made.get(SEARCH).status_code == 200
    return made


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    asked: list[str] = []
    ask = prepared.rows

    def told(sql: str, values: Any) -> Any:
        asked.append(sql)
        return ask(sql, values)

    with monkeypatch.context() as patch:
        patch.setattr(prepared, "rows", told)
        yield asked


def test_one_question_tells_who_asks_and_where_they_may_search(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(access, "get_user", never)
    monkeypatch.setattr(Membership.objects, "filter", never)
    with counted(monkeypatch) as asked:
        assert client.get(SEARCH).status_code == 200
    assert [sql for sql in asked if "django_session" in sql] == [door._ASKED]


def test_a_visit_that_is_ended_is_refused_at_once(client: Client) -> None:
    Visit.objects.all().delete()
    assert client.get(SEARCH).status_code == 401
    assert client.get("/").status_code == 302


def test_a_visit_is_refused_once_it_is_too_old(client: Client) -> None:
    Visit.objects.update(expire_date="2020-01-01T00:00:00Z")
    assert client.get(SEARCH).status_code == 401


def test_a_person_who_is_switched_off_is_refused_at_once(client: Client, ann: User) -> None:
    User.objects.filter(id=ann.id).update(is_active=False)
    assert client.get(SEARCH).status_code == 401


def test_a_person_who_is_gone_is_refused_at_once(client: Client, ann: User) -> None:
    User.objects.filter(id=ann.id).delete()
    assert client.get(SEARCH).status_code == 401


def test_a_new_password_ends_the_visits_begun_before(client: Client, ann: User) -> None:
    ann.set_password("a new and long password")
    ann.save()
    assert client.get(SEARCH).status_code == 401


def test_who_left_the_workspace_searches_it_no_more(client: Client, ann: User) -> None:
    Membership.objects.filter(user=ann).delete()
    assert client.get(SEARCH).status_code == 404


def test_who_came_into_a_second_workspace_has_to_say_which(client: Client, ann: User) -> None:
    other = build.workspace("Other")
    assert client.get(f"{SEARCH}&workspace={other.id}").status_code == 404
    Membership.objects.create(user=ann, workspace=other, role="viewer")
    assert client.get(SEARCH).status_code == 400
    assert client.get(f"{SEARCH}&workspace={other.id}").status_code == 200


def test_a_visit_that_names_another_person_now_is_not_taken_for_the_one_remembered(
    client: Client, ann: User
) -> None:
    """What was remembered of a visit only says for whom to ask."""
    bob = build.member("bob", build.workspace("Bob's"))
    visit = client.session
    visit[SESSION_KEY] = str(bob.id)
    visit.save()
    assert client.get(SEARCH).status_code == 401
    client.force_login(bob, backend=access.BACKEND)
    assert client.get("/api/v1/workspaces").json()[0]["name"] == "Bob's"


def test_a_visit_of_a_way_in_that_is_gone_is_refused(client: Client, settings: Settings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend"]
    assert client.get(SEARCH).status_code == 401
