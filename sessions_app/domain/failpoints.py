"""Places where a test lets the process die as if the power had gone: see docs/development.md.

RECOUNT_FAILPOINT names a point, or * for any, and which of its hits is the last thing that
happens: `write.copied:2`. A point that has a source in hand can be told the name of that instead,
and is then hit by it every time: `pipeline.source:poison.jsonl`. Without the variable a hit is one
comparison.
"""

import itertools
import os
import signal

_point, _, _number = os.environ.get("RECOUNT_FAILPOINT", "").partition(":")
_hits = itertools.count(1)


def arm(point: str, number: int | str) -> None:
    """What the variable does, for a process that is already there."""
    global _point, _number, _hits
    _point, _number, _hits = point, str(number), itertools.count(1)


def hit(name: str, path: str = "") -> None:
    """Nobody gets to clean up: no handler runs, nothing is flushed."""
    if not _number or _point not in ("*", name):
        return
    if _number in (str(next(_hits)), path.rpartition("/")[2]):
        os.kill(os.getpid(), signal.SIGKILL)
