"""Databases to be copied: to migrate one takes seconds and gives the same every time. Whoever needs
one first makes it, for all workers."""

import contextlib
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

ROOT = Path(__file__).resolve().parent.parent
# Part of the names of this run.
TOKEN = "RECOUNT_TEST_MODELS"


def address_of(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def migrated() -> str:
    """The name of one without a key or a person in it."""
    return _made("migrated", "template1", "migrate", "-v0")


def founded() -> tuple[str, Path]:
    """The address of one with keys, a first admin and a workspace, and the home its keys are in."""
    name = _made("founded", migrated(), "signin_link")
    return address_of(os.environ["DATABASE_URL"], name), _home("founded")


def drop() -> None:
    # A server that was started for the tests may be gone by now.
    url = os.environ["DATABASE_URL"]
    with (
        contextlib.suppress(psycopg.OperationalError),
        psycopg.connect(url, autocommit=True) as server,
    ):
        for kind in ("founded", "migrated"):
            server.execute(f"DROP DATABASE IF EXISTS {_name(kind)} WITH (FORCE)")


def _name(kind: str) -> str:
    return f"recount_{kind}_{os.environ[TOKEN]}"


def _home(kind: str) -> Path:
    return Path(os.environ["RECOUNT_HOME"]) / "models" / kind


def _made(kind: str, template: str, *command: str) -> str:
    name, home = _name(kind), _home(kind)
    home.mkdir(parents=True, exist_ok=True)
    done = home.with_suffix(".done")
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            url = os.environ["DATABASE_URL"]
            with psycopg.connect(url, autocommit=True) as server:
                server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
            env = {**os.environ, "RECOUNT_HOME": str(home), "DATABASE_URL": address_of(url, name)}
            words = [sys.executable, "manage.py", *command]
            subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
            done.touch()
    return name
