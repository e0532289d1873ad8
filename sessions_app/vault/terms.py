"""Blind terms: the words of a chunk as keyed 32-bit numbers of one workspace.

Words are taken from bytes, because splitting a `str` costs four times as much; each distinct word
is hashed once and remembered. Identifiers count whole and in their parts.
"""

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable
from hashlib import blake2b

from sessions_app.vault.seal import Key, derive

LONGEST_WORD = 64
REMEMBERED = 400_000

_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-/" + bytes(
    range(0x80, 0x100)
)
_SEPARATED = bytes(byte if byte in _KEPT else 0x20 for byte in range(256))
_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\x80-\xff]+")
_PLAIN = re.compile(rb"[a-z]+|[0-9]+")
_EDGES = b"_.-/"
# Outside ASCII only the decoded text tells a letter from a typographic mark.
_LETTERS = re.compile(r"\w+")
_GLUED = re.compile(rb"\\[nrt]([0-9A-Za-z\x80-\xff][0-9A-Za-z_./\x80-\xff-]*)")
# Ids and digests are looked for whole; their letter and digit runs mean nothing.
_DIGEST = re.compile(rb"[0-9A-Fa-f-]{16,}")


def folded(word: bytes) -> bytes:
    """One spelling for all cases and compatibility forms of a word."""
    if word.isascii():
        return word.lower()
    text = word.decode("utf-8", "replace")
    return unicodedata.normalize("NFKC", text).casefold().encode("utf-8", "replace")


def spellings(word: bytes) -> list[bytes]:
    """A word as it is found: first itself, then for an identifier its parts."""
    word = word.strip(_EDGES)[:LONGEST_WORD]
    if _PLAIN.fullmatch(word):
        return [word]
    if _DIGEST.fullmatch(word):
        return [word.lower()]
    whole = folded(word)
    parts = {folded(part) for part in _PARTS.findall(word)}
    if not word.isascii():
        parts.update(part.encode() for part in _LETTERS.findall(whole.decode()))
    parts.discard(whole)
    return [whole, *parts]


class _Remembered(dict[bytes, bytes]):
    """Asks once for what it does not know."""

    def __init__(self, ask: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, key: bytes) -> bytes:
        value = self[key] = self._ask(key)
        return value


class Blinder:
    """Words → terms, each as the eight bytes it has inside a binary int4[] (length, value).

    Each distinct word is hashed once; what is remembered of it are the bytes of all its terms in a
    row, so that the terms of a text are one join.
    """

    def __init__(self, index_key: Key) -> None:
        self._key = derive(index_key, "terms")
        self._terms = _Remembered(self._hash)
        self._words = _Remembered(self._learn)
        self._facets: dict[tuple[str, str], bytes] = {}

    def _hash(self, spelling: bytes) -> bytes:
        return _LENGTH + blake2b(spelling, digest_size=4, key=self._key).digest()

    def _learn(self, word: bytes) -> bytes:
        """Nothing for a word that is only punctuation."""
        return b"".join([self._terms[spelling] for spelling in spellings(word) if spelling])

    def forget(self) -> None:
        for table in (self._terms, self._words, self._facets):
            table.clear()

    def term(self, spelling: bytes) -> bytes:
        return self._terms[spelling]

    def of_text(self, text: bytes) -> bytes:
        """Terms in no order; one that several words share may stand there twice."""
        if len(self._words) > REMEMBERED:
            self.forget()
        words = set(text.translate(_SEPARATED).split())
        if b"\\" in text:
            # JSON quoted inside a text glues the letter of an escape to the next word: both
            # spellings count, so that neither reading of a backslash is missed.
            words.update(_GLUED.findall(text))
        return b"".join(map(self._words.__getitem__, words))

    def of_facet(self, name: str, value: str) -> bytes:
        """A facet has a separator no word can contain, so it never meets a word."""
        known = self._facets.get((name, value))
        if known is None:
            if len(self._facets) > REMEMBERED:
                self.forget()
            spelling = f"{name}\0{value}".encode("utf-8", "surrogatepass")
            known = self._facets[name, value] = self.term(spelling)
        return known


_LENGTH = b"\0\0\0\x04"


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
