"""A session of 100,000 events beside one of 100: how long its pages take, and what they weigh."""

import io
import json
import statistics
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import Client

from benchmarks import corpus
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, timed
from sessions_app.models import Membership, User

LONG, SHORT = 100_000, 100
ROUNDS = 15
LIMIT_BYTES = 200_000
# The same view of the long and of the short session.
VIEWS = {
    "first screen": ("", ""),
    "jump": ("?seq=77777", "?seq=77"),
    "filter": ("?show=tools&seq=77777", "?show=tools"),
}


def run(folder: Path) -> list[Figure]:
    place = folder / "session"
    lines = _lines(LONG)
    workspace = str(empty_house())
    long = _taken(place / "long" / "log.jsonl", lines, workspace)
    short = _taken(place / "short" / "log.jsonl", lines[:SHORT], workspace)
    client = _reader(workspace)
    return [figure for name in VIEWS for figure in _figures(client, name, long, short)]


def _lines(number: int) -> list[bytes]:
    """Sessions one after the other, as if the log had never ended."""
    found: list[bytes] = []
    seed = 0
    while len(found) < number:
        seed += 1
        found += islice(corpus.lines(seed), number - len(found))
    return found


def _taken(path: Path, lines: list[bytes], workspace: str) -> str:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines))
    said = io.StringIO()
    call_command("ingest", str(path), "--workspace", workspace, "--json", stdout=said)
    uid: str = json.loads(said.getvalue())["files"][0]["session"]
    return uid


def _reader(workspace: str) -> Client:
    settings.ALLOWED_HOSTS = ["testserver"]
    user = User.objects.create_user(username="reader")
    Membership.objects.create(user=user, workspace_id=workspace, role="viewer")
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def _figures(client: Client, name: str, long: str, short: str) -> list[Figure]:
    """In turns, so that whatever else the machine does meets both."""
    of_long, of_short = VIEWS[name]
    took: tuple[list[float], list[float]] = ([], [])
    weight = 0
    for _ in range(ROUNDS):
        for times, uid, query in zip(took, (long, short), (of_long, of_short), strict=True):
            with timed() as watch:
                answer = client.get(f"/sessions/{uid}/{query}")
            times.append(watch.seconds)
            weight = max(weight, len(answer.content))
    slow, fast = (statistics.median(times) for times in took)
    return [
        Figure(
            name=f"{name}, time to first byte",
            value=slow / fast,
            against=f"the same of a session of {SHORT} events",
            limit=1.5,
            is_at_least=False,
            detail={f"ms of {LONG:,} events": slow * 1000, f"ms of {SHORT}": fast * 1000},
        ),
        Figure(
            name=f"{name}, bytes",
            value=weight,
            against="both sessions",
            limit=LIMIT_BYTES,
            is_at_least=False,
        ),
    ]
