"""Plain builder functions: what a test needs, said in one line."""

import io
from datetime import UTC, datetime
from pathlib import Path

import orjson

from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import DiskFile, HeldFile, this_machine
from sessions_app.models import Membership, Session, User, Workspace
from sessions_app.store import keys

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def workspace(name: str = "Workspace") -> Workspace:
    keys.prepare()
    return keys.new_workspace(name)


def member(name: str, place: Workspace, role: str = "admin") -> User:
    user = User.objects.create_user(username=name, password=f"{name}-correct-horse")
    Membership.objects.create(user=user, workspace=place, role=role)
    return user


def line(role: str, content: object, **more: object) -> bytes:
    return orjson.dumps({"role": role, "content": content, **more}) + b"\n"


def log(count: int = 4) -> bytes:
    """A plain conversation of that many lines."""
    return b"".join(
        line(("user", "assistant")[n % 2], f"message number {n} about subject{n % 7}")
        for n in range(count)
    )


def ingest(place: Workspace, data: bytes, path: str = "a/session.jsonl") -> Result:
    file = HeldFile(machine="box", path=path, project="a", size=len(data), stream=io.BytesIO(data))
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
