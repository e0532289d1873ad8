"""Sessions that go by one id and do not say the same: both are kept, and somebody is told."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain.errors import RecountError
from sessions_app.domain.events import TieKind
from sessions_app.models.record import Part
from sessions_app.store import read, sessions

# Ids that are looked into, and sessions of one id.
MOST_IDS = 1_000
MOST_SHARERS = 50
# Shorter ids are counted, and every machine counts from one.
UNIQUE = 16
# What is read of sessions at a time, at the most; the rest is for the next time.
MOST_BYTES = 256 * 1024 * 1024
MOST_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class _One:
    session_id: int
    place_key: bytes
    raw_bytes: int
    # Changes with every byte of the record.
    head: bytes
    begins: tuple[int, bytes]


def of(workspace_id: UUID, formats: Collection[str]) -> list[int]:
    """The sessions that are not the beginning of the longest one with their id, the younger one of
    each two. Generations of one place are told apart when they are read."""
    found, left = set(), MOST_BYTES
    for pair in _pairs(workspace_id, formats):
        if pair not in _compared:
            left -= pair[1].raw_bytes
            if left < 0:
                break
            _remember(pair)
        if _compared[pair]:
            found.add(max(one.session_id for one in pair))
    return [number for number in sorted(found) if _has_unique_id(number)]


def _pairs(workspace_id: UUID, formats: Collection[str]) -> Iterator[tuple[_One, _One]]:
    for group in _groups(workspace_id, formats):
        longest, *others = sorted(group, key=lambda one: (-one.raw_bytes, one.session_id))
        yield from ((longest, one) for one in others if one.place_key != longest.place_key)


def _groups(workspace_id: UUID, formats: Collection[str]) -> list[list[_One]]:
    values: list[Any] = [workspace_id, Part.MAIN.value, list(formats), TieKind.SELF.value]
    groups: dict[Any, list[_One]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, [*values, MOST_IDS * MOST_SHARERS])
        for key, fmt, number, place, size, head, head_len, head_key in cursor.fetchall():
            begins = (head_len, bytes(head_key))
            groups[key, fmt].append(_One(number, bytes(place), size, bytes(head), begins))
    return [group[:MOST_SHARERS] for group in list(groups.values())[:MOST_IDS]]


_SHARED = """
    WITH named AS (
        SELECT t.key, s.format, s.id, f.place_key, s.raw_bytes, s.head_hash, f.head_len, f.head_key,
               count(*) OVER (PARTITION BY t.key, s.format) AS sharers
        FROM sessions_app_session s
        JOIN sessions_app_tie t ON t.session_id = s.id
        JOIN sessions_app_source f ON f.session_id = s.id
        WHERE s.workspace_id = %s AND s.part = %s AND s.format = ANY(%s) AND t.kind = %s
    )
    SELECT key, format, id, place_key, raw_bytes, head_hash, head_len, head_key
    FROM named WHERE sharers > 1 ORDER BY key, id LIMIT %s
"""


# What was read once in this process is not read again.
_compared: dict[tuple[_One, _One], bool] = {}


def _remember(pair: tuple[_One, _One]) -> None:
    if len(_compared) >= MOST_REMEMBERED:
        _compared.clear()
    _compared[pair] = _differ(*pair)


def _differ(longer: _One, shorter: _One) -> bool:
    """Is the shorter one not the beginning of the longer one? What cannot be opened says nothing:
    verifying tells of it."""
    (size, mark), (other_size, other_mark) = longer.begins, shorter.begins
    if size == other_size and mark != other_mark:
        return True
    try:
        return not _is_beginning(shorter.session_id, longer.session_id, shorter.raw_bytes)
    except RecountError:
        return False


def _is_beginning(shorter: int, longer: int, size: int) -> bool:
    theirs = _Bytes(read.stream(sessions.row(longer), upto=size))
    mine = read.stream(sessions.row(shorter))
    return all(theirs.take(len(each)) == each for each in mine)


class _Bytes:
    """Pieces of any size, taken in pieces of others."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def take(self, size: int) -> bytes:
        while len(self._held) < size and (more := next(self._pieces, b"")):
            self._held += more
        out, self._held = self._held[:size], self._held[size:]
        return out


def _has_unique_id(session_id: int) -> bool:
    try:
        return len(sessions.facts_of(sessions.row(session_id)).native) >= UNIQUE
    except RecountError:
        return False
