"""The words of a workspace, sealed: what the beginning of a word can grow into.

Words a process meets for the first time are written with the batch they came in, as one more
sealed segment. Nothing is taken out word by word: after a disposal the vocabulary is made anew
from what is left, and its generation grows. Whoever prepared a batch with words of an earlier
generation prepares it again, because it may have left out words that are gone since.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from uuid import UUID, uuid4

import zstandard
from django.db import connection, transaction

from sessions_app.domain import words
from sessions_app.models import VocabularySegment, Workspace
from sessions_app.store import keys
from sessions_app.vault import seal

# Spellings one beginning grows into at the most.
MOST_GROWN = 200
# Segments of about the same size before they become one.
JOINED = 8
# Words that came since the large list was sorted.
MOST_RECENT = 5_000
# Workspaces whose words a process holds.
MOST_HELD = 8
LARGEST = 64 * 1024 * 1024


# Writing ------------------------------------------------------------------------------------


def lock(workspace_id: UUID) -> int:
    """Until the end of the transaction nobody makes it anew. Returns its generation."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_lock_of(workspace_id)])
    return _generation(workspace_id)


def add(workspace_id: UUID, learned: Iterable[bytes]) -> bool:
    """One more segment, if there are words that were not there before. Under `lock`."""
    fresh = {each for each in learned if words.is_listed(each)}
    if fresh:
        fresh -= _held(workspace_id).known_among(fresh)
    if fresh:
        _put(workspace_id, fresh)
    return bool(fresh)


def _generation(workspace_id: UUID) -> int:
    rows = Workspace.objects.filter(id=workspace_id)
    return rows.values_list("vocabulary_generation", flat=True).first() or 0


def _lock_of(workspace_id: UUID) -> int:
    """Its own room among the locks of the database."""
    return (workspace_id.int ^ 0x766F6361) & 0x7FFF_FFFF_FFFF_FFFF


def _put(workspace_id: UUID, found: set[bytes]) -> None:
    uid = uuid4()
    VocabularySegment.objects.create(
        workspace_id=workspace_id,
        uid=uid,
        words=len(found),
        sealed=_sealed(workspace_id, uid, found),
    )


def _sealed(workspace_id: UUID, uid: UUID, found: set[bytes]) -> bytes:
    packed = zstandard.ZstdCompressor().compress(b"\n".join(sorted(found)))
    return seal.seal(keys.index_key(workspace_id), _place(workspace_id, uid), packed)


def _opened(workspace_id: UUID, uid: UUID, sealed: bytes) -> list[bytes]:
    name = f"vocabulary of workspace {workspace_id}"
    key = keys.index_key(workspace_id)
    packed = seal.unseal(key, _place(workspace_id, uid), sealed, name=name)
    plain: bytes = zstandard.ZstdDecompressor().decompress(packed, max_output_size=LARGEST)
    return plain.split(b"\n")


def _place(workspace_id: UUID, uid: UUID) -> bytes:
    return seal.place("vocabulary", str(workspace_id), str(uid))


def join(workspace_id: UUID) -> None:
    """Segments of about the same size become one, so that there are never many."""
    levels: dict[int, list[int]] = defaultdict(list)
    rows = VocabularySegment.objects.filter(workspace_id=workspace_id)
    for number, size in rows.order_by("id").values_list("id", "words"):
        levels[size.bit_length() // 3].append(number)
    for ids in levels.values():
        if len(ids) >= JOINED:
            _join(workspace_id, ids)


@transaction.atomic
def _join(workspace_id: UUID, ids: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_lock_of(workspace_id)])
        if not cursor.fetchone()[0]:
            return
    rows = list(VocabularySegment.objects.filter(workspace_id=workspace_id, id__in=ids))
    if len(rows) == len(ids):
        found = {word for row in rows for word in _opened(workspace_id, row.uid, bytes(row.sealed))}
        _put(workspace_id, found)
        VocabularySegment.objects.filter(id__in=ids).delete()


