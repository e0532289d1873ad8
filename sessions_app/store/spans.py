"""Spans that are already stored: what an exporter sends twice is kept once."""

from django.db import connection

from sessions_app.domain.events import TieKind
from sessions_app.models import Tie
from sessions_app.store.sources import Fingerprints


def alone(place_key: bytes) -> None:
    """Until the end of the transaction nobody else adds spans to this place. A lock of its row
    would not do: the first span of a session has no row yet."""
    number = int.from_bytes(place_key[:8], "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def stored(session_id: int, marks: Fingerprints, ids: list[str]) -> set[str]:
    """Those of these ids that lines of the session name as their own."""
    keys = {marks.of_id(b"record", name): name for name in ids}
    found = Tie.objects.filter(
        session_id=session_id, kind=TieKind.RECORD.value, key__in=list(keys)
    ).values_list("key", flat=True)
    return {keys[key] for key in found}
