"""Blind terms: the words of a chunk as keyed 32-bit numbers of one workspace.

Words are taken from bytes, because splitting a `str` costs four times as much; each distinct word
is hashed once and remembered. Identifiers count whole and in their parts.
"""

import re
import unicodedata
from collections.abc import Iterable
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
# Ids and digests are looked for whole; their letter and digit runs mean nothing.
_DIGEST = re.compile(rb"[0-9A-Fa-f-]{16,}")


def folded(word: bytes) -> bytes:
    """One spelling for all cases and compatibility forms of a word."""
    if word.isascii():
        return word.lower()
    text = word.decode("utf-8", "replace")
    return unicodedata.normalize("NFKC", text).casefold().encode("utf-8", "replace")


def spellings(word: bytes) -> Iterable[bytes]:
    """A word as it is found: itself, and for an identifier its parts."""
    word = word.strip(_EDGES)[:LONGEST_WORD]
    if not word:
        return ()
    if _PLAIN.fullmatch(word):
        return (word,)
    if _DIGEST.fullmatch(word):
        return (word.lower(),)
    return {folded(word), *(folded(part) for part in _PARTS.findall(word))}


class Blinder(dict[bytes, tuple[bytes, ...]]):
    """Word → its terms, each as the eight bytes it has inside a binary int4[] (length, value)."""

    def __init__(self, index_key: Key) -> None:
        super().__init__()
        self._key = derive(index_key, "terms")
        self._parts: dict[bytes, bytes] = {}
        self._facets: dict[tuple[str, str], bytes] = {}

    def __missing__(self, word: bytes) -> tuple[bytes, ...]:
        if len(self) > REMEMBERED:
            self.clear()
            self._parts.clear()
        found = tuple([self.term(spelling) for spelling in spellings(word)])
        self[word] = found
        return found

    def term(self, spelling: bytes) -> bytes:
        """Most identifiers share their parts with others, so parts are remembered too."""
        known = self._parts.get(spelling)
        if known is None:
            digest = blake2b(spelling, digest_size=4, key=self._key).digest()
            known = self._parts[spelling] = b"\0\0\0\x04" + digest
        return known

    def of_text(self, text: bytes) -> set[bytes]:
        words = set(text.translate(_SEPARATED).split())
        if b"\\" in text:
            # JSON inside a string (a tool's arguments) glues the letter of an escape to the next
            # word; both spellings count, so that neither reading of a backslash is missed.
            loose = text.replace(b"\\n", b" ").replace(b"\\t", b" ").replace(b"\\r", b" ")
            words.update(loose.translate(_SEPARATED).split())
        return set(chain.from_iterable(map(self.__getitem__, words)))

    def of_facet(self, name: str, value: str) -> bytes:
        """A facet has a separator no word can contain, so it never meets a word."""
        known = self._facets.get((name, value))
        if known is None:
            if len(self._facets) > REMEMBERED:
                self._facets.clear()
            spelling = f"{name}\0{value}".encode("utf-8", "surrogatepass")
            known = self._facets[name, value] = self.term(spelling)
        return known


def as_numbers(terms: Iterable[bytes]) -> list[int]:
    """Signed 32-bit numbers, as a query parameter needs them."""
    return sorted(int.from_bytes(term[4:], "big", signed=True) for term in terms)
