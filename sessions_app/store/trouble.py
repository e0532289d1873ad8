"""What the database and the disk say when they are full or away, as one of our own errors."""

import errno

from django.db import InterfaceError, OperationalError
from psycopg import Error
from psycopg.errors import DiskFull

from sessions_app.domain.errors import Away, Later, NoRoom

# A quota and a bound on the size of a file leave no room either.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
AGAIN_SECONDS = 60
BACK_SECONDS = 5
# Connections that broke, servers that stop or start, and one that takes no more connections.
# Everything else an operation can fail of is not mended by waiting.
AWAY_STATES = ("08", "57P", "53300")
AWAY = (
    "The database does not answer; it may be starting again. Try again in a few seconds: what was "
    "stored is kept, and nothing is stored twice. If it stays so, /healthz says what is unwell."
)


def told(error: BaseException) -> Later | None:
    """Nothing where the error is about something else."""
    return no_room(error) or away(error)


def no_room(error: BaseException) -> NoRoom | None:
    if isinstance(error, OperationalError) and isinstance(error.__cause__, DiskFull):
        where = "disk of the database"
    elif isinstance(error, OSError) and error.errno in FULL:
        where = "disk for temporary files"
    else:
        return None
    said = f"The {where} is full. What was written is kept: make room, then try again."
    return NoRoom(said, seconds=AGAIN_SECONDS)


def away(error: BaseException) -> Away | None:
    return Away(AWAY, seconds=BACK_SECONDS) if _is_away(error) else None


def _is_away(error: BaseException) -> bool:
    """A server that said nothing at all gave no state."""
    if isinstance(error, InterfaceError):
        return True
    cause = error.__cause__
    if not isinstance(error, OperationalError) or not isinstance(cause, Error):
        return False
    return cause.sqlstate is None or cause.sqlstate.startswith(AWAY_STATES)
