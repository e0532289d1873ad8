"""What must be in the record, told from the sources alone; and what is, told from the database."""

import gzip
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")


def digests(data: bytes) -> list[str]:
    """The lines of a log in their order, each by its hash."""
    return [digest(line) for line in LINE.findall(data)]


def digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:16]


def expected(files: Iterable[Path]) -> dict[str, list[str]]:
    """By path and generation; a packed log under the name of what is in it."""
    return {f"{str(path).removesuffix('.gz')} 1": digests(_bytes(path)) for path in files}


def _bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def record() -> dict[str, Any]:
    """Stored lines by path and generation, and how many rows each table has."""
    return {"lines": lines(), "numbers": numbers()}


def lines() -> dict[str, list[str]]:
    """The stored lines, cut out of the stored bytes where their event rows say they lie. Of a
    record that does not verify, what is wrong with it instead."""
    from sessions_app.models import Session

    rows = Session.objects.select_related("key").order_by("id")
    return {f"{_path(row)} {row.generation}": _lines(row) for row in rows}


def _path(row: Any) -> str:
    from sessions_app.store import facts, tip

    return facts.opened(tip.owner_of(row).key, row).path


def _lines(row: Any) -> list[str]:
    from sessions_app.models import Chunk, Event
    from sessions_app.store import read, verify

    if problem := verify.session(row).problem:
        return [problem]
    data = b"".join(read.stream(row))
    begins = dict(Chunk.objects.filter(session_id=row.id).values_list("no", "first_byte"))
    places = Event.objects.filter(session_id=row.id).order_by("seq")
    found = [
        digest(data[begins[chunk] + start : begins[chunk] + start + length])
        for chunk, start, length in places.values_list("chunk", "start", "length")
    ]
    return found if row.events == len(found) else [f"{row.events} events, {len(found)} rows"]


def numbers() -> dict[str, int]:
    """How many rows each table has."""
    from django.apps import apps

    return {
        model._meta.db_table: model._default_manager.count()
        for model in apps.get_app_config("sessions_app").get_models()
    }
