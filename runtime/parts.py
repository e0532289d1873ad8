"""The commands of Recount's processes: the one list that `make run` and docker-compose share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MANAGE = "manage.py"
# Checks the root key before it writes anything: a wrong key must stop the start.
PREPARE = (MANAGE, "prepare")
STAGES = (((*PREPARE, "--static"),),)
LINK = (MANAGE, "signin_link", "--json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A process that has to run all the time."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    # What the kernel sends it when the supervisor is gone without a word.
    orphaned: str = "SIGTERM"
    # How long it may take to finish what it is doing.
    patience: float = 10.0


def web(python: str, *, host: str, port: int) -> Part:
    # No access log: its lines would carry search words and sign-in links.
    return Part(
        name="web",
        command=(
            *(python, "-m", "uvicorn", "config.asgi:application"),
            *("--host", host, "--port", str(port)),
            *("--lifespan", "off", "--no-access-log", "--no-server-header"),
            *("--log-level", "warning", "--timeout-graceful-shutdown", "5"),
        ),
        environment={
            "RECOUNT_DATABASE_POOL": "1",
            # Every request has a thread: what glibc keeps for each would stay after a burst.
            "MALLOC_ARENA_MAX": "2",
            "MALLOC_MMAP_THRESHOLD_": "131072",
        },
    )


def worker(python: str) -> Part:
    return Part(
        name="worker",
        command=(
            *(python, "-m", "celery", "-q", "-A", "config", "worker"),
            *("--pool", "prefork", "--concurrency", "2"),
            *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
        ),
        # A warm shutdown would wait for tasks whose database is going away as well.
        orphaned="SIGQUIT",
    )


def beat(python: str) -> Part:
    return Part(
        name="beat",
        command=(
            *(python, "-m", "celery", "-q", "-A", "config", "beat"),
            *("--pidfile=", "--loglevel", "INFO"),
        ),
    )


def watcher(python: str) -> Part:
    return Part(name="watcher", command=(python, MANAGE, "watch"))


def every(python: str, *, host: str, port: int) -> tuple[Part, ...]:
    return (web(python, host=host, port=port), worker(python), beat(python), watcher(python))
