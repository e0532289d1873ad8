"""Verifying a live session."""

import pytest

from sessions_app.models import Session
from sessions_app.store import verify
from tests import build

pytestmark = pytest.mark.django_db


def test_a_session_that_grew_since_it_was_looked_up_is_sound() -> None:
    place = build.workspace()
    before = build.session(place, build.log(50))
    build.ingest(place, build.log(90))

    verdict = verify.session(before)

    assert verdict.problem == ""
    assert verdict.raw_bytes == Session.objects.get(id=before.id).raw_bytes
