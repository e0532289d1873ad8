"""Homes that are reachable for the database's account and vanish with everything in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.house import (
    PROJECT,
    House,
    environment,
    eventually,
    kill_all,
    processes,
    stand_in,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def ground() -> Iterator[Path]:
    """A folder that other accounts can pass through, unlike pytest's own temporary one."""
    folder = Path(tempfile.mkdtemp(prefix="recount test ", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def fresh_home(ground: Path) -> Iterator[Path]:
    """A home that does not exist yet."""
    path = ground / "home"
    yield path
    clear(path)


@pytest.fixture(scope="session")
def grown_home() -> Iterator[Path]:
    """A home with a database in it, made once to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="recount-grown-", dir="/tmp"))
    folder.chmod(0o755)
    command = [sys.executable, str(Path(__file__).with_name("attacher.py"))]
    env = environment(folder / "home")
    subprocess.run(command, cwd=PROJECT, env=env, stdin=subprocess.DEVNULL, check=True)
    assert eventually(lambda: not processes(folder / "home"), 20)
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def home(fresh_home: Path, grown_home: Path) -> Path:
    """A home of this test's own that has a database."""
    subprocess.run(["cp", "-a", str(grown_home), str(fresh_home)], check=True)
    return fresh_home


def clear(home: Path) -> None:
    """End what a failed test left, and remove a database that lives outside its home."""
    eventually(lambda: not processes(home), 10)
    kill_all(home)
    note = home / "postgres.id"
    if note.exists():
        shutil.rmtree(Path("/var/lib/recount") / note.read_text().strip(), ignore_errors=True)


Start = Callable[..., House]


@pytest.fixture
def start(fresh_home: Path) -> Iterator[Start]:
    """Start stand-in supervisors of this home; all are ended afterwards."""
    houses: list[House] = []

    def begin(**options: object) -> House:
        houses.append(stand_in(fresh_home, **options))  # type: ignore[arg-type]
        return houses[-1]

    yield begin
    for house in houses:
        house.terminate()
    for house in houses:
        house.end()


@pytest.fixture
def env(fresh_home: Path) -> dict[str, str]:
    return environment(fresh_home)
