"""Search over HTTP, beside agentsview on the same files, and at ten times the corpus.

Forty fixed questions: words of falling frequency, two words, phrases and words nobody wrote. Both
servers are asked by one client on one kept connection, in turns, for the same number of sessions.
"""

import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from benchmarks import beside, corpus, peers, pools
from benchmarks.client import Link, connected
from benchmarks.ingest import empty_house
from benchmarks.measure import Figure, timed
from runtime import parts
from sessions_app.models import Membership

PAGE = 10
EACH = 8
ROUNDS = 5
LONGEST_ANSWER = 500
PATIENCE_SECONDS = 600
Ask = Callable[..., bytes]


def run(folder: Path, *, sizes: list[int], with_peers: bool) -> list[Figure]:
    questions = _questions()
    asked = [question for some in questions.values() for question in some]
    small, *larger = sorted(sizes)
    figures: list[Figure] = []
    place = folder / f"search-{small}"
    made = corpus.write(place, megabytes=small)
    with ExitStack() as stack:
        ours = stack.enter_context(_ours(place))
        both = {"recount": ours}
        if with_peers and (theirs := stack.enter_context(peers.serving(place))) is not None:
            both["agentsview"] = _page_of_theirs(theirs)
            _told_apart(ours, theirs, questions, place)
        took = _times(both, asked)
        for name, times in took.items():
            _tell(name, made.bytes, questions, times)
        figures += _beside(took)
    corpus.remove(place)
    for megabytes in larger:
        place = folder / f"search-{megabytes}"
        made = corpus.write(place, megabytes=megabytes)
        with _ours(place) as ours:
            times = _times({"recount": ours}, asked)["recount"]
            _tell("recount", made.bytes, questions, times)
            figures += _grown(took["recount"], times, f"{megabytes} MB", f"{small} MB")
        corpus.remove(place)
    return figures


# The questions --------------------------------------------------------------------------------


def _questions() -> dict[str, list[str]]:
    """The same forty in every run. Prose is drawn from a stock of sentences, so what stands in one
    of them only is rare, and what stands side by side in one is a phrase that occurs."""
    rng = Random(40)
    stock = [sentence.decode().rstrip(".").split() for sentence in pools.sentences()]
    number: dict[str, int] = {}
    for sentence in stock:
        for word in set(map(str.lower, sentence)):
            number[word] = number.get(word, 0) + 1
    plain = [[word for word in sentence if word.isalpha()] for sentence in stock]
    seldom = [word for words in plain for word in words if number[word.lower()] == 1]
    often = sorted((word for word in number if len(word) > 2), key=lambda word: -number[word])
    pairs = [(words[0], words[-1]) for words in plain if len(words) > 4]
    runs = [sentence[1:4] for sentence in stock if all(map(str.isalpha, sentence[1:4]))]
    return {
        "rare": rng.sample(seldom, EACH),
        "common": often[:EACH],
        "two words": [" ".join(pair) for pair in rng.sample(pairs, EACH)],
        "phrase": [f'"{" ".join(words)}"' for words in rng.sample(runs, EACH)],
        "no hit": [f"nowhere{rng.getrandbits(40):x}" for _ in range(EACH)],
    }


# The servers ----------------------------------------------------------------------------------


@contextmanager
def _ours(files: Path) -> Iterator[Ask]:
    """The web part of `make run`, on a house that holds these files only."""
    workspace = _house_of(files)
    reader = get_user_model().objects.create_user(username=f"reader-{workspace}")
    Membership.objects.create(user=reader, workspace_id=workspace, role="viewer")
    client = Client()
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    port = peers.free_port()
    web = parts.web(sys.executable, host="127.0.0.1", port=port)
    environment = {
        **os.environ,
        **web.environment,
        "PORT": str(settings.PORT),
        "RECOUNT_ALLOWED_HOSTS": "127.0.0.1",
    }
    process = subprocess.Popen(web.command, cwd=settings.BASE_DIR, env=environment)
    try:
        _wait_for_memory(port, cookie)
        yield _asking(port, "/api/v1/search", {"size": PAGE}, {"Cookie": cookie})
    finally:
        process.terminate()
        process.wait()


def _wait_for_memory(port: int, cookie: str) -> None:
    """A process that was just started asks the database until it has taken all words down."""
    with timed() as watch:
        connected(port).close()
        link = HTTPConnection("127.0.0.1", port)
        for _ in range(PATIENCE_SECONDS):
            link.request("GET", "/api/v1/search?q=nowhere", headers={"Cookie": cookie})
            answer = link.getresponse()
            answer.read()
            if "memory" in answer.headers.get("Server-Timing", ""):
                break
            time.sleep(1)
        else:
            raise SystemExit("the words were not held in memory in time")
    print(f"where words stand is in memory after {watch.seconds:.0f} s", flush=True)


def _house_of(files: Path) -> UUID:
    workspace = empty_house()
    ready = multiprocessing.get_context("spawn")
    gate = ready.Barrier(3)
    shares = [
        ready.Process(target=beside.ingest, args=(str(files), workspace, (n, 2), gate))
        for n in range(2)
    ]
    for share in shares:
        share.start()
    gate.wait(timeout=120)
    for share in shares:
        share.join()
    if any(share.exitcode for share in shares):
        raise SystemExit("the corpus did not go in whole")
    with connection.cursor() as cursor:
        for table in ("chunk", "event", "session"):
            cursor.execute(f"VACUUM ANALYZE sessions_app_{table}")
    return workspace


