"""What the database and the disk say when they are full, as one of our own errors."""

import errno

from django.db import OperationalError
from psycopg.errors import DiskFull

from sessions_app.domain.errors import NoRoom

AGAIN_SECONDS = 60


def no_room(error: BaseException) -> NoRoom | None:
    """Nothing where the error is about something else."""
    if isinstance(error, OperationalError) and isinstance(error.__cause__, DiskFull):
        where = "disk of the database"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = "disk for temporary files"
    else:
        return None
    told = f"The {where} is full. What was written is kept: make room, then try again."
    return NoRoom(told, seconds=AGAIN_SECONDS)