def replace(workspace_id: UUID, found: set[bytes]) -> None:
    """All of it, by what was found in the sessions that are left. In a transaction that holds
    `lock_alone` since before the last of them was read."""
    VocabularySegment.objects.filter(workspace_id=workspace_id).delete()
    listed = {each for each in found if words.is_listed(each)}
    if listed:
        _put(workspace_id, listed)
    generation = _generation(workspace_id) + 1
    Workspace.objects.filter(id=workspace_id).update(vocabulary_generation=generation)


def lock_alone(workspace_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_of(workspace_id)])


# Reading ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Words:
    """What this process knows of one vocabulary."""

    generation: int
    seen: set[int] = field(default_factory=set)
    sorted: list[bytes] = field(default_factory=list)
    recent: set[bytes] = field(default_factory=set)

    def take(self, found: Iterable[bytes]) -> None:
        self.recent.update(found)
        if len(self.recent) > MOST_RECENT:
            self.sorted = sorted({*self.sorted, *self.recent})
            self.recent = set()

    def known_among(self, asked: set[bytes]) -> set[bytes]:
        known = asked & self.recent
        return known.union(filter(self._has, asked)) if self.sorted else known

    def _has(self, word: bytes) -> bool:
        at = bisect_left(self.sorted, word)
        return at < len(self.sorted) and self.sorted[at] == word

    def beginning_with(self, letters: bytes) -> Iterator[bytes]:
        at = bisect_left(self.sorted, letters)
        while at < len(self.sorted) and self.sorted[at].startswith(letters):
            yield self.sorted[at]
            at += 1
        yield from (each for each in self.recent if each.startswith(letters))


_shelf: dict[UUID, _Words] = {}
_shelf_lock = threading.Lock()


def forget() -> None:
    with _shelf_lock:
        _shelf.clear()


def _held(workspace_id: UUID) -> _Words:
    """As of the last time somebody looked, unless it was made anew since."""
    held = _shelf.get(workspace_id)
    if held is None or held.generation != _generation(workspace_id):
        return _looked_at(workspace_id)
    return held


def _looked_at(workspace_id: UUID) -> _Words:
    """With what others wrote since."""
    generation = _generation(workspace_id)
    with _shelf_lock:
        held = _shelf.pop(workspace_id, None)
        if held is None or held.generation != generation:
            held = _Words(generation)
        rows = VocabularySegment.objects.filter(workspace_id=workspace_id)
        fresh = set(rows.values_list("id", flat=True)) - held.seen
        for row in rows.filter(id__in=fresh) if fresh else ():
            held.take(_opened(workspace_id, row.uid, bytes(row.sealed)))
            held.seen.add(row.id)
        _shelf[workspace_id] = held
        while len(_shelf) > MOST_HELD:
            del _shelf[next(iter(_shelf))]
    return held


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    spellings: list[bytes]
    # There are more than are looked for.
    is_cut: bool


def grown(workspace_id: UUID, letters: bytes) -> Grown:
    """Words that begin like this, the shortest first."""
    found = list(_looked_at(workspace_id).beginning_with(letters))
    if len(found) > MOST_GROWN:
        found.sort(key=lambda each: (len(each), each))
    return Grown(spellings=found[:MOST_GROWN], is_cut=len(found) > MOST_GROWN)


def tools(workspace_id: UUID, names: Iterable[str]) -> set[int]:
    """Blind terms of the tools that are called so; `*` stands for anything."""
    number_of = keys.blinder(workspace_id).number_of_facet
    meant = {name for name in names if "*" not in name}
    for name in set(names) - meant:
        meant.update(_like(workspace_id, name))
    return {number_of("tool", name) for name in meant}


def _like(workspace_id: UUID, pattern: str) -> Iterator[str]:
    beginning = pattern.partition("*")[0].encode("utf-8", "replace")
    special = pattern.replace("[", "[[]").replace("?", "[?]")
    for each in _looked_at(workspace_id).beginning_with(beginning):
        name = each.decode("utf-8", "replace")
        if fnmatchcase(name, special):
            yield name