def _asking(port: int, path: str, more: dict[str, int], headers: dict[str, str]) -> Ask:
    kept: list[Link] = []

    def ask(question: str, **also: object) -> bytes:
        if not kept:
            kept.append(Link(port, headers))
        query = urlencode({"q": question, **more, **also})
        status, body = kept[0].get(f"{path}?{query}")
        if status != 200:
            raise SystemExit(f"{path} answers {status} to {question!r}: {body[:300]!r}")
        return body

    return ask


def _page_of_theirs(port: int) -> Ask:
    return _asking(port, "/api/v1/search", {"limit": PAGE}, {})


# Times ----------------------------------------------------------------------------------------


def _times(servers: dict[str, Ask], questions: list[str]) -> dict[str, list[float]]:
    """The best of several rounds for each question; before them one to warm up, for all alike."""
    best = {name: [float("inf")] * len(questions) for name in servers}
    for turn in range(ROUNDS + 1):
        for number, question in enumerate(questions):
            for name, ask in servers.items():
                with timed() as watch:
                    ask(question)
                if turn:
                    best[name][number] = min(best[name][number], watch.seconds)
    return best


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _beside(took: dict[str, list[float]]) -> list[Figure]:
    if "agentsview" not in took:
        return []
    ours, theirs = took["recount"], took["agentsview"]
    return [
        Figure(
            name=f"search, {name} of 40 questions",
            value=of(theirs) / of(ours),
            against="agentsview on the same files",
            limit=limit,
            is_at_least=True,
            detail={"ms": of(ours) * 1000, "agentsview ms": of(theirs) * 1000},
        )
        for name, of, limit in (("median", statistics.median, 2), ("p95", _p95, 5))
    ]


def _grown(small: list[float], large: list[float], name: str, against: str) -> list[Figure]:
    return [
        Figure(
            name=f"search, {what} at {name}",
            value=of(large) / of(small),
            against=f"the same at {against}",
            limit=2,
            is_at_least=False,
            detail={"ms": of(large) * 1000},
        )
        for what, of in (("median", statistics.median), ("p95", _p95))
    ]


def _tell(name: str, size: int, questions: dict[str, list[str]], times: list[float]) -> None:
    each = iter(times)
    parts_of = {
        kind: statistics.median(next(each) for _ in some) * 1000 for kind, some in questions.items()
    }
    told = ", ".join(f"{kind} {value:.1f}" for kind, value in parts_of.items())
    print(f"{name}, {size / 1e6:.0f} MB, median ms: {told}", flush=True)


# The same sessions ----------------------------------------------------------------------------


def _told_apart(ours: Ask, theirs: int, questions: dict[str, list[str]], files: Path) -> None:
    """For exact words both should find the same sessions; where they differ, which way, and why."""
    ask = _asking(theirs, "/api/v1/search", {"limit": LONGEST_ANSWER}, {})
    places = {path.stem: path for path in files.rglob("*.jsonl")}
    same = more = less = 0
    reasons: Counter[str] = Counter()
    for question in (*questions["rare"], *questions["two words"], *questions["no hit"]):
        found = _native(ours, question)
        known = {each["session_id"] for each in json.loads(ask(question))["results"]}
        same += found.keys() == known
        more += bool(found.keys() - known)
        less += bool(known - found.keys())
        reasons.update(
            f"only here, in {where}" for one in found.keys() - known for where in found[one]
        )
        reasons.update(
            f"only there, {_why_not_here(places[one], question)}" for one in known - found.keys()
        )
    print(f"same sessions: {same}; more here: {more}; more there: {less}", flush=True)
    for reason, number in reasons.most_common():
        print(f"  {number} sessions {reason}", flush=True)


def _native(ours: Ask, question: str) -> dict[str, set[str]]:
    """Of every page, by the ids the agent gave its sessions, which name its files: what of an event
    it stands in."""
    found: dict[str, set[str]] = {}
    older: str | None = ""
    while older is not None:
        answer = json.loads(ours(question, size=50, after=older))
        for each in answer["found"]:
            name = Path(each["session"]["source_path"]).stem
            found.setdefault(name, set()).update(hit["where"] for hit in each["hits"])
        older = answer["older"]
    return found


def _why_not_here(log: Path, question: str) -> str:
    """An answer of the provider is written as several lines. Here each is an event of its own."""
    words = [
        re.compile(rb"(?<![a-z0-9])%s(?![a-z0-9])" % re.escape(word))
        for word in question.lower().encode().split()
    ]
    of_answers: dict[bytes, bytes] = {}
    for line in log.read_bytes().lower().splitlines():
        if all(word.search(line) for word in words):
            return "in what a tool printed" if b'"tool_result"' in line else "in one line"
        if named := _ANSWER.search(line):
            of_answers[named[1]] = of_answers.get(named[1], b"") + line
    together = any(all(word.search(text) for word in words) for text in of_answers.values())
    return "in several events of one answer" if together else "in several events"


_ANSWER = re.compile(rb'"id":"(msg_[^"]+)"')
