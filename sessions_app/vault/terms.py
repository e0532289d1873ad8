"""Blind terms: the words of a chunk as keyed 32-bit numbers of one workspace.

Each distinct word is hashed once and remembered; what a word is, `domain.words` says.
"""

from collections.abc import Collection, Container, Iterable
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from threading import Lock

import numpy as np

from sessions_app.domain import words
from sessions_app.vault.seal import Key, derive

REMEMBERED = 400_000
SPELLED = 20_000


class _Hashes(dict[bytes, bytes]):
    """Terms of spellings. Hashes once what it does not know, and notes what nobody knew."""

    def __init__(
        self, keyed: blake2b, learned: list[bytes], besides: Container[bytes] = ()
    ) -> None:
        super().__init__()
        self._keyed = keyed
        self._learned = learned
        self._besides = besides

    def __missing__(self, spelling: bytes) -> bytes:
        if spelling not in self._besides:
            self._learned.append(spelling)
        term = self[spelling] = _hash(self._keyed, spelling)
        return term


class _Words(dict[bytes, bytes]):
    """Of words as they stand in a text the terms of all their spellings in a row. One that is
    longer than any that is found whole is spelled each time: a picture is a word of megabytes, and
    seldom comes again."""

    def __init__(self, hashes: _Hashes) -> None:
        super().__init__()
        self.hashes = hashes

    def __missing__(self, word: bytes) -> bytes:
        if len(word) > words.LONGEST_NAME:
            return _all(self.hashes, _spelled.__wrapped__(word))
        terms = self[word] = _all(self.hashes, _spelled(word))
        return terms


class Blinder:
    """Words → terms, each as the eight bytes it has inside a binary int4[] (length, value).

    Each distinct word is hashed once; what is remembered of it are the bytes of all its terms in a
    row, so that the terms of a text are one join.
    """

    def __init__(self, index_key: Key, *, generation: int = 0) -> None:
        # Of the vocabulary the words it learns are added to.
        self.generation = generation
        # Keyed once: every word begins from a copy of it.
        self._keyed = blake2b(digest_size=4, key=derive(index_key, "terms"))
        self._facets: dict[tuple[str, str], bytes] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        # Spellings in the order they were learned, less those that are already kept.
        self._learned: list[bytes] = []
        self._kept = 0
        self._lock = Lock()
        self._said = _Words(_Hashes(self._keyed, self._learned))
        printed = self._keyed.copy()
        printed.update(words.printed(b""))
        self._printed = _Words(_Hashes(printed, self._learned, besides=self._said.hashes))

    def learned(self) -> int:
        """How many spellings so far: what was blinded until now has only words before that."""
        with self._lock:
            return self._kept + len(self._learned)

    def not_kept(self, upto: int) -> list[bytes]:
        """Of those, the ones that nobody has said to be kept; some more than once."""
        with self._lock:
            return self._learned[: max(upto - self._kept, 0)]

    def keep(self, upto: int) -> None:
        with self._lock:
            if upto > self._kept:
                del self._learned[: upto - self._kept]
                self._kept = upto

    def forget(self) -> None:
        for table in (self._said, self._printed):
            table.clear()
            table.hashes.clear()
        self._facets.clear()
        self._numbers.clear()
        _spelled.cache_clear()

    def term(self, spelling: bytes) -> bytes:
        """Of something that is asked for, or of a facet: neither is learned by that."""
        return _hash(self._keyed, spelling)

    def of_text(self, text: bytes, *, printed: bytes = b"") -> bytes:
        """Terms in no order; one that several words share may stand there twice. What tools
        printed counts as such only where its words do not stand in the rest."""
        hashed = max(len(self._said.hashes), len(self._printed.hashes))
        if max(len(self._said) + len(self._printed), hashed) > REMEMBERED:
            self.forget()
        said = words.words_in(text)
        terms = _all(self._said, said)
        if not printed:
            return terms
        return terms + _all(self._printed, words.words_in(printed) - said)

    def of_facet(self, name: str, value: str) -> bytes:
        known = self._facets.get((name, value))
        if known is None:
            if len(self._facets) > REMEMBERED:
                self.forget()
            known = self._facets[name, value] = self.term(words.facet(name, value))
        return known

    def number_of_facet(self, name: str, value: str) -> int:
        """The term as the number a row holds."""
        known = self._numbers.get((name, value))
        if known is None:
            term = self.of_facet(name, value)
            known = self._numbers[name, value] = as_values(term)[0]
        return known


_BIG = np.dtype(">i4")
_LENGTH = b"\0\0\0\x04"


def _hash(keyed: blake2b, spelling: bytes) -> bytes:
    hashed = keyed.copy()
    hashed.update(spelling)
    return _LENGTH + hashed.digest()


def _all(known: dict[bytes, bytes], keys: Collection[bytes]) -> bytes:
    """All are asked for in one step, without a call for each."""
    if len(keys) < 2:
        return b"".join(map(known.__getitem__, keys))
    return b"".join(itemgetter(*keys)(known))


@lru_cache(maxsize=SPELLED)
def _spelled(word: bytes) -> list[bytes]:
    """Nothing for a word that is only punctuation. Kept for a while: what is said is soon printed,
    and the other way round."""
    found = words.spellings(word)
    return found if found[0] else []


def once(terms: bytes) -> bytes:
    """Each term a single time, in the order the database sorts them in before it indexes them: what
    is in order already is sorted in one go."""
    values = np.frombuffer(terms, _BIG)[1::2].astype(np.int32)
    values.sort()
    is_first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    values = values[is_first]
    out = np.full((len(values), 2), len(_LENGTH), _BIG)
    out[:, 1] = values
    return out.tobytes()


def number_of(terms: bytes) -> int:
    return len(terms) // 8


def as_values(terms: bytes) -> list[int]:
    """The signed 32-bit values, as a query parameter needs them."""
    return sorted(
        {
            int.from_bytes(terms[at + 4 : at + 8], "big", signed=True)
            for at in range(0, len(terms), 8)
        }
    )


def from_values(values: Iterable[int]) -> bytes:
    """Terms as they were, from the values a row holds."""
    return b"".join(_LENGTH + value.to_bytes(4, "big", signed=True) for value in values)
