"""The one limit of a line."""

import pytest

from sessions_app.domain.errors import TooLarge
from sessions_app.store import append
from tests import build

pytestmark = pytest.mark.django_db


def test_a_line_too_long_for_its_row_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(append, "LONGEST_LINE", 3_000_000)
    place = build.workspace()
    with pytest.raises(TooLarge, match="cannot be kept as one event"):
        build.ingest(place, build.line("user", "x" * 4_000_000))
    assert place.sessions.count() == 0
