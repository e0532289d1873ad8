"""Spans into sessions: those of a conversation together, each once, in the order they came.

A session of spans has no file. Its place is the machine and service that sent it and the id of the
conversation, or of the trace where no conversation is named.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction

from sessions_app.domain.errors import BadInput
from sessions_app.formats import json_lines
from sessions_app.ingest import deliveries, notices, parallel
from sessions_app.ingest.pipeline import Result
from sessions_app.store import findings, sources, spans, staging
from sessions_app.store.sources import Fingerprints

CONVERSATION = "gen_ai.conversation.id"
MACHINE = "otlp"
# How far parents are asked for a conversation.
GENERATIONS = 200


class Span(NamedTuple):
    trace: str
    id: str
    parent: str
    conversation: str
    raw: bytes
    machine: str
    service: str

    @property
    def name(self) -> str:
        return f"{self.trace}:{self.id}"


class Place(NamedTuple):
    machine: str
    path: str
    project: str


Reader = Callable[[bytes], Iterable[dict[str, Any]]]


def request(workspace_id: UUID, body: bytes, read: Reader, *, now: datetime) -> int:
    """The spans of one request. One that was cut off before is read by a process of its own: if it
    kills whoever reads it, that shall not be the web server again."""
    mark = Fingerprints(workspace_id).of_body(sha256(body).digest())
    work = partial(_request, workspace_id, body, read, now)
    with staging.attempt(mark) as is_first:
        rejected = work() if is_first else parallel.alone(work)
    if rejected is None:
        died = Result(path=f"otlp/{mark.hex()[:16]}", state="died", message=parallel.DIED_OF_IT)
        findings.raised(workspace_id, notices.elsewhere(died, MACHINE), now=now)
        raise BadInput(parallel.DIED_OF_IT)
    return rejected


def _request(workspace_id: UUID, body: bytes, read: Reader, now: datetime) -> int:
    return take(workspace_id, read(body), now=now)


def take(workspace_id: UUID, lines: Iterable[dict[str, Any]], *, now: datetime) -> int:
    """Stores what is not stored yet; gives the number of spans that cannot be kept. Each session
    is written by itself: a sender that hears of a failure sends all again, and nothing doubles."""
    found = [_span(line) for line in lines]
    kept = [span for span in found if span is not None]
    for place, group in _by_place(kept).items():
        _append(workspace_id, place, group, now)
    return len(found) - len(kept)


def _span(line: dict[str, Any]) -> Span | None:
    span, resource = line["span"], line["resource"]
    trace, span_id = span.get("traceId"), span.get("spanId")
    if not trace or not span_id:
        return None
    try:
        raw = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # Nested deeper than can be written.
        return None
    return Span(
        trace=trace,
        id=span_id,
        parent=span.get("parentSpanId") or "",
        conversation=_part_of_path(span["attributes"].get(CONVERSATION)),
        raw=raw,
        machine=_first(resource, "host.name", "service.instance.id") or MACHINE,
        service=_first(resource, "service.name") or "unknown_service",
    )


def _first(resource: dict[str, Any], *names: str) -> str:
    return next(filter(None, (_part_of_path(resource.get(name)) for name in names)), "")


def _part_of_path(value: object) -> str:
    """Names are the sender's: none of them reaches into another's place."""
    return json_lines.word(value).replace("/", "_").replace("\0", "").strip()


def _by_place(found: list[Span]) -> dict[Place, list[Span]]:
    conversations = _conversations(found)
    places: dict[Place, list[Span]] = defaultdict(list)
    for span in found:
        session = conversations[span.name] or span.trace
        place = Place(span.machine, f"otlp/{span.service}/{session}", span.service)
        places[place].append(span)
    return places


def _conversations(found: list[Span]) -> dict[str, str]:
    """The conversation a span names, or the nearest span above it, or the only one of its trace."""
    spans_by_name = {span.name: span for span in found}
    named: dict[str, set[str]] = defaultdict(set)
    for span in found:
        if span.conversation:
            named[span.trace].add(span.conversation)
    alone = {trace: next(iter(names)) for trace, names in named.items() if len(names) == 1}
    return {
        span.name: _inherited(span, spans_by_name) or alone.get(span.trace, "") for span in found
    }


def _inherited(span: Span, by_name: dict[str, Span]) -> str:
    above: Span | None = span
    for _ in range(GENERATIONS):
        if above is None or above.conversation:
            break
        above = by_name.get(f"{above.trace}:{above.parent}")
    return above.conversation if above else ""


@transaction.atomic
def _append(workspace_id: UUID, place: Place, group: list[Span], now: datetime) -> None:
    marks = Fingerprints(workspace_id)
    place_key = marks.of_place(place.machine, place.path)
    spans.alone(place_key)
    known = sources.known(workspace_id, place_key)
    newest = known[0] if known else None
    first_of = {span.name: span for span in reversed(group)}
    there = spans.stored(newest.session_id, marks, list(first_of)) if newest else set()
    new = [span.raw for span in group if span is first_of[span.name] and span.name not in there]
    if not new:
        return
    deliveries.append(
        workspace_id,
        machine=place.machine,
        path=place.path,
        project=place.project,
        offset=newest.offset + newest.tail_bytes if newest else 0,
        generation=newest.generation if newest else None,
        data=b"".join(new),
        now=now,
    )
