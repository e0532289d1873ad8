"""A session of 100,000 events beside one of 100: how long its pages take, and what they weigh."""

import io
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import Client

from benchmarks import corpus
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, timed
from sessions_app.models import FileIndex, Membership, Session, User
from sessions_app.store import moments, strips
from sessions_app.store import timeline as store
from sessions_app.web.drawing import counted, ruler

LONG, SHORT = 100_000, 100
ROUNDS = 15
LIMIT_BYTES = 200_000
LIMIT_TIMES = 1.5
CACHES = (
    *(moments._outline, strips.of, store._tallies),
    *(counted._kept_overview, counted._kept_part, ruler.ticks),
)


def _nothing() -> None:
    """Is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The same view of the long and of the short session."""

    name: str
    long: str
    short: str
    # What is made to be forgotten before each time.
    forget: Callable[[], None] = _nothing
    # A list that fills a page of the long session has a few rows in the short one: it is held
    # against the first screen of the short one, which has a hundred events.
    is_list: bool = False


def run(folder: Path) -> list[Figure]:
    place = folder / "session"
    lines = _lines(LONG)
    workspace = str(empty_house())
    call_command("collectstatic", interactive=False, verbosity=0)
    long = _taken(place / "long" / "log.jsonl", lines, workspace)
    short = _taken(place / "short" / "log.jsonl", lines[:SHORT], workspace)
    client = _reader(workspace)
    views = _views(_Seen(client, long), _Seen(client, short))
    return [figure for view in views for figure in _figures(client, view, long, short)]


def _views(long: "_Seen", short: "_Seen") -> list[View]:
    def same(name: str, query: str, forget: Callable[[], None] = _nothing) -> View:
        return View(name=name, long=query, short=query, forget=forget)

    def listed(name: str, query: str, forget: Callable[[], None] = _nothing) -> View:
        return View(name=name, long=query, short="", forget=forget, is_list=True)

    zoomed, chosen = "timeline?from={}&to={}", "timeline?since={}&until={}"
    return [
        same("first screen", ""),
        View(name="jump", long="?seq=77777", short="?seq=77"),
        View(name="filter by kind", long="?show=tools&seq=77777", short="?show=tools"),
        View(name="filter by errors", long="?show=errors&seq=77777", short="?show=errors"),
        View(
            name="filter by tool",
            long="?show=tools&tool=Bash&seq=77777",
            short="?show=tools&tool=Bash",
        ),
        same("timeline, cold", "timeline", forget=_forget),
        same("timeline, warm", "timeline"),
        View(
            name="timeline, zoomed",
            long=zoomed.format(*long.middle()),
            short=zoomed.format(*short.middle()),
        ),
        View(
            name="timeline, range",
            long=chosen.format(*long.middle()),
            short=chosen.format(*short.middle()),
        ),
        View(name="timeline, event", long="timeline?pick=77777", short="timeline?pick=77"),
        View(name="thread", long="thread", short="thread"),
        View(name="raw", long="raw?seq=77777", short="raw?seq=77"),
        listed("usage", "usage"),
        listed("files", "files"),
        listed("one file", f"files?file={long.largest()}"),
        listed("find", "find?q=error"),
        listed("files, cold", "files", forget=_forget_files),
    ]


def _forget() -> None:
    """As in a process that has just begun: what stands beside the record stays."""
    for cache in CACHES:
        cache.cache_clear()


def _forget_files() -> None:
    FileIndex.objects.all().delete()


class _Seen:
    """What addresses of a session's views are made of."""

    def __init__(self, client: Client, uid: str) -> None:
        self._client = client
        self._uid = uid

    def middle(self) -> tuple[str, str]:
        """The third quarter of its time."""
        session = Session.objects.get(uid=self._uid)
        first, last = session.started_at or session.sort_at, session.last_at or session.sort_at
        ends = (first + (last - first) / 2, first + (last - first) * 3 / 4)
        lo, hi = (end.replace(tzinfo=None).isoformat() for end in ends)
        return lo, hi

    def largest(self) -> str:
        """The file that was changed most, once all events were looked at."""
        while "Go on reading" in self._page("files?wait=1"):
            pass
        names: list[str] = re.findall(r"\?file=(\w+)", self._page("files?sort=most"))
        return names[0]

    def _page(self, query: str) -> str:
        return self._client.get(f"/sessions/{self._uid}/{query}").content.decode()


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


def _figures(client: Client, view: View, long: str, short: str) -> list[Figure]:
    """In turns, so that whatever else the machine does meets both. Templates and modules are
    loaded by a view of the short session."""
    client.get(f"/sessions/{short}/{view.long.partition('?')[0]}")
    took: tuple[list[float], list[float]] = ([], [])
    weight = 0
    for _ in range(ROUNDS):
        for times, uid, query in zip(took, (long, short), (view.long, view.short), strict=True):
            view.forget()
            with timed() as watch:
                answer = client.get(f"/sessions/{uid}/{query}")
            if answer.status_code != 200:
                raise RuntimeError(f"{query}: {answer.status_code}")
            times.append(watch.seconds)
            weight = max(weight, len(answer.content) if uid == long else 0)
    slow, fast = (statistics.median(times) for times in took)
    beside = "the first screen" if view.is_list else "the same"
    return [
        Figure(
            name=f"{view.name}, time to first byte",
            value=slow / fast,
            against=f"{beside} of a session of {SHORT} events",
            limit=LIMIT_TIMES,
            is_at_least=False,
            detail={f"ms of {LONG:,} events": slow * 1000, f"ms of {SHORT}": fast * 1000},
        ),
        Figure(
            name=f"{view.name}, bytes",
            value=weight,
            against="a page of any session",
            limit=LIMIT_BYTES,
            is_at_least=False,
        ),
    ]
