"""Kinds of work for tests: each run leaves a line in the home, so that runs can be counted."""

import os
import signal
import time

from django.conf import settings

from sessions_app.tasks import Run, job_kind


def _tally(run: Run) -> None:
    with (settings.HOME / "tally").open("a") as out:
        out.write(f"{run.claim.job_id}\n")


@job_kind("test.quick", "Done at once")
def quick(run: Run) -> str:
    _tally(run)
    run.report(1, 1)
    return "counted"


@job_kind("test.brief", "Long enough to be met")
def brief(run: Run) -> str:
    _tally(run)
    for step in range(3):
        run.report(step, 3)
        time.sleep(0.1)
    return "counted"


@job_kind("test.long", "Silent for longer than a lease of one second")
def long(run: Run) -> str:
    _tally(run)
    time.sleep(3)
    return "counted"


@job_kind("test.slow", "Takes longer than its first worker lives")
def slow(run: Run) -> str:
    _tally(run)
    for step in range(600 if run.claim.attempts == 1 else 1):
        run.report(step, 600)
        time.sleep(0.1)
    return "survived"


@job_kind("test.poison", "Kills whoever runs it")
def poison(run: Run) -> str:
    _tally(run)
    os.kill(os.getpid(), signal.SIGKILL)
    return "unreachable"
