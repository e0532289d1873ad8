"""Whose a session is and what is known of it, opened once for as long as its row stays the same."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock

from sessions_app.models import Session
from sessions_app.store import facts, tip
from sessions_app.store.chunks import Owner
from sessions_app.store.facts import Facts

MOST = 2_000
_OF_ROW = "_known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    owner: Owner
    facts: Facts


_lock = Lock()
_known: OrderedDict[tuple[object, ...], Known] = OrderedDict()


def of(row: Session) -> Known:
    """Vouched for: everything that is sealed or marked is part of what it is remembered by. A row
    that is held in memory as it was read remembers it itself."""
    found: Known | None = row.__dict__.get(_OF_ROW)
    if found is None:
        found = row.__dict__[_OF_ROW] = _of(row)
    return found


def _of(row: Session) -> Known:
    key = (
        *(row.id, row.workspace_id, row.uid, row.chunks, row.events, row.raw_bytes),
        *(row.tail_bytes, bytes(row.head_hash), bytes(row.head_mark), bytes(row.sealed_facts)),
        *(bytes(tip.key_row(row).wrapped), tip.key_row(row).version),
    )
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
            return found
    owner = tip.vouched(row)
    found = Known(owner=owner, facts=facts.opened(owner.key, row))
    with _lock:
        _known[key] = found
        while len(_known) > MOST:
            _known.popitem(last=False)
    return found


def without(gone: Collection[int]) -> None:
    """Sessions by their ids."""
    with _lock:
        for key in [each for each in _known if each[0] in gone]:
            del _known[key]


def forget() -> None:
    with _lock:
        _known.clear()
