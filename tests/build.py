"""Plain builder functions: what a test needs, said in one line."""

import functools
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
from django.contrib.auth.hashers import make_password

from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import DiskFile, HeldFile, this_machine
from sessions_app.models import Membership, Session, SessionKey, User, Workspace
from sessions_app.models.record import Part
from sessions_app.store import facets, facts, keys
from sessions_app.store.facts import Facts
from sessions_app.store.tip import Counts, seconds_of

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def workspace(name: str = "Workspace") -> Workspace:
    keys.prepare()
    return keys.new_workspace(name)


def member(name: str, place: Workspace, role: str = "admin") -> User:
    user = User.objects.create(username=name, password=_hashed(f"{name}-correct-horse"))
    Membership.objects.create(user=user, workspace=place, role=role)
    return user


# To hash a password takes a third of a second, by design.
_hashed = functools.cache(make_password)


def line(role: str, content: object, **more: object) -> bytes:
    return orjson.dumps({"role": role, "content": content, **more}) + b"\n"


def log(count: int = 4) -> bytes:
    """A plain conversation of that many lines."""
    return b"".join(
        line(("user", "assistant")[n % 2], f"message number {n} about subject{n % 7}")
        for n in range(count)
    )


def ingest(
    place: Workspace,
    data: bytes,
    path: str = "a/session.jsonl",
    *,
    machine: str = "box",
    project: str = "a",
) -> Result:
    file = HeldFile(
        machine=machine, path=path, project=project, size=len(data), stream=io.BytesIO(data)
    )
    return Ingest(place.id, now=NOW).source(file)


def ingest_file(place: Workspace, path: Path, machine: str | None = "box") -> Result:
    facts = path.stat()
    file = DiskFile(
        path=str(path),
        size=facts.st_size,
        mtime_ns=facts.st_mtime_ns,
        machine=machine or this_machine(),
    )
    return Ingest(place.id, now=NOW).source(file)


def session(place: Workspace, data: bytes | None = None, path: str = "a/session.jsonl") -> Session:
    result = ingest(place, log() if data is None else data, path)
    return Session.objects.select_related("key", "workspace").get(uid=str(result.uid))


def row(
    place: Workspace, told: Facts | None = None, *, at: datetime = NOW, **columns: Any
) -> Session:
    """A session without a log, for lists: its row, its key, its facts and what it is found by."""
    told = told or Facts(title="Untold", project="a", machine="box")
    uid = uuid4()
    usual = {"agent": "claude-code", "format": "claude-code", "part": Part.MAIN, "events": 1}
    given = {"started_at": at, "last_at": at, "sort_at": at, "ingested_at": at, **usual, **columns}
    counts = Counts(
        events=given["events"],
        errors=given.get("errors", 0),
        unreadable=given.get("unreadable", 0),
        started_at=given["started_at"],
        last_at=given["last_at"],
    )
    found = facets.of_session(
        place.id,
        agent=given["agent"],
        fmt=given["format"],
        part=Part(given["part"]),
        counts=counts,
        told=told,
        tail_bytes=given.get("tail_bytes", 0),
    )
    facets.keep(place.id, found.names)
    made = keys.new_session_key(place.id, uid)
    sealed = facts.sealed(made.key, told, workspace_id=place.id, uid=uid)
    session = Session.objects.create(
        uid=uid,
        workspace=place,
        sealed_facts=sealed,
        facets=found.terms,
        ending=told.ending,
        seconds=seconds_of(counts),
        totals_events=given["events"],
        head_hash=bytes(32),
        head_mark=bytes(32),
        **given,
    )
    SessionKey.objects.create(session=session, version=made.version, wrapped=made.wrapped)
    return session
