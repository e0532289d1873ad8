"""The list of sessions at ten times the sessions: the same pages, asked over HTTP's own door."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from statistics import quantiles
from uuid import UUID, uuid4

from django.core.management import call_command
from django.db import connection
from django.test import Client

from benchmarks.measure import Figure, timed
from sessions_app.domain.events import Flag, Kind
from sessions_app.domain.lifecycle import Ending
from sessions_app.models import Event, Membership, Session, SessionKey, User, Workspace
from sessions_app.models.record import Part
from sessions_app.store import facets, facts, keys
from sessions_app.store.facts import Facts
from sessions_app.store.tip import Counts, seconds_of

FEW, MANY = 3_000, 30_000
EVENTS = 24
BATCH = 1_000
ROUNDS = 6
AGENTS = ("claude-code",) * 7 + ("codex",) * 2 + ("pi",)
TOOLS = ("Bash", "Read", "Edit", "Grep", "Glob", "Write", "Task", "WebFetch", "TodoWrite")
MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5-codex", "claude-haiku-4-5")
WORDS = (
    *("fix", "the", "refund", "flow", "add", "test", "for", "retry", "of", "webhook", "when"),
    *("queue", "is", "full", "and", "report"),
)
QUERIES = (
    "",
    "is:error",
    "tool:Bash project:project-7",
    "agent:codex -tool:Task after:-90d",
    "model:claude-* tokens:>50k errors:>0",
    "is:unclean",
    "title:webhook title:queue",
    "machine:machine-3 agent:pi tool:[Grep,Glob]",
    "project:project-119 is:closed cost:>1",
    "is:running",
    "sort:cost",
    "sort:tokens agent:claude-code",
    "sort:duration is:error",
    "tool:NoSuchTool",
)


def run(folder: Path) -> list[Figure]:  # noqa: ARG001 - every bench is called alike
    # Pages name their files by the hashes of the manifest.
    call_command("collectstatic", interactive=False, verbosity=0)
    few, many = (_measured(number) for number in (FEW, MANY))
    return [
        Figure(
            name=f"list page with filters, p95 at {MANY:,} sessions",
            value=many / few,
            against=f"p95 at {FEW:,} sessions",
            limit=2.0,
            is_at_least=False,
            detail={f"ms at {FEW:,}": few * 1000, f"ms at {MANY:,}": many * 1000},
        )
    ]


def _measured(number: int) -> float:
    """The same pages in turn, the first round only to warm up."""
    user, workspace = house(number)
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    seconds = []
    for turn in range(ROUNDS):
        for query in QUERIES:
            with timed() as watch:
                answer = client.get("/", {"q": query}, HTTP_HOST="localhost")
            if answer.status_code != 200:
                raise SystemExit(f"the list answers {answer.status_code} to {query!r}")
            if turn:
                seconds.append(watch.seconds)
    take_down(user, workspace)
    return quantiles(seconds, n=20)[-1]


def house(number: int, *, seed: int = 5) -> tuple[User, Workspace]:
    """A workspace with that many sessions, written as rows: nothing but their list is asked for."""
    keys.prepare()
    workspace = keys.new_workspace(f"List of {number}")
    user = User.objects.create_user(username=f"list-{number}-{uuid4().hex[:8]}")
    Membership.objects.create(user=user, workspace=workspace, role="admin")
    made = _sessions(workspace.id, number, Random(seed))
    while some := list(islice(made, BATCH)):
        _put(workspace.id, some)
    with connection.cursor() as cursor:
        for table in ("session", "event", "facetvalue", "sessionkey"):
            cursor.execute(f"VACUUM ANALYZE sessions_app_{table}")
    return user, workspace


def take_down(user: User, workspace: Workspace) -> None:
    """Event rows hang on nothing: they go first."""
    ids = Session.objects.filter(workspace=workspace).values("id")
    Event.objects.filter(session_id__in=ids).delete()
    workspace.delete()
    user.delete()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    row: Session
    told: Facts
    counts: Counts


def _sessions(workspace_id: UUID, number: int, chance: Random) -> Iterator[_Made]:
    now = datetime.now(UTC)
    for no in range(number):
        ended = now - timedelta(minutes=chance.expovariate(1) * 60 * 24 * 120)
        started = ended - timedelta(seconds=chance.randrange(30, 20_000))
        errors = chance.randrange(6) if chance.random() < 0.3 else 0
        tokens = int(chance.lognormvariate(11, 1.5))
        told = Facts(
            title=" ".join(chance.sample(WORDS, 6)),
            path=f"/logs/{no}.jsonl",
            project=f"project-{int(chance.paretovariate(1)) % 120}",
            machine=f"machine-{chance.randrange(8)}",
            models=tuple(chance.sample(MODELS, chance.randrange(1, 3))),
            tools=tuple(chance.sample(TOOLS, chance.randrange(2, 7))),
            branches=("main",),
            ending=chance.choice((Ending.ANSWERED,) * 9 + (Ending.CALLING,)).value,
            seen=int(Flag.THINKING),
        )
        row = Session(
            uid=uuid4(),
            workspace_id=workspace_id,
            agent=chance.choice(AGENTS),
            format="claude-code",
            part=Part.SUBAGENT if chance.random() < 0.2 else Part.MAIN,
            started_at=started,
            last_at=ended,
            sort_at=ended,
            ingested_at=ended,
            events=EVENTS,
            prompts=chance.randrange(1, 9),
            errors=errors,
            tokens=tokens,
            cost=tokens * 4_000_000 if chance.random() < 0.9 else None,
            calls=chance.randrange(50),
            totals_events=EVENTS,
            raw_bytes=100_000,
            chunks=1,
            head_hash=bytes(32),
            head_mark=bytes(32),
        )
        counts = Counts(events=EVENTS, errors=errors, started_at=started, last_at=ended)
        yield _Made(row=row, told=told, counts=counts)


def _put(workspace_id: UUID, made: list[_Made]) -> None:
    names: list[facets.Name] = []
    for one in made:
        row = one.row
        found = facets.of_session(
            workspace_id,
            agent=row.agent,
            fmt=row.format,
            part=Part(row.part),
            counts=one.counts,
            told=one.told,
            tail_bytes=0,
        )
        row.facets, row.ending = found.terms, one.told.ending
        row.seconds = seconds_of(one.counts)
        names += found.names
    facets.keep(workspace_id, names)
    wrapped = [keys.new_session_key(workspace_id, one.row.uid) for one in made]
    for one, key in zip(made, wrapped, strict=True):
        one.row.sealed_facts = facts.sealed(
            key.key, one.told, workspace_id=workspace_id, uid=one.row.uid
        )
    rows = Session.objects.bulk_create([one.row for one in made])
    SessionKey.objects.bulk_create(
        SessionKey(session_id=row.id, version=key.version, wrapped=key.wrapped)
        for row, key in zip(rows, wrapped, strict=True)
    )
    _put_events([row.id for row in rows])


def _put_events(session_ids: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [EVENTS, int(Kind.ASSISTANT), session_ids])


_EVENTS = """
    INSERT INTO sessions_app_event
        (session_id, seq, chunk, start, length, "at", kind, flags, tool)
    SELECT s.id, n, 0, 0, 1,
           s.started_at + (s.last_at - s.started_at) * (n * n) / (23 * 23), k.kind, 0, 0
    FROM sessions_app_session s, generate_series(0, %s - 1) AS n,
         (SELECT %s::smallint AS kind) k
    WHERE s.id = ANY(%s)
"""
