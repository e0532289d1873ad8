"""Who may open what: generated from the address table, so that a new page cannot be forgotten."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from sessions_app.models import WatchedRoot
from sessions_app.store import jobs, searches
from tests.people import Cast, browser, cast

pytestmark = pytest.mark.django_db

OPEN = {
    "healthz",
    "machines:ship",
    "people:sign_in",
    "people:enter",
    "api:openapi-json",
    "api:api-root",
}
POSTS = {
    "api:deliver",
    "searches:remove",
    "searches:rename",
    "sessions:export_some",
    "sessions:upload",
    "sessions:verify",
    "sessions:verify_some",
    "jobs:cancel",
    "jobs:retry",
    "jobs:discard",
    "people:switch",
    "people:sign_out",
    "demo:load",
    "demo:remove",
    "traces",
}


def _names(
    patterns: list[URLPattern | URLResolver], prefix: str = ""
) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix
            yield from _names(pattern.url_patterns, inner)
        elif pattern.name:
            yield prefix + pattern.name, pattern


def addresses(people: Cast) -> dict[str, str]:
    """Every named address, with ids of Alice's things filled in."""
    job = jobs.add(
        "verify.session", workspace_id=people.workspace.id, user=people.alice, arguments={}
    )
    values = {
        "uid": people.session.uid,
        "session_id": people.session.uid,
        "job_id": job.id,
        "receipt_id": uuid4(),
        "workspace_id": people.workspace.id,
        "token": "not-a-token",
        "search_id": searches.add(people.workspace, people.alice, name="Secret", query="x"),
        "root_id": WatchedRoot.objects.create(workspace=people.workspace, path="/nowhere").id,
    }
    return {
        name: reverse(name, kwargs={key: values[key] for key in pattern.pattern.converters})
        for name, pattern in _names(get_resolver().url_patterns)
    }


def test_nobody_sees_anything_without_signing_in() -> None:
    for name, url in addresses(cast()).items():
        client = browser(None)
        response = client.post(url) if name in POSTS else client.get(url)
        if name in OPEN:
            continue
        is_closed = response.status_code in (401, 403) or (
            response.status_code == 302 and "/sign-in/" in response["Location"]
        )
        assert is_closed, (name, response.status_code)


def test_a_strangers_ids_do_not_exist_for_charlie() -> None:
    people = cast()
    client = browser(people.charlie)
    checked = 0
    for name, url in addresses(people).items():
        ids = (str(people.session.uid), str(people.workspace.id), "/jobs/", "/searches/")
        if (
            url == "/searches/"
            or not any(text in url for text in ids)
            or url.endswith(("/jobs/", "/jobs", "/rows"))
        ):
            continue
        response = client.post(url) if name in POSTS else client.get(url)
        assert response.status_code == 404, (name, response.status_code)
        checked += 1
    assert checked >= 22


def test_an_id_that_never_was_answers_like_a_strangers() -> None:
    people = cast()
    client = browser(people.charlie)
    absent = client.get(f"/sessions/{uuid4()}/")
    strangers = client.get(f"/sessions/{people.session.uid}/")
    assert absent.status_code == strangers.status_code == 404
    assert absent.content == strangers.content


def test_lists_never_show_another_workspace() -> None:
    people = cast()
    searches.add(people.workspace, people.alice, name="Alice's", query="x")
    for url in (
        *("/", "/jobs/", "/members/", "/searches/", "/api/v1/jobs"),
        *("/usage/?range=all", "/projects/", "/agents/", "/tools/?range=all"),
    ):
        jobs.add("verify.session", workspace_id=people.workspace.id, user=None, arguments={})
        page = browser(people.charlie).get(url).content.decode()
        assert str(people.session.uid) not in page
        assert "alice" not in page.lower(), url


def test_a_viewer_reads_but_changes_nothing() -> None:
    people = cast()
    client = browser(people.bob)
    job = jobs.add(
        "verify.session", workspace_id=people.workspace.id, user=people.alice, arguments={}
    )
    saved = searches.add(people.workspace, people.alice, name="Hers", query="x")
    assert client.get(f"/sessions/{people.session.uid}/").status_code == 200
    for url in (
        "/upload",
        "/demo/load",
        f"/jobs/{job.id}/cancel",
        f"/jobs/{job.id}/retry",
        f"/searches/{saved}/remove",
        f"/searches/{saved}/rename",
        "/searches/",
    ):
        assert client.post(url).status_code == 403, url
    assert client.post("/members/", {"action": "add"}).status_code == 403
    for action in ("create", "revoke"):
        assert client.post("/machines/", {"action": action, "name": "x"}).status_code == 403


def test_unknown_hosts_are_refused() -> None:
    response = browser(None).get("/sign-in/", headers={"Host": "evil.example"})
    assert response.status_code == 400


def test_posts_without_a_token_of_the_form_are_refused() -> None:
    people = cast()
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.alice, backend="django.contrib.auth.backends.ModelBackend")
    for url in (
        "/upload",
        "/demo/load",
        "/sign-out/",
        "/members/",
        "/profile/",
        "/machines/",
        "/sources/",
        "/searches/",
        "/sessions/export",
        "/sessions/verify",
    ):
        assert client.post(url).status_code == 403, url
