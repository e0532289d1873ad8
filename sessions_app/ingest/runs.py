"""Notes of runs: one that dies leaves its own behind, and the next one reads with care."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError

from sessions_app.store import jobs


@contextmanager
def noted() -> Iterator[bool]:
    """Did an earlier run of this machine die? This one leaves a note for as long as it lives."""
    here = f"ingest {os.uname().nodename} "
    mine = f"{here}{os.getpid()}"
    dead = [name for name in jobs.pulses(here) if not _lives(int(name.removeprefix(here)))]
    jobs.forget(dead)
    jobs.beat(mine)
    try:
        yield bool(dead)
    finally:
        with suppress(DatabaseError):
            jobs.forget([mine])


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A note of this very process is one of another that had its number.
    return pid != os.getpid()
