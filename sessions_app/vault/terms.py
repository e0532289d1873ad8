"""Blind terms: the words of a chunk as keyed 32-bit numbers of one workspace.

Each distinct word is hashed once and remembered; what a word is, `domain.words` says.
"""

from array import array
from collections.abc import Callable, Iterable
from hashlib import blake2b
from threading import Lock

from sessions_app.domain import words
from sessions_app.vault.seal import Key, derive

REMEMBERED = 400_000


class _Remembered(dict[bytes, bytes]):
    """Asks once for what it does not know. A word that is longer than any that is found whole is
    asked for each time: a picture is a word of megabytes, and seldom comes again."""

    def __init__(self, ask: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, key: bytes) -> bytes:
        value = self._ask(key)
        if len(key) <= words.LONGEST_NAME:
            self[key] = value
        return value


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
        self._terms = _Remembered(self._first_hash)
        self._printed_terms = _Remembered(self._first_printed)
        self._words = _Remembered(self._learn)
        self._printed = _Remembered(self._learn_printed)
        self._facets: dict[tuple[str, str], bytes] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        # Spellings in the order they were learned, less those that are already kept.
        self._learned: list[bytes] = []
        self._kept = 0
        self._lock = Lock()

    def _hash(self, spelling: bytes) -> bytes:
        hashed = self._keyed.copy()
        hashed.update(spelling)
        return _LENGTH + hashed.digest()

    def _first_hash(self, spelling: bytes) -> bytes:
        self._learned.append(spelling)
        return self._hash(spelling)

    def _first_printed(self, spelling: bytes) -> bytes:
        if spelling not in self._terms:
            self._learned.append(spelling)
        return self._hash(words.printed(spelling))

    def _learn(self, word: bytes) -> bytes:
        return b"".join(map(self._terms.__getitem__, _spelled(word)))

    def _learn_printed(self, word: bytes) -> bytes:
        return b"".join(map(self._printed_terms.__getitem__, _spelled(word)))

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
        tables = (self._terms, self._printed_terms, self._words, self._printed)
        for table in (*tables, self._facets, self._numbers):
            table.clear()

    def term(self, spelling: bytes) -> bytes:
        """Of something that is asked for, or of a facet: neither is learned by that."""
        return self._hash(spelling)

    def of_text(self, text: bytes, *, printed: bytes = b"") -> bytes:
        """Terms in no order; one that several words share may stand there twice. What tools
        printed counts as such only where its words do not stand in the rest."""
        if max(len(self._words) + len(self._printed), len(self._terms)) > REMEMBERED:
            self.forget()
        said = words.words_in(text)
        terms = map(self._words.__getitem__, said)
        if not printed:
            return b"".join(terms)
        others = words.words_in(printed) - said
        return b"".join((*terms, *map(self._printed.__getitem__, others)))

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


_LENGTH = b"\0\0\0\x04"


def _spelled(word: bytes) -> list[bytes]:
    """Nothing for a word that is only punctuation."""
    found = words.spellings(word)
    return found if found[0] else []


def once(terms: bytes) -> bytes:
    """Each term a single time. The eight bytes are compared as one number."""
    return array("q", sorted(set(memoryview(terms).cast("q")))).tobytes()


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
