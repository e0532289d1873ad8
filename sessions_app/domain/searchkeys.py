"""The keys a query knows, what their values must look like, and how values are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial


class Kind(Enum):
    """What the values of a key must look like."""

    CHOICE = "choice"
    NAME = "name"
    NUMBER = "number"
    DOLLARS = "dollars"
    SECONDS = "seconds"
    MOMENT = "moment"
    SPAN = "span"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    kind: Kind
    means: str
    example: str
    choices: tuple[str, ...] = ()
    # It looks for an event, and so counts as text when it stands alone.
    is_about_events: bool = False


SORTS = ("newest", "oldest", "tokens", "cost", "errors", "duration", "events", "best")

KEYS: Mapping[str, Key] = {
    "is": Key(
        kind=Kind.CHOICE,
        means="how a session stands",
        example="is:running",
        choices=(
            *("running", "waiting", "idle", "stale", "unclean", "closed", "archived", "error"),
            *("subagent", "forked", "incomplete", "held", "pinned"),
        ),
    ),
    "has": Key(
        kind=Kind.CHOICE,
        means="what a session contains",
        example="has:error",
        choices=("error", "picture", "thinking", "compaction", "unreadable", "cost"),
    ),
    "project": Key(kind=Kind.NAME, means="project or folder", example="project:api"),
    "agent": Key(kind=Kind.NAME, means="agent that wrote the log", example="agent:claude-code"),
    "machine": Key(kind=Kind.NAME, means="machine it ran on", example="machine:build-01"),
    "user": Key(kind=Kind.NAME, means="account whose home folder it worked in", example="user:ada"),
    "model": Key(kind=Kind.NAME, means="model that answered", example="model:claude-*"),
    "branch": Key(kind=Kind.NAME, means="branch in version control", example="branch:main"),
    "tool": Key(kind=Kind.NAME, means="tool that was called", example="tool:Bash"),
    "format": Key(kind=Kind.NAME, means="format of the log", example="format:claude_code"),
    "title": Key(kind=Kind.NAME, means="words of the title", example="title:refund"),
    "after": Key(kind=Kind.MOMENT, means="last active then or later", example="after:-7d"),
    "before": Key(kind=Kind.MOMENT, means="last active earlier", example="before:2026-10-01"),
    "during": Key(
        kind=Kind.SPAN,
        means="active at any time between two times, or on a day",
        example="during:2026-10-01T09:30..2026-10-01T10:00",
    ),
    "tokens": Key(kind=Kind.NUMBER, means="tokens used", example="tokens:>50k"),
    "cost": Key(kind=Kind.DOLLARS, means="cost in dollars", example="cost:>0.5"),
    "errors": Key(kind=Kind.NUMBER, means="number of errors", example="errors:>0"),
    "duration": Key(kind=Kind.SECONDS, means="from first to last event", example="duration:>5m"),
    "events": Key(kind=Kind.NUMBER, means="number of events", example="events:>1000"),
    "prompts": Key(kind=Kind.NUMBER, means="prompts of a person", example="prompts:>3"),
    "role": Key(
        kind=Kind.CHOICE,
        means="who said it",
        example="role:user",
        choices=("user", "assistant", "system", "tool"),
        is_about_events=True,
    ),
    "file": Key(
        kind=Kind.NAME, means="file an event touches", example="file:*.py", is_about_events=True
    ),
    "path": Key(
        kind=Kind.NAME, means="path an event touches", example="path:src/*", is_about_events=True
    ),
    "cmd": Key(
        kind=Kind.NAME, means="command that was run", example="cmd:pytest", is_about_events=True
    ),
    "url": Key(
        kind=Kind.NAME, means="address that was fetched", example="url:docs.*", is_about_events=True
    ),
    "error": Key(kind=Kind.NAME, means="an error, or a word of it", example="error:yes"),
    "sort": Key(kind=Kind.CHOICE, means="order of the list", example="sort:cost", choices=SORTS),
    "in": Key(
        kind=Kind.CHOICE,
        means="also results of tools, also subagents",
        example="in:results",
        choices=("results", "subagents"),
    ),
}
# Say how to answer, and not what to look for.
SETTINGS = frozenset({"sort", "in"})
COMPARED = frozenset({Kind.NUMBER, Kind.DOLLARS, Kind.SECONDS})


_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def fits(key: Key, value: str) -> bool:
    if key.kind is Kind.CHOICE:
        return value.lower() in key.choices
    read = _READERS.get(key.kind)
    return read is None or read(value) is not None


def misfit(name: str, key: Key) -> str:
    if key.choices:
        return f"“{name}:” is one of {', '.join(key.choices)}."
    what = {
        Kind.MOMENT: "a time: -7d, -12h, today, 2026-10-01 or 2026-10-01T12:00",
        Kind.SPAN: "a day or two times: 2026-10-01 or 2026-10-01T09:30..2026-10-01T10:00",
        Kind.SECONDS: "a length of time: 90s, 5m, 2h or 1d",
        Kind.DOLLARS: "an amount in dollars: 0.5",
    }
    return f"“{name}:” needs {what.get(key.kind, 'a whole number: 500, 50k or 1.5M')}."


_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kmg]?)", re.ASCII | re.IGNORECASE)
_DOLLARS = re.compile(r"\$?(\d{1,6}(?:\.\d{1,12})?)", re.ASCII)
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([smhdw]?)", re.ASCII | re.IGNORECASE)
_AGO = re.compile(r"-(\d{1,6})([smhdw])", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d|today|yesterday", re.ASCII | re.IGNORECASE)
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LARGEST = 2**63 - 1


def number(text: str) -> int | None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    value = int(Decimal(found[1]) * _THOUSANDS[found[2].lower()])
    return value if value <= _LARGEST else None


def dollars(text: str) -> int | None:
    """In millionths of a millionth of a dollar."""
    found = _DOLLARS.fullmatch(text)
    return int(Decimal(found[1]) * 10**12) if found else None


def seconds(text: str) -> int | None:
    found = _LENGTH.fullmatch(text)
    return int(Decimal(found[1]) * _UNITS[found[2].lower()]) if found else None


def moment(text: str, *, now: datetime) -> datetime | None:
    """A time that is named, or reckoned from now."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if text.lower() in named:
        return named[text.lower()]
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return now - timedelta(seconds=int(ago[1]) * _UNITS[ago[2].lower()])
        if not _DATE.fullmatch(text):
            return None
        told = datetime.fromisoformat(text)
        return told if told.tzinfo else told.replace(tzinfo=now.tzinfo)
    except (ValueError, OverflowError):
        return None


def span(text: str, *, now: datetime) -> tuple[datetime, datetime] | None:
    """Two times, in whatever order, or a day that is named."""
    first, dots, second = text.partition("..")
    start = moment(first, now=now)
    end = moment(second, now=now) if dots else _next_day(text, start)
    return None if start is None or end is None else (min(start, end), max(start, end))


def _next_day(text: str, start: datetime | None) -> datetime | None:
    if start is None or not _DAY.fullmatch(text):
        return None
    try:
        return start + timedelta(days=1)
    except OverflowError:
        return start


# Of those kinds whose values can be wrong.
_READERS: Mapping[Kind, Callable[[str], object]] = {
    Kind.NUMBER: number,
    Kind.DOLLARS: dollars,
    Kind.SECONDS: seconds,
    Kind.MOMENT: partial(moment, now=_SOME_DAY),
    Kind.SPAN: partial(span, now=_SOME_DAY),
}
