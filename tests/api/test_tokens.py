"""What opens the doors of machines: a valid token, and nothing else."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from django.utils import timezone

from sessions_app.actions import tokens as actions
from sessions_app.api.tokens import FAILURES, bearer
from sessions_app.domain.errors import TooMuch, Unauthorized
from sessions_app.models import IngestToken
from sessions_app.store import tokens
from tests import build

pytestmark = pytest.mark.django_db
UNKNOWN = "rct_" + "x" * 43


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    cache.clear()


def token(name: str = "box") -> str:
    place = build.workspace()
    return actions.create(place, name=name, user=build.member("ann", place))[1]


def ask(text: str, address: str = "10.0.0.1") -> IngestToken:
    headers = {"Authorization": text}
    return bearer(RequestFactory().get("/", headers=headers, REMOTE_ADDR=address))


def test_a_valid_token_is_known_and_its_use_noted_once_a_minute() -> None:
    text = token()
    assert ask(f"Bearer {text}").name == "box"
    first = IngestToken.objects.get().used_at
    ask(f"bearer {text}")
    assert first is not None
    assert IngestToken.objects.get().used_at == first

    row = IngestToken.objects.get()
    later = timezone.now() + timedelta(minutes=2)
    tokens.used(row, later)
    assert IngestToken.objects.get().used_at == later


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer rct_", "Basic eDp5", f"Bearer {UNKNOWN}", f"Bearer {'x' * 47}"]
)
def test_anything_else_is_refused_with_what_to_do(header: str) -> None:
    token()
    with pytest.raises(Unauthorized, match="admin"):
        ask(header)


def test_unknown_tokens_of_one_address_are_bounded_and_good_ones_go_on() -> None:
    text = token()
    ask(f"Bearer {text}")
    for _ in range(FAILURES):
        with pytest.raises(Unauthorized):
            ask(f"Bearer {UNKNOWN}")
    with pytest.raises(TooMuch):
        ask(f"Bearer {UNKNOWN}")
    assert ask(f"Bearer {text}")
    with pytest.raises(Unauthorized):
        ask(f"Bearer {UNKNOWN}", address="10.0.0.2")
