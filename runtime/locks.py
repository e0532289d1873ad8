"""File locks that the kernel frees when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


class Lock:
    """An open lock file; the lock is held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def share(self) -> None:
        """Wait until nobody holds the lock alone."""
        fcntl.flock(self.descriptor, fcntl.LOCK_SH)

    def take(self) -> None:
        """Wait until nobody else holds the lock at all."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def try_share(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def try_take(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_take_for(self, seconds: float) -> bool:
        """Keep trying: somebody who only looks holds the lock for an instant."""
        deadline = time.monotonic() + seconds
        while not self.try_take():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def loosen(self) -> None:
        """Give the lock back and keep the file open."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def release(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def taken(path: Path) -> bool:
    """Say whether some process holds this lock alone."""
    with Lock(path) as lock:
        return not lock.try_share()
