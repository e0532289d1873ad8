"""The supervisor with small parts: starts, restarts, refusals, and nothing left at the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import urllib.request
from functools import partial
from pathlib import Path

import psycopg

from runtime import attach
from runtime.home import Home
from tests.runtime.conftest import Start
from tests.runtime.house import eventually, free_port, kill, pids, processes

READY = "Ctrl-C stops everything"


def test_a_new_home_comes_up_with_one_sign_in_link_and_stops_without_a_trace(
    fresh_home: Path, start: Start
) -> None:
    port = free_port()
    house = start(port=port)
    house.says(READY)
    assert f"recount  | Recount runs at http://127.0.0.1:{port}" in house.text
    assert house.text.count("/enter/once") == 1
    assert "setup    | one step" in house.text
    assert "web      | listening" in house.text
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
        assert answer.status == 200
    assert house.stop(signal.SIGINT) == 0
    assert not processes(fresh_home)
    assert "\x1b[" not in house.text


def test_everything_in_the_home_is_private_and_no_log_holds_the_link(
    fresh_home: Path, start: Start
) -> None:
    house = start()
    house.says(READY)
    assert house.stop() == 0
    for path in [
        *fresh_home.glob("log/*"),
        *fresh_home.glob("run/*"),
        *fresh_home.glob("secrets/*"),
    ]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for name in (
        "keys",
        "secrets",
        "broker",
        "run",
        "log",
        "static",
        "staging",
        "postgres",
        "socket",
    ):
        assert stat.S_IMODE((fresh_home / name).stat().st_mode) == 0o700, name
    assert stat.S_IMODE(fresh_home.stat().st_mode) in {0o700, 0o711}
    logs = "".join(path.read_text() for path in fresh_home.glob("log/*"))
    assert "/enter/once" not in logs
    assert (fresh_home / "secrets" / "postgres.password").read_text() not in logs


def test_a_stop_by_sigterm_leaves_no_process_and_a_second_start_keeps_the_data(
    home: Path, start: Start
) -> None:
    house = start()
    house.says(READY)
    with psycopg.connect(attach.address(Home(root=home)) or "") as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS number")
    assert house.stop(signal.SIGTERM) == 0
    assert not processes(home)
    again = start()
    again.says(READY)
    with psycopg.connect(attach.address(Home(root=home)) or "") as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (42,)


def test_a_stop_during_the_start_leaves_no_process(fresh_home: Path, start: Start) -> None:
    house = start()
    house.says("Starting Postgres")
    assert house.stop(signal.SIGTERM) == 0
    assert eventually(lambda: not processes(fresh_home), 15), processes(fresh_home)


def test_a_second_start_says_who_is_running(home: Path, start: Start) -> None:
    port = free_port()
    first = start(port=port)
    first.says(READY)
    second = start()
    assert second.wait() == 1
    about = json.loads((home / "run" / "supervisor.json").read_text())
    assert about["pid"] == first.process.pid
    assert f"pid {first.process.pid}, since {about['started']}" in second.text
    assert f"http://127.0.0.1:{port}" in second.text
    assert first.process.poll() is None


def test_a_taken_port_is_named_with_a_free_one_beside_it(home: Path, start: Start) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        house = start(port=port)
        assert house.wait() == 1
    assert f"Port {port} is taken" in house.text
    suggested = int(house.text.rsplit("PORT=", 1)[1].split()[0])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", suggested))
    assert not processes(home)


def test_a_killed_part_is_reported_and_started_again(home: Path, start: Start) -> None:
    house = start()
    house.says(READY)
    for name in ("web", "worker", "beat"):
        before = pids(home, rf"stand_in\.py {name}")
        kill(min(before))
        house.says(f"{name} ended (killed by SIGKILL); starting it again")
        house.says(f"{name} runs again")
        # Not one process of the old group works on beside the new one.
        after = pids(home, rf"stand_in\.py {name}")
        assert not set(before) & set(after)
        assert eventually(partial(_count_is, home, name, len(before)))
    assert house.stop() == 0
    assert not processes(home)


def test_a_killed_server_or_keeper_is_reported_and_started_again(home: Path, start: Start) -> None:
    house = start()
    house.says(READY)
    address = attach.address(Home(root=home)) or ""
    for pattern, words in (
        ("bin/postgres -D", "postgres ended (killed by SIGKILL)"),
        (r"runtime\.keeper", "the keeper of Postgres is gone"),
    ):
        before = pids(home, pattern)
        kill(min(before))
        house.says(words)
        assert eventually(partial(_is_replaced, home, pattern, before))
        assert eventually(lambda: attach.address(Home(root=home)) == address)
        assert eventually(lambda: _answers(address))
    assert house.stop() == 0
    assert not processes(home)


def _count_is(home: Path, name: str, count: int) -> bool:
    return len(pids(home, rf"stand_in\.py {name}")) == count


def _is_replaced(home: Path, pattern: str, before: list[int]) -> bool:
    now = pids(home, pattern)
    return bool(now) and not set(now) & set(before)


def _answers(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_killed_supervisor_takes_everything_along(home: Path, start: Start) -> None:
    house = start()
    house.says(READY)
    orphan = max(pids(home, r"stand_in\.py worker"))
    house.process.kill()
    house.wait()
    # The worker's child ignores its parent's death on purpose; only the next start can end it.
    assert eventually(lambda: set(processes(home)) <= {orphan}, 10), processes(home)
    again = start()
    again.says("Ending what an earlier run left behind")
    again.says(READY)
    assert orphan not in processes(home)


def test_a_part_that_keeps_dying_ends_the_run_with_its_last_lines(home: Path, start: Start) -> None:
    house = start(STAND_IN_BROKEN="beat")
    assert house.wait() == 1
    assert "beat ended 5 times in a row (exit code 3); giving up" in house.text
    assert "recount  | the reason of the failure" in house.text
    assert not processes(home)


def test_a_failing_step_stops_the_start_before_any_part_runs(home: Path, start: Start) -> None:
    house = start(STAND_IN_BROKEN="step")
    assert house.wait() == 1
    assert "setup    | one step" in house.text
    assert "step` ended with exit code 4" in house.text
    assert "web      |" not in house.text
    assert not processes(home)


def test_an_outside_database_is_used_and_none_is_started(fresh_home: Path, start: Start) -> None:
    house = start(DATABASE_URL="postgresql://elsewhere/name")
    house.says(READY)
    assert not pids(fresh_home, "postgres|keeper")
    assert not (fresh_home / "postgres").exists()
    web = min(pids(fresh_home, r"stand_in\.py web"))
    assert b"DATABASE_URL=postgresql://elsewhere/name" in Path(f"/proc/{web}/environ").read_bytes()


def test_a_second_signal_ends_parts_that_take_their_time(home: Path, start: Start) -> None:
    house = start()
    house.says(READY)
    for pid in pids(home, r"stand_in\.py web"):
        os.kill(pid, signal.SIGSTOP)
    house.process.send_signal(signal.SIGINT)
    house.says("Stopping")
    house.process.send_signal(signal.SIGINT)
    assert house.wait() == 0
    assert not processes(home)
