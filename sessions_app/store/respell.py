"""The vocabulary made anew from the sessions that are left: no word outlives its sessions."""

from collections.abc import Iterator
from uuid import UUID

from django.db import transaction

from sessions_app import formats
from sessions_app.domain import events, words
from sessions_app.domain.errors import IntegrityError
from sessions_app.domain.events import Reading, Unreadable
from sessions_app.domain.signs import Signs
from sessions_app.models import Session
from sessions_app.store import leaves, sessions, tip, vocabulary
from sessions_app.store.leaves import Leaf

FETCHED = 8


def workspace(workspace_id: UUID) -> int:
    """Reads every session; those that grow meanwhile once more, while nobody can add to them.
    Returns how many spellings there are."""
    found: set[bytes] = set()
    read: dict[int, bytes] = {}
    _read(workspace_id, found, read)
    with transaction.atomic():
        vocabulary.lock_alone(workspace_id)
        _read(workspace_id, found, read)
        vocabulary.replace(workspace_id, found)
    return len(found)


def _read(workspace_id: UUID, found: set[bytes], read: dict[int, bytes]) -> None:
    for session in sessions.in_workspace(workspace_id):
        head = bytes(session.head_hash)
        if read.get(session.id) != head:
            read[session.id] = head
            for text in _texts(session):
                for word in words.words_in(text):
                    found.update(words.spellings(word))
    found.discard(b"")


def _texts(session: Session) -> Iterator[bytes]:
    """As they were indexed. What no longer opens has no words to be found by."""
    fmt = formats.BY_NAME.get(session.format, formats.UNKNOWN)
    whole: set[int] = set()
    try:
        for leaf in _leaves(session):
            for line in leaf.lines(Signs(), has_results=True):
                yield _text(line.raw, None if line.is_part else formats.read(fmt, line.raw))
                if line.is_part and leaf.seq(line) not in whole:
                    whole.add(leaf.seq(line))
                    yield _text(b"", leaves.whole(session, leaf.seq(line)).reading)
    except IntegrityError:
        return


def _leaves(session: Session) -> Iterator[Leaf]:
    owner = tip.owner_of(session)
    for start in range(0, session.chunks, FETCHED):
        wanted = [(session.id, no) for no in range(start, start + FETCHED)]
        for _, sealed in sorted(leaves.fetch(wanted).items()):
            yield Leaf(session, owner, sealed)


def _text(raw: bytes, reading: Reading | None) -> bytes:
    if reading is not None and not isinstance(reading.body, Unreadable):
        return "\n".join(events.texts(reading.body)).encode()
    return b"" if words.is_noise(raw) else raw
