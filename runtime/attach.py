"""Gives a process of this home its database: finds the running one, or starts it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from runtime import keeper, postgres
from runtime.errors import Trouble
from runtime.home import Home, locate, prepare, read_text
from runtime.locks import Lock, taken

PATIENCE = 600.0
T = TypeVar("T")
# Commands of Django that never look into the database; every other one gets it.
WITHOUT_DATABASE = frozenset(
    {
        "check",
        "collectstatic",
        "compilemessages",
        "diffsettings",
        "findstatic",
        "help",
        "makemessages",
        "makemigrations",
        "squashmigrations",
        "startapp",
        "startproject",
        "test",
        "version",
    }
)

_held: dict[str, Lock] = {}
_spawned: list[subprocess.Popen[bytes]] = []


class GaveUp(Trouble):
    """The caller lost interest while waiting."""


def wanted(arguments: Sequence[str]) -> bool:
    """Say whether a manage.py command line needs the database."""
    if not arguments or {"-h", "--help", "--version"} & set(arguments):
        return False
    if "--database" in arguments or any(each.startswith("--database=") for each in arguments):
        return True
    return arguments[0] not in WITHOUT_DATABASE


def ensure(home: Home | None = None) -> str:
    """Put a working DATABASE_URL into the environment and keep it working while this process lives.

    An address that is set already is left alone: it is a server that somebody else looks after.
    """
    given = os.environ.get("DATABASE_URL", "").strip()
    if given:
        return given
    home = home or locate()
    prepare(home)
    os.environ["RECOUNT_HOME"] = str(home.root)
    os.environ["DATABASE_URL"] = hold(home)
    return os.environ["DATABASE_URL"]


def hold(home: Home, give_up: Callable[[], bool] = lambda: False) -> str:
    """Become a user of this home's database and return its address once it answers."""
    key = str(home.root)
    if key not in _held:
        users = Lock(home.run / "users.lock")
        # Waits for a keeper that is just stopping the server for want of users.
        _wait(users.try_share, give_up)
        _held[key] = users
    # One at a time: whoever comes second finds the server of the first.
    with Lock(home.run / "start.lock") as start:
        _wait(start.try_take, give_up)
        return _find_or_start(home, give_up)


def let_go(home: Home) -> None:
    """Stop being a user."""
    lock = _held.pop(str(home.root), None)
    if lock:
        lock.release()


def depart(home: Home, *, seconds: float = 60.0) -> bool:
    """Stop being a user and wait for the server to go too; False if others still use it."""
    let_go(home)
    _hurry(home)
    deadline = time.monotonic() + seconds
    while keeper_runs(home) and time.monotonic() < deadline:
        if _used_by_others(home):
            return False
        time.sleep(0.05)
    return not keeper_runs(home)


def keeper_runs(home: Home) -> bool:
    return taken(home.run / "keeper.lock")


def address(home: Home) -> str | None:
    """Return where the server says it listens; it may have died since it said so."""
    state, password = read_state(home), read_text(home.password_file)
    if not state or not password:
        return None
    return postgres.dsn(Path(str(state["socket"])), password)


def read_state(home: Home) -> dict[str, object] | None:
    text = read_text(home.postgres_state)
    return json.loads(text) if text else None


def _find_or_start(home: Home, give_up: Callable[[], bool]) -> str:
    process: subprocess.Popen[bytes] | None = None

    def found() -> str | None:
        nonlocal process
        if keeper_runs(home):
            told = address(home)
            return told if told and postgres.answers(told) else None
        if process and process.poll():
            raise Trouble(_reason(home))
        if process is None or process.poll() is not None:
            # A killed keeper's server may still answer for a moment; its address is void.
            home.postgres_state.unlink(missing_ok=True)
            process = keeper.spawn(home)
            # Kept, because a process object that goes away complains about a living process.
            _spawned[:] = [*(each for each in _spawned if each.poll() is None), process]
        return None

    return _wait(found, give_up)


def _wait(question: Callable[[], T | None], give_up: Callable[[], bool]) -> T:
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        if give_up():
            raise GaveUp("Stopped while waiting for the embedded Postgres.")
        if time.monotonic() > deadline:
            raise Trouble(f"The embedded Postgres did not answer in {PATIENCE:g} s.")
        time.sleep(0.03)
    return answer


def _reason(home: Home) -> str:
    told = read_text(home.run / "keeper.trouble")
    return told or "The embedded Postgres could not be started:\n" + "\n".join(
        keeper.last_lines(home.log / "keeper.log")
    )


def _hurry(home: Home) -> None:
    state = read_state(home)
    if state and keeper_runs(home):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(int(str(state["keeper"])), signal.SIGUSR1)


def _used_by_others(home: Home) -> bool:
    # A keeper that is leaving has removed its state before anything else.
    with Lock(home.run / "users.lock") as users:
        if users.try_take() or not home.postgres_state.exists():
            return False
    time.sleep(0.2)
    return home.postgres_state.exists()
