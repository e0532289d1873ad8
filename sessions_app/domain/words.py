"""Words as they are found: what counts as one word of a text, and under which spellings.

The index and whoever checks a hit share these rules, so that what the index knows and what a text
holds are the same. Words are taken from bytes, because splitting a `str` costs four times as much.
"""

import re
import unicodedata

LONGEST_WORD = 64
# A path is longer than any word; its parts are looked for up to here.
LONGEST_NAME = 256
SHORTEST_LISTED = 3

_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-/" + bytes(
    range(0x80, 0x100)
)
SEPARATED = bytes(byte if byte in _KEPT else 0x20 for byte in range(256))
EDGES = b"_.-/"
_WITHOUT_EDGES = bytes.maketrans(EDGES, b" " * len(EDGES))
_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\x80-\xff]+")
# Outside ASCII only the decoded text tells a letter from a typographic mark.
_LETTERS = re.compile(r"\w+")
_GLUED = re.compile(rb"\\[nrt]([0-9A-Za-z\x80-\xff][0-9A-Za-z_./\x80-\xff-]*)")
# Ids and digests are looked for whole; their letter and digit runs mean nothing.
_SHORTEST_DIGEST = 16
_DIGEST = re.compile(rb"[0-9A-Fa-f-]{%d,}" % _SHORTEST_DIGEST)
_LONG_NUMBER = 7


def folded(word: bytes) -> bytes:
    """One spelling for all cases and compatibility forms of a word."""
    if word.isascii():
        return word.lower()
    text = word.decode("utf-8", "replace")
    return unicodedata.normalize("NFKC", text).casefold().encode("utf-8", "replace")


def spellings(word: bytes) -> list[bytes]:
    """A word as it is found: first itself, then for an identifier its parts, and for a path the
    name at its end."""
    word = word.strip(EDGES)
    size = len(word)
    if size <= LONGEST_WORD and (word.isdigit() or (word.isalpha() and word.islower())):
        return [word]
    if size >= _SHORTEST_DIGEST and is_digest(word):
        return [word[:LONGEST_WORD].lower()]
    if size <= LONGEST_WORD and word.isascii():
        return _of_identifier(word)
    whole = folded(word[:LONGEST_WORD])
    others = _folded_parts(word, whole) if size <= LONGEST_WORD else parts(word)
    if b"/" in word:
        others.add(folded(word[:LONGEST_NAME].rpartition(b"/")[2].strip(EDGES)[:LONGEST_WORD]))
    others -= {whole, b""}
    return [whole, *others]


def _of_identifier(word: bytes) -> list[bytes]:
    """The same for nearly all words, in half the time: nothing of them has to be cut. In most of
    those without capital letters there is nothing but letters to tell apart."""
    whole = word.lower()
    if whole != word:
        others = set(b" ".join(_PARTS.findall(word)).lower().split())
    elif word.translate(None, EDGES).isalpha():
        others = set(word.translate(_WITHOUT_EDGES).split())
    else:
        others = set(_PARTS.findall(word))
    if b"/" in word:
        others.add(whole.rpartition(b"/")[2].lstrip(EDGES))
    others.discard(whole)
    return [whole, *others]


def parts(word: bytes) -> set[bytes]:
    """What an identifier is made of."""
    name = word[:LONGEST_NAME]
    if name.isascii():
        return {part[:LONGEST_WORD].lower() for part in _PARTS.findall(name)}
    return _folded_parts(name, folded(name))


def _folded_parts(name: bytes, whole: bytes) -> set[bytes]:
    found = {folded(part[:LONGEST_WORD]) for part in _PARTS.findall(name)}
    letters = _LETTERS.findall(whole.decode())
    found.update(part.encode()[:LONGEST_WORD] for part in letters)
    return found


def is_digest(word: bytes) -> bool:
    return _DIGEST.fullmatch(word) is not None


def is_listed(spelling: bytes) -> bool:
    """Can it be found by its beginning? Ids and long numbers are looked for whole, and what is
    shorter than a beginning has none."""
    size = len(spelling)
    if size < _LONG_NUMBER:
        return size >= SHORTEST_LISTED
    if spelling.isdigit():
        return False
    return size < _SHORTEST_DIGEST or not is_digest(spelling)


def words_in(text: bytes) -> set[bytes]:
    """The words of a text as they stand there, not yet spelled."""
    words = set(text.translate(SEPARATED).split())
    if b"\\" in text:
        # JSON quoted inside a text glues the letter of an escape to the next word: both
        # spellings count, so that neither reading of a backslash is missed.
        words.update(_GLUED.findall(text))
    return words


def facet(name: str, value: str) -> bytes:
    """A property beside the words. It has a separator no word can contain, so that it never
    meets one."""
    return f"{name}\0{value}".encode("utf-8", "surrogatepass")


def is_facet(spelling: bytes) -> bool:
    return b"\0" in spelling


def printed(spelling: bytes) -> bytes:
    """A word as the index knows it where only a tool printed it, so that a search that leaves out
    what tools printed opens nothing for it."""
    return b"printed\0" + spelling


def is_noise(raw: bytes) -> bool:
    """Bytes that are hardly text have no words anybody looks for, but by chance more of them than
    any text: they would swell the index."""
    return not raw.isascii() and len(raw.decode(errors="ignore").encode()) < len(raw) * 0.9
