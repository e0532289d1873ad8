"""The API keeps the promises of its own document, whatever it is asked."""

from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings

from config.api import api
from tests.people import browser, cast

pytestmark = pytest.mark.django_db

ROUTES = 7
CALLS = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_no_request_of_any_shape_breaks_the_documented_answers() -> None:
    client = browser(cast().alice)
    schema: Any = schemathesis.openapi.from_dict(api.get_openapi_schema())
    seen: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        seen[operation.label] = _statuses(client, operation)
        # 404 also answers a path that no route matches, 422 a value of the wrong type.
        documented = {int(code) for code in operation.definition.raw["responses"]}
        assert seen[operation.label] <= documented | {404, 422}, operation.label
    assert len(seen) >= ROUTES
    assert 200 in seen["GET /api/v1/jobs"]


def _statuses(client: Client, operation: Any) -> set[int]:
    seen: set[int] = set()

    @CALLS
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        query = case.query or {}
        response = client.generic(case.method, case.formatted_path, query_params=query)
        seen.add(response.status_code)

    ask()
    return seen
