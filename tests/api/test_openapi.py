"""The API keeps the promises of its own document, whatever it is asked."""

from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings

from config.api import api
from sessions_app.actions import tokens
from tests.people import browser, cast

pytestmark = pytest.mark.django_db

ROUTES = 10
NDJSON = "application/x-ndjson"
CALLS = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@schemathesis.serializer(NDJSON)
def as_it_is(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def test_no_request_of_any_shape_breaks_the_documented_answers() -> None:
    people = cast()
    client = browser(people.alice)
    token = tokens.create(people.workspace, name="box", user=people.alice)[1]
    schema: Any = schemathesis.openapi.from_dict(api.get_openapi_schema())
    seen: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        seen[operation.label] = _statuses(client, token, operation)
        # 404 also answers a path that no route matches, 422 a value of the wrong type.
        documented = {int(code) for code in operation.definition.raw["responses"]}
        assert seen[operation.label] <= documented | {404, 422}, operation.label
    assert len(seen) >= ROUTES
    assert 200 in seen["GET /api/v1/jobs"]
    assert 200 in seen["GET /api/v1/ingest/offset"]
    assert 200 in seen["POST /api/v1/ingest"]


def _statuses(client: Client, token: str, operation: Any) -> set[int]:
    seen: set[int] = set()

    @CALLS
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        query = case.query or {}
        response = client.generic(
            case.method,
            case.formatted_path,
            case.body if isinstance(case.body, bytes) else b"",
            content_type=NDJSON,
            query_params=query,
            headers={**_text(case.headers), "Authorization": f"Bearer {token}"},
        )
        seen.add(response.status_code)

    ask()
    return seen


def _text(headers: Any) -> dict[str, str]:
    return {name: str(value) for name, value in (headers or {}).items()}
