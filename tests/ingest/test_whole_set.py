"""Every real log at hand, by every way: no line lost, none doubled, every token counted once."""

import hashlib
import io
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import Kind
from sessions_app.ingest import deliveries, discover, documents, parallel
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile
from sessions_app.models import Call, Event, Session, Usage, Workspace
from sessions_app.store import read, sessions, usage
from tests import build
from tests.faults import dump

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not build.SHARED.is_dir(), reason="the shared logs are not here"),
]
SET = build.SHARED.resolve()
PATHS = sorted(path for path in SET.rglob("*") if path.is_file())
# These say when a row was last looked at, and nothing about what is in it.
MOMENTS = ("public.sessions_app_source", "public.sessions_app_canary")


def files() -> list[DiskFile]:
    found = [item for path in PATHS for item in discover.found([str(path)])]
    return [replace(item, machine="box") for item in found if isinstance(item, DiskFile)]


def take(place: Workspace) -> None:
    ingest = Ingest(place.id, now=build.NOW)
    with ingest.overlapped():
        states = {result.state for result in ingest.sources(files())}
    assert states <= {"ingested", "unchanged", "empty"}


def records_in(raw: bytes, fmt: formats.Format) -> int:
    """Counted apart from the reader: lines by their ends, documents by their cuts."""
    if fmt.cut is None:
        return raw.count(b"\n") + (not raw.endswith(b"\n"))
    return sum(1 for _ in documents.items(io.BytesIO(raw), fmt))


def picture(place: Workspace) -> dict[tuple[str, int], Any]:
    """All that a workspace says, without the ids and keys that differ from one to the next."""
    out = {}
    for row in sessions.in_workspace(place.id):
        told = replace(sessions.facts_of(row), machine="")
        raw = hashlib.sha256(b"".join(read.stream(row))).hexdigest()
        columns = (
            Event.objects.filter(session_id=row.id)
            .order_by("seq")
            .values_list("seq", "length", "at", "kind", "flags"),
            Usage.objects.filter(session_id=row.id)
            .order_by("seq", "no")
            .values_list("seq", "no", "model", "input", "output", "cache_read", "cost"),
            Call.objects.filter(session_id=row.id)
            .order_by("seq", "no")
            .values_list("seq", "no", "is_result", "is_error"),
        )
        rows = hashlib.sha256(repr([list(each) for each in columns]).encode()).hexdigest()
        out[told.path, row.generation] = (told, row.format, row.events, row.part, raw, rows)
    return out


def tables() -> dict[str, bytes]:
    return {name: rows for name, rows in dump.tables().items() if name not in MOMENTS}


def test_nothing_is_lost_and_doing_it_again_or_another_way_changes_nothing() -> None:
    place = build.workspace()
    take(place)
    _is_all_there(place)
    before = tables()

    take(place)
    assert tables() == before

    for file in files():
        with file.open() as stream:
            raw = stream.read()
        _delivered(place, file.path, raw)
    assert tables() == before


def _is_all_there(place: Workspace) -> None:
    by_path = {sessions.facts_of(row).path: row for row in sessions.in_workspace(place.id)}
    assert set(by_path) == {str(path) for path in PATHS if path.stat().st_size}
    for path, row in by_path.items():
        raw = Path(path).read_bytes()
        assert b"".join(read.stream(row)) == raw, path
        assert row.events == records_in(raw, formats.BY_NAME[row.format]), path
        broken = Event.objects.filter(session_id=row.id, kind=Kind.UNREADABLE)
        # A last line without an end may still be written: it is no broken one yet.
        waiting = broken.filter(seq=row.events - 1).count() if row.tail_bytes else 0
        assert row.unreadable == broken.count() - waiting, path


def _delivered(place: Workspace, path: str, raw: bytes) -> None:
    deliveries.append(
        place.id, machine="box", path=path, project="", offset=0, data=raw, now=build.NOW
    )


def test_two_ingests_of_everything_at_once_store_it_once() -> None:
    place = build.workspace()

    doubled = [*files(), *files()]
    taken = list(
        parallel.take(place.id, doubled, now=build.NOW, processes=2, progress=lambda _: None)
    )

    assert not [result for result in taken if result.state == "failed"]
    stored = Session.objects.filter(workspace=place).count()
    assert stored == sum(path.stat().st_size > 0 for path in PATHS)
    alone = build.workspace()
    take(alone)
    assert picture(place) == picture(alone)


COUNTERS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


def counted_apart() -> tuple[dict[str, int], int]:
    """Claude Code's tokens: the largest of each counter per message and request, once; and what
    summing the cache reads of every line would give."""
    largest: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(COUNTERS, 0))
    naive = 0
    for path in (SET / "claude-code").iterdir():
        for line in path.read_bytes().splitlines():
            for key, told in _told(line):
                naive += told.get("cache_read_input_tokens") or 0
                for name, field in COUNTERS.items():
                    largest[key][name] = max(largest[key][name], told.get(field) or 0)
    return {name: sum(each[name] for each in largest.values()) for name in COUNTERS}, naive


def _told(line: bytes) -> list[tuple[tuple[str, str], dict[str, int]]]:
    try:
        record = orjson.loads(line)
    except ValueError:
        return []
    if not isinstance(record, dict) or record.get("type") != "assistant":
        return []
    message = record["message"]
    if "usage" not in message or message.get("model") == "<synthetic>":
        return []
    return [((message.get("id", ""), record.get("requestId", "")), message["usage"])]


def test_tokens_of_the_whole_corpus_equal_an_independent_count() -> None:
    place = build.workspace()
    ingest = Ingest(place.id, now=build.NOW)
    chosen = [file for file in files() if "/claude-code/" in file.path]
    list(ingest.sources(chosen))

    rows = usage.of_workspace(place.id)

    expected, naive = counted_apart()
    assert {name: sum(getattr(row, name) for row in rows) for name in COUNTERS} == expected
    assert naive > 1.5 * expected["cache_read"]
