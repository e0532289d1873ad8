"""Blind terms: the words of a chunk as keyed 32-bit numbers of one workspace.

Words are taken from bytes, because splitting a `str` costs four times as much; each distinct word
is hashed once and remembered. Identifiers count whole and in their parts.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import chain

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

    Each distinct word is hashed once and remembered: its own term in one table, the terms of its
    parts, if it has any, in another.
    """

    def __init__(self, index_key: Key) -> None:
        self._key = derive(index_key, "terms")
        self._terms = _Remembered(self._hash)
        self._whole = _Remembered(self._learn)
        self._parts: dict[bytes, list[bytes]] = {}
        self._facets: dict[tuple[str, str], bytes] = {}
        # What a word of punctuation alone comes to: nothing to search for.
        self._nothing = self._hash(b"")

    def _hash(self, spelling: bytes) -> bytes:
        return b"\0\0\0\x04" + blake2b(spelling, digest_size=4, key=self._key).digest()

    def _learn(self, word: bytes) -> bytes:
        first, *parts = spellings(word)
        if parts:
            self._parts[word] = [self._terms[part] for part in parts]
        return self._terms[first]

    def forget(self) -> None:
        for table in (self._terms, self._whole, self._parts, self._facets):
            table.clear()

    def term(self, spelling: bytes) -> bytes:
        return self._terms[spelling]

    def of_text(self, text: bytes) -> set[bytes]:
        # Before and not while words are learned: a text needs the parts of all its words.
        if len(self._whole) > REMEMBERED:
            self.forget()
        words = set(text.translate(_SEPARATED).split())
        if b"\\" in text:
            # JSON quoted inside a text glues the letter of an escape to the next word: both
            # spellings count, so that neither reading of a backslash is missed.
            words.update(_GLUED.findall(text))
        found = set(map(self._whole.__getitem__, words))
        found.update(chain.from_iterable(map(self._parts.__getitem__, words & self._parts.keys())))
        found.discard(self._nothing)
        return found

    def of_facet(self, name: str, value: str) -> bytes:
        """A facet has a separator no word can contain, so it never meets a word."""
        known = self._facets.get((name, value))
        if known is None:
            if len(self._facets) > REMEMBERED:
                self.forget()
            spelling = f"{name}\0{value}".encode("utf-8", "surrogatepass")
            known = self._facets[name, value] = self.term(spelling)
        return known


def as_numbers(terms: Iterable[bytes]) -> list[int]:
    """Signed 32-bit numbers, as a query parameter needs them."""
    return sorted(int.from_bytes(term[4:], "big", signed=True) for term in terms)
