"""Words of events on their way into a concordance: each text is taken apart once."""

import re
from array import array
from collections.abc import Callable, Iterable
from itertools import repeat

import numpy as np

from sessions_app.domain import words
from sessions_app.domain.concordance import EVENT, FIRST_WORD, Place, Positions, Section

# Signs no text can contain once it is split: the beginning of an event, a word behind an escape,
# which can be read with or without its letter, a facet.
_EVENT, _GLUED, _FACET = b"\x03", b"\x01", b"\x04"
_UNBROKEN = "\N{NO-BREAK SPACE}".encode()
_KEPT = bytes(byte if byte == 1 else kept for byte, kept in enumerate(words.SEPARATED))
# An escape that stands alone is white space between words, and yet a word of one letter.
_GOES_ON = rb"[_./-]*[0-9A-Za-z\x80-\xff]"
_ALONE = re.compile(rb"\\([nrt])(?!%s)" % _GOES_ON)
_BEFORE = re.compile(rb"\\([nrt])(?=%s)" % _GOES_ON)


# The number of every word that is only marks, until it is left out.
_MARK = FIRST_WORD


class _Numbers(dict[bytes, int]):
    """Each distinct word gets the next number, a mark that is none always the same."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self) if word.strip(words.EDGES) else _MARK
        return number


class Gathering:
    """A section in the making."""

    def __init__(self) -> None:
        self._numbers = _Numbers({_EVENT: EVENT, b"-": _MARK})
        self._streams: list[Positions] = []
        self._seqs = array("I")
        self._places: list[Place] = []
        self._events_of: list[int] = []
        self.size = 0

    def chunk(self, place: Place, events: Iterable[tuple[int, bytes]]) -> None:
        """Events as their numbers in the session and their texts, made by `text_of`."""
        seqs, texts = zip(*events, strict=True) if (events := list(events)) else ((), ())
        found = b"".join(texts).split()
        stream = np.fromiter(map(self._numbers.__getitem__, found), np.uint32, len(found))
        self._streams.append(stream[stream != _MARK])
        self._seqs.extend(seqs)
        self._places.append(place)
        self._events_of.append(len(seqs))
        self.size += len(found)

    def section(self) -> "Section":
        spelled, owners = array("q"), array("I")
        for word, number in self._numbers.items():
            known = _hashes(word)
            spelled.extend(known)
            owners.extend(repeat(number, len(known)))
        return Section(
            stream=np.concatenate([np.empty(0, np.uint32), *self._streams]),
            words=np.fromiter(map(hash, self._numbers), np.int64, len(self._numbers)),
            spelled=np.frombuffer(spelled, np.int64),
            owners=np.frombuffer(owners, np.uint32),
            odd=_odd(self._numbers, _is_long),
            digests=_odd(self._numbers, _is_digest),
            seqs=np.frombuffer(self._seqs, np.uint32),
            places=tuple(self._places),
            events_of=np.array(self._events_of, np.int64),
        )


def text_of(passages: Iterable[bytes], facets: Iterable[bytes]) -> bytes:
    """An event as it is gathered: the words of all its passages, and its facets."""
    prepared = [_prepared(each) for each in passages]
    told = [_FACET + b"%x" % (hash(each) & _MASK) for each in facets]
    return b" ".join((_EVENT, *prepared, *told, b""))


_MASK = 2**64 - 1


def _prepared(data: bytes) -> bytes:
    if b"\x01" in data:
        data = data.replace(b"\x01", b" ")
    if _UNBROKEN in data:
        # In a phrase it is white space, in a word a letter.
        return b" ".join((_parted(data.replace(_UNBROKEN, b" ")), _parted(data)))
    return _parted(data)


def _parted(data: bytes) -> bytes:
    if b"\\" not in data:
        return data.translate(words.SEPARATED)
    alone = set(_ALONE.findall(data))
    data = _BEFORE.sub(b" \x01\\1", _ALONE.sub(b" ", data)).translate(_KEPT)
    return b" ".join((data, *alone)) if alone else data


def _hashes(word: bytes) -> set[int]:
    """Of everything a word is found by."""
    if word[:1] == _FACET:
        number = int(word[1:], 16)
        return {number - 2**64 if number >= 2**63 else number}
    if word == _EVENT:
        return set()
    if word[:1] == _GLUED:
        return {hash(each) for part in (word[1:], word[2:]) for each in words.spellings(part)}
    return {hash(each) for each in words.spellings(word)}


def _odd(numbers: dict[bytes, int], is_so: Callable[[bytes], bool]) -> Positions:
    found = [number for word, number in numbers.items() if is_so(word)]
    return np.array(found, np.uint32)


def _is_long(word: bytes) -> bool:
    """Of these not every stretch is a spelling."""
    return len(word) > words.LONGEST_WORD


def _is_digest(word: bytes) -> bool:
    return word[:1] != _FACET and words.is_digest(word.strip(words.EDGES))
