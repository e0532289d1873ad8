"""Times in a log are hostile text: read what is plausible, refuse the rest, never raise."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
FIRST_YEAR, LAST_YEAR = EARLIEST.year, LATEST.year
LONGEST_TEXT = 40
# 1e11 seconds is the year 5138; anything larger is counted in milliseconds or finer.
SECONDS_BELOW = 1e11
MILLISECONDS_BELOW = 1e14
MICROSECONDS_BELOW = 1e17
CLOCK_SLACK = timedelta(days=1)
# Where formats that agree on nothing else tend to keep the time of a line.
USUAL_FIELDS = ("timestamp", "created_at", "time", "ts", "at", "createdAt")


def found_in(fields: Mapping[str, object]) -> datetime | None:
    return next(filter(None, (read(fields.get(name)) for name in USUAL_FIELDS)), None)


def read(value: object) -> datetime | None:
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(text: str) -> datetime | None:
    if not 4 <= len(text) <= LONGEST_TEXT:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not UTC:
            is_local = moment.tzinfo is None
            moment = moment.replace(tzinfo=UTC) if is_local else moment.astimezone(UTC)
        # The year tells of nearly all of them, and is compared in a tenth of the time.
        return moment if FIRST_YEAR <= moment.year < LAST_YEAR else _bounded(moment)
    except (ValueError, OverflowError):
        return None


def _from_number(number: float) -> datetime | None:
    try:
        seconds = float(number)
        for limit, scale in (
            (SECONDS_BELOW, 1),
            (MILLISECONDS_BELOW, 1e3),
            (MICROSECONDS_BELOW, 1e6),
            (float("inf"), 1e9),
        ):
            if seconds < limit:
                return _bounded(datetime.fromtimestamp(seconds / scale, tz=UTC))
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _bounded(moment: datetime) -> datetime | None:
    return moment if EARLIEST <= moment <= LATEST else None
