"""A failpoint ends its process at the named hit, and is nothing otherwise."""

import os
import signal
import subprocess
import sys

import pytest

TWICE = "from sessions_app.domain.failpoints import hit; hit('a'); hit('b'); hit('a'); print('end')"


def run(**more: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", TWICE], env={**os.environ, **more}, capture_output=True
    )


@pytest.mark.parametrize("armed", ["", "a", "a:", "a:0", "a:3", "b:2", "*:4", "c:1", ":1", "a:x"])
def test_a_process_that_is_not_meant_runs_to_its_end(armed: str) -> None:
    assert run(RECOUNT_FAILPOINT=armed).stdout == b"end\n"


@pytest.mark.parametrize("armed", ["a:1", "a:2", "b:1", "*:1", "*:3"])
def test_the_named_hit_is_the_last_thing_that_happens(armed: str) -> None:
    done = run(RECOUNT_FAILPOINT=armed)

    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
