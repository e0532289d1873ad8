"""Databases and processes of their own: for tests that kill, dump or measure a whole program."""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.models import address_of, founded

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 120


@contextlib.contextmanager
def clone(url: str) -> Iterator[str]:
    """A copy of a database nobody is connected to, its keys included. Dropped at the end whoever
    is still connected."""
    name = f"recount_{secrets.token_hex(6)}"
    with psycopg.connect(address_of(url, "postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {urlsplit(url).path[1:]}")
        try:
            yield address_of(url, name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A home and a database, and the real commands run in them."""

    home: Path
    url: str
    extra: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "RECOUNT_HOME": str(self.home),
            "DATABASE_URL": self.url,
            "PYTHONUNBUFFERED": "1",
            **self.extra,
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "manage.py", *words]

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.command(*words),
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, ok: bool = True) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            self.command(*words),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            timeout=PATIENCE,
        )
        if ok:
            assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
        return done

    def told(self, *words: str) -> dict[str, Any]:
        """What a command says with --json."""
        told: dict[str, Any] = json.loads(self.run(*words, "--json").stdout)
        return told

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement).fetchall()

    def exported(self, folder: Path) -> dict[str, bytes]:
        """Everything, by the path it came from."""
        self.run("export", "--all", "--to", str(folder))
        files = [each for each in folder.rglob("*") if each.is_file()]
        # The first name is the machine.
        return {"/" + "/".join(f.relative_to(folder).parts[1:]): f.read_bytes() for f in files}


@contextlib.contextmanager
def house(home: Path, **extra: str) -> Iterator[House]:
    """A migrated database with keys, a first admin and a workspace."""
    model, keys = founded()
    with clone(model) as address:
        shutil.copytree(keys, home, dirs_exist_ok=True)
        yield House(home=home, url=address, extra=extra)


@contextlib.contextmanager
def house_outside(home: Path, server: str) -> Iterator[House]:
    """The same on a server that has no database to be copied."""
    with clone(address_of(server, "template1")) as address:
        made = House(home=home, url=address, extra={})
        made.run("migrate", "-v0")
        made.run("signin_link")
        yield made
