"""The embedded Postgres comes with its first user and goes with its last, however they end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime import attach
from tests.runtime.house import PROJECT, eventually, kill, kill_all, pids, processes

ATTACHER = Path(__file__).with_name("attacher.py")
KEEPER = r"runtime\.keeper"
POSTMASTER = r"bin/postgres -D"


class User:
    """A process that uses the database of a home."""

    def __init__(self, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ATTACHER)],
            cwd=PROJECT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def ask(self, statement: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()
        return self.line()

    def leave(self) -> None:
        self.process.communicate(timeout=30)


Join = Callable[[], User]


@pytest.fixture
def join(env: dict[str, str]) -> Iterator[Join]:
    users: list[User] = []

    def enter() -> User:
        users.append(User(env))
        return users[-1]

    yield enter
    for user in users:
        user.process.kill()
        if user.process.poll() is None:
            user.process.wait()
        for pipe in (user.process.stdin, user.process.stdout):
            if pipe and not pipe.closed:
                pipe.close()


def test_users_that_come_at_once_share_one_server_and_the_last_one_ends_it(
    home: Path, join: Join
) -> None:
    users = [join() for _ in range(4)]
    addresses = {user.line() for user in users}
    assert len(addresses) == 1
    assert addresses.pop().startswith("postgresql://recount:")
    assert len(pids(home, KEEPER)) == 1
    assert len(pids(home, POSTMASTER)) == 1
    for user in users[1:]:
        user.leave()
    assert users[0].ask("SELECT 1") == "[(1,)]"
    users[0].leave()
    assert eventually(lambda: not processes(home), 10), processes(home)


def test_data_and_password_outlive_the_server(home: Path, join: Join) -> None:
    first = join()
    address = first.line()
    assert first.ask("CREATE TABLE kept AS SELECT 7 AS number") == "done"
    first.leave()
    assert eventually(lambda: not processes(home), 10)
    second = join()
    assert second.line() == address
    assert second.ask("SELECT number FROM kept") == "[(7,)]"


def test_a_newcomer_during_the_shutdown_gets_a_server(home: Path, join: Join) -> None:
    for _ in range(2):
        user = join()
        user.line()
        user.leave()
        assert eventually(lambda: not (home / "run" / "postgres.json").exists(), 10)
        late = join()
        late.line()
        assert late.ask("SELECT 1") == "[(1,)]"
        late.leave()


def test_a_killed_user_counts_as_gone(home: Path, join: Join) -> None:
    user = join()
    user.line()
    user.process.kill()
    assert eventually(lambda: not processes(home), 10), processes(home)


def test_a_killed_server_is_started_again_at_the_same_address(home: Path, join: Join) -> None:
    user = join()
    user.line()
    (before,) = pids(home, POSTMASTER)
    kill(before)
    assert eventually(lambda: pids(home, POSTMASTER) not in ([], [before]))
    assert eventually(lambda: (home / "run" / "postgres.json").exists())
    assert user.ask("SELECT 1") == "[(1,)]"
    assert "killed by SIGKILL" in (home / "log" / "postgres.log").read_text()


def test_a_killed_keeper_takes_its_server_along_and_the_next_user_starts_anew(
    home: Path, join: Join
) -> None:
    join().line()
    for pid in pids(home, KEEPER):
        kill(pid)
    late = join()
    late.line()
    assert late.ask("SELECT 1") == "[(1,)]"
    assert len(pids(home, KEEPER)) == 1
    assert eventually(lambda: len(pids(home, POSTMASTER)) == 1)


def test_a_lost_password_is_replaced(home: Path, join: Join) -> None:
    user = join()
    address = user.line()
    user.leave()
    assert eventually(lambda: not processes(home), 10)
    (home / "secrets" / "postgres.password").unlink()
    late = join()
    assert late.line() not in {"", address}
    assert late.ask("SELECT 1") == "[(1,)]"


def test_a_crash_while_the_database_is_made_leaves_no_half_of_it(
    fresh_home: Path, join: Join
) -> None:
    join()
    assert eventually(lambda: list(fresh_home.glob(".preparing-*/data/global")))
    kill_all(fresh_home)
    assert not (fresh_home / "postgres").exists()
    late = join()
    assert late.line().startswith("postgresql://")
    assert late.ask("SELECT 1") == "[(1,)]"
    assert not list(fresh_home.glob(".preparing-*"))


def test_an_address_that_is_set_is_left_alone(fresh_home: Path, env: dict[str, str]) -> None:
    given = {**env, "DATABASE_URL": "postgresql://elsewhere/name"}
    done = subprocess.run(
        [sys.executable, str(ATTACHER)],
        cwd=PROJECT,
        env=given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "postgresql://elsewhere/name"
    assert not fresh_home.exists()


def test_a_reason_is_given_when_the_server_cannot_start(
    fresh_home: Path, env: dict[str, str]
) -> None:
    fresh_home.mkdir()
    (fresh_home / "postgres").write_text("in the way")
    done = subprocess.run(
        [sys.executable, str(ATTACHER)],
        cwd=PROJECT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"{fresh_home / 'postgres'} cannot be created" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", False),
        ("help", False),
        ("migrate --help", False),
        ("check", False),
        ("check --database default", True),
        ("makemigrations --check", False),
        ("collectstatic --no-input", False),
        ("migrate", True),
        ("ingest file.jsonl --json", True),
    ],
)
def test_only_commands_that_need_the_database_start_it(line: str, wanted: bool) -> None:
    assert attach.wanted(line.split()) is wanted
