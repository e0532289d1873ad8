"""`make run` itself, with the real web, worker and beat."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.runtime.house import (
    PROJECT,
    House,
    environment,
    eventually,
    free_port,
    kill,
    pids,
    processes,
)

READY = "Ctrl-C stops everything"
# What to kill, by its command line; of a family the parent has the lowest number.
FAMILIES = {
    "web": r"-m uvicorn",
    "worker": r"celery .*worker",
    "beat": r"celery .*beat",
    "watcher": r"manage\.py watch",
    "postgres": r"bin/postgres -D",
    "keeper": r"runtime\.keeper",
}
WHOLE = {"web": 1, "worker": 3, "beat": 1, "watcher": 1, "postgres": 1, "keeper": 1}


def health(port: int) -> dict[str, object]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
            told: dict[str, object] = json.load(answer)
            return told
    except (urllib.error.URLError, OSError) as error:
        return {"status": str(error)}


def sizes(home: Path) -> dict[str, int]:
    return {name: len(pids(home, pattern)) for name, pattern in FAMILIES.items()}


def recovered(home: Path, port: int, victim: int) -> bool:
    back = victim not in processes(home) and sizes(home) == WHOLE
    return back and health(port)["status"] == "ok"


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def recount(fresh_home: Path, port: int) -> Iterator[House]:
    house = House(fresh_home, ["make", "run", f"PORT={port}"], environment(fresh_home))
    yield house
    house.end()


def again(house: House, port: int, **more: str) -> House:
    return House(house.home, ["make", "run", f"PORT={port}"], environment(house.home, **more))


def interrupt(house: House) -> None:
    """Press Ctrl-C: the terminal sends the signal to make and to everything in its group."""
    os.killpg(house.process.pid, signal.SIGINT)
    house.wait()


def refuse_another_root_key(house: House, port: int) -> None:
    """Start with a wrong root key: the reason is given and nothing is started or written."""
    other = base64.b64encode(bytes(32)).decode()
    refused = again(house, port, RECOUNT_ROOT_KEY=other)
    assert refused.wait() != 0
    refused.end_output()
    assert "the root key is not the one this database was written under" in refused.text
    assert "Recount runs at" not in refused.text
    assert not processes(house.home)


def test_ctrl_c_leaves_nothing_and_a_second_start_is_quick_and_keeps_everything(
    recount: House, fresh_home: Path, port: int
) -> None:
    recount.says(READY, 120)
    assert health(port)["status"] == "ok"
    link = re.search(rf"http://127\.0\.0\.1:{port}/enter/\S+", recount.text)
    assert link
    refused = again(recount, port)
    assert refused.wait() != 0
    assert "Recount already runs in" in refused.text
    refused.end_output()
    interrupt(recount)
    assert not processes(fresh_home), processes(fresh_home)
    kept = {path: path.read_bytes() for path in fresh_home.glob("[ks]e*/*")}
    assert len(kept) >= 3
    refuse_another_root_key(recount, port)
    began = time.monotonic()
    second = again(recount, port)
    try:
        second.says(READY, 60)
        # The promise is ten seconds; a busy machine gets some room.
        assert time.monotonic() - began < 20
        assert {path: path.read_bytes() for path in kept} == kept
        assert second.text.count("/enter/") == 1
    finally:
        second.end()


def test_every_part_comes_back_after_kill_9_and_health_with_it(
    recount: House, fresh_home: Path, port: int
) -> None:
    recount.says(READY, 120)
    whole = eventually(lambda: sizes(fresh_home) == WHOLE)
    assert whole, sizes(fresh_home)
    for name, pattern in FAMILIES.items():
        family = sorted(pids(fresh_home, pattern))
        # Of the worker also a child, whose death only its parent can notice.
        for victim in [family[0]] if name != "worker" else [family[-1], family[0]]:
            kill(victim)
            assert eventually(partial(recovered, fresh_home, port, victim), 40), (
                name,
                sizes(fresh_home),
                recount.text,
            )
    recount.process.send_signal(signal.SIGTERM)
    recount.wait()
    assert eventually(lambda: not processes(fresh_home), 5), processes(fresh_home)


def test_a_command_finds_the_running_database_or_starts_one_for_itself(
    fresh_home: Path, env: dict[str, str]
) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate", "--no-input"],
            cwd=PROJECT,
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert "No migrations to apply" in done.stdout
    assert eventually(lambda: not processes(fresh_home), 10), processes(fresh_home)
