"""One thing to look for in a text: a word, the beginning of one, a phrase, a name with `*`.

What `spans` finds in a text, `needs` never excludes: a name counts as found only where its words
are spelled as the index knows them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from sessions_app.domain import words
from sessions_app.domain.passages import Passage


@dataclass(frozen=True, slots=True)
class Beginning:
    """Any word that begins like this."""

    letters: bytes


# Spellings that must all be there; a beginning stands for the words it grows into.
Alternative = frozenset[bytes | Beginning]
# One of these is enough; none at all means that the index cannot help.
Need = tuple[Alternative, ...]
# Words that must follow each other in one passage, with nothing but marks between them.
Run = tuple[bytes, ...]
# Half open, in bytes.
Span = tuple[int, int]

MOST_ALTERNATIVES = 16
# Hits that are marked in one passage.
MOST_SPANS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What the index must know of a chunk that can hold it, and where it stands in a passage."""

    needs: Need
    spans: Callable[[Passage], list[Span]]
    # Bytes a raw line must contain, in small letters; empty where bytes cannot tell.
    needle: bytes
    # The same of a phrase, where that is the same in a raw line.
    phrase: re.Pattern[bytes] | None = None
    # The words of a phrase, as far as each must be there as it was typed.
    run: Run = ()


def tokens(text: str) -> list[bytes]:
    """The words of what a person typed, in their order."""
    found = text.encode("utf-8", "replace").translate(words.SEPARATED).split()
    return [word for word in (each.strip(words.EDGES) for each in found) if word]


def is_token(text: str) -> bool:
    """One word and nothing around it."""
    return [text.encode("utf-8", "replace")] == tokens(text)


def all_of(needs: list[Need]) -> Need:
    """Every one of them, multiplied out; what would become too long is left to the checking."""
    out: Need = (frozenset(),)
    for need in needs:
        if need and len(out) * len(need) <= MOST_ALTERNATIVES:
            out = tuple(one | other for one, other in product(out, need))
    return out if any(out) else ()


def any_of(needs: list[Need]) -> Need:
    """One of them; nothing as soon as one of them cannot be asked of the index."""
    return tuple(each for need in needs for each in need) if all(needs) else ()


def whole_or_parts(token: bytes) -> Need:
    whole, parts = _spelled(token)
    return (frozenset({whole}), frozenset(parts)) if parts else (frozenset({whole}),)


def _spelled(token: bytes) -> tuple[bytes, frozenset[bytes]]:
    """A word and, if it is an identifier, its parts."""
    whole, *others = words.spellings(token)
    return whole, frozenset(words.parts(token) - {whole}) if others else frozenset()


def _holds(passage: Passage, token: bytes) -> bool:
    whole, parts = _spelled(token)
    return whole in passage.spelled or bool(parts and parts <= passage.spelled)


def _hold(passage: Passage, tokens: list[bytes], place: Span) -> bool:
    """Most often the words right there are enough: to spell all of a long text takes as long as
    everything else."""
    near = _spelled_around(passage, *place)
    return all(words.folded(each) in near or _holds(passage, each) for each in tokens)


def _spelled_around(passage: Passage, lo: int, hi: int) -> set[bytes]:
    start = passage.separated.rfind(b" ", 0, lo + 1) + 1
    end = passage.separated.find(b" ", hi)
    found = words.words_in(passage.data[start : end if end >= 0 else None])
    return {each for word in found for each in words.spellings(word)}


def _needle(letters: bytes) -> bytes:
    """The longest stretch that stands in a raw line as it stands in the text: a slash may be
    escaped there, and many letters outside ASCII have another case or form."""
    if letters.isascii():
        return max(letters.lower().split(b"/"), key=len)
    steady = "".join(c if _is_steady(c) else " " for c in letters.decode("utf-8", "replace"))
    return max((each.encode().lower() for each in steady.split()), key=len, default=b"")


def _is_steady(character: str) -> bool:
    if character.isascii():
        return character != "/"
    is_cased = character.lower() != character or character.upper() != character
    return not is_cased and unicodedata.normalize("NFKD", character) == character


# Words --------------------------------------------------------------------------------------


def word(token: bytes) -> Sought:
    """A whole word, or a part of an identifier; an identifier also inside a longer one."""
    whole, parts = _spelled(token)

    def spans(passage: Passage) -> list[Span]:
        if whole not in passage.low and not passage.wide:
            return []
        found = set(islice(_words_that(passage, whole, whole.__eq__), MOST_SPANS))
        if parts and whole.isascii() and whole in passage.low and parts <= passage.spelled:
            places = islice(_places(passage.low, whole), MOST_SPANS)
            found.update((at, at + len(whole)) for at in places)
        return _by_themselves(passage.data, sorted(found))

    return Sought(needs=whole_or_parts(token), needle=_needle(whole), spans=spans)


def beginning(token: bytes) -> Sought:
    """A word, or a part of an identifier, that begins like this."""
    letters = words.folded(token)

    def fits(spelling: bytes) -> bool:
        return spelling.startswith(letters) and words.is_listed(spelling)

    def spans(passage: Passage) -> list[Span]:
        return sorted(islice(_words_that(passage, letters, fits), MOST_SPANS))

    needs: Need = (frozenset({Beginning(letters)}),)
    return Sought(needs=needs, needle=_needle(letters), spans=spans)


def _words_that(passage: Passage, letters: bytes, fits: Callable[[bytes], bool]) -> Iterator[Span]:
    """Words with a spelling that fits. Only those that contain the letters are looked at, and
    those outside ASCII, which may be spelled with them."""
    if letters.isascii():
        for at in _places(passage.low, letters):
            if any(map(fits, _spellings_at(passage, at))):
                yield at, at + len(letters)
    for each in passage.wide:
        if any(map(fits, _spellings(each))):
            at = passage.data.find(each)
            yield at, at + len(each)


def _by_themselves(data: bytes, spans: list[Span]) -> list[Span]:
    """Of letters that stand by themselves and also inside other words, the former are marked."""
    return [span for span in spans if _is_part(data, *span)] or spans


def _is_part(data: bytes, start: int, end: int) -> bool:
    before, first = data[max(start - 1, 0) : start], data[start : start + 1]
    last, behind = data[end - 1 : end], data[end : end + 1]
    return _is_edge(before, first) and _is_edge(last, behind)


def _is_edge(one: bytes, other: bytes) -> bool:
    """Does a part of an identifier end between these two?"""
    if not one.isalnum() or not other.isalnum():
        return True
    return one.isdigit() is not other.isdigit() or (one.islower() and other.isupper())


def _places(low: bytes, letters: bytes) -> Iterator[int]:
    at = low.find(letters)
    while at >= 0:
        yield at
        at = low.find(letters, at + 1)


def _spellings_at(passage: Passage, at: int) -> tuple[bytes, ...]:
    """Of the word that covers a place."""
    start = passage.separated.rfind(b" ", 0, at + 1) + 1
    end = passage.separated.find(b" ", at)
    token = passage.data[start : end if end >= 0 else None]
    is_glued = passage.data[start - 1 : start] == b"\\" and _ESCAPED.match(token)
    return _spellings(token) + _spellings(token[1:]) if is_glued else _spellings(token)


_ESCAPED = re.compile(rb"[nrt][0-9A-Za-z\x80-\xff]")


@lru_cache(maxsize=8192)
def _spellings(token: bytes) -> tuple[bytes, ...]:
    return tuple(words.spellings(token))


# Phrases ------------------------------------------------------------------------------------

_LEFT = rb"(?:(?<![0-9a-z])|(?<=\\[nrt]))"
_RIGHT = rb"(?![0-9a-z])"
_ALNUM = re.compile(r"[^\W_]")


def phrase(text: str, *, is_open: bool = False) -> Sought:
    """The same letters in the same order, whatever their case and the white space between. It
    begins and, unless open, ends where a word does."""
    found = tokens(text)
    grows = is_open and bool(found) and bool(_ALNUM.match(text[-1:]))
    whole = found[:-1] if grows else found
    needs = [whole_or_parts(each) for each in whole]
    # The index knows no beginning that is shorter, and none of ids and long numbers.
    is_listed = grows and len(words.folded(found[-1])) >= words.SHORTEST_LISTED
    last = beginning(found[-1]) if is_listed else None
    if last is not None:
        needs.append(last.needs)
    places = _pattern(text, left=True, right=not is_open)

    def spans(passage: Passage) -> list[Span]:
        hits = list(islice(places(passage, 0), MOST_SPANS))
        is_known = bool(hits) and _hold(passage, whole, hits[0])
        return hits if is_known and (last is None or last.spans(passage)) else []

    needle = max(map(_needle, found), key=len, default=b"")
    return Sought(
        needs=all_of(needs),
        needle=needle,
        spans=spans,
        phrase=_raw_phrase(text),
        run=tuple(whole) if text.isascii() and "\\" not in text and len(whole) > 1 else (),
    )


_SIMPLE = re.compile(r"[0-9A-Za-z_.\s-]+")


def _raw_phrase(text: str) -> re.Pattern[bytes] | None:
    """In JSON, white space may be escaped; of other marks there are too many ways."""
    if not _SIMPLE.fullmatch(text):
        return None
    gap = rb"(?:\s|\xc2\xa0|\\+(?:[nrt]|u00a0))+"
    return re.compile(gap.join(re.escape(each) for each in text.encode().lower().split()))


# Where something stands from an offset on.
_Places = Callable[[Passage, int], Iterator[Span]]


def _pattern(text: str, *, left: bool, right: bool) -> _Places:
    if not text.isascii():
        return _wide_pattern(text, left=left, right=right)
    low = text.encode().lower()
    expression = re.compile(_expression(low, left=left, right=right))
    if not low.strip():
        return lambda passage, at: (hit.span() for hit in expression.finditer(passage.low, at))
    first = low.split()[0]

    def places(passage: Passage, at: int) -> Iterator[Span]:
        """Tried where its first word stands: trying it everywhere takes many times as long."""
        at = passage.low.find(first, at)
        while at >= 0:
            hit = expression.match(passage.low, at)
            if hit is not None:
                yield hit.span()
            at = passage.low.find(first, at + 1 if hit is None else hit.end())

    return places


def _expression(low: bytes, *, left: bool, right: bool) -> bytes:
    gap = rb"(?:\s|\xc2\xa0|\\[nrt])+"
    middle = gap.join(re.escape(each) for each in low.split())
    before = _LEFT if left and low.strip()[:1].isalnum() else b""
    after = _RIGHT if right and low.strip()[-1:].isalnum() else b""
    return before + middle + after


def _wide_pattern(text: str, *, left: bool, right: bool) -> _Places:
    """Outside ASCII, case is a matter of characters and not of bytes."""
    middle = r"(?:\s|\\[nrt])+".join(re.escape(each) for each in text.split())
    before = r"(?<![^\W_])" if left and _ALNUM.match(text.strip()[:1]) else ""
    after = r"(?![^\W_])" if right and _ALNUM.match(text.strip()[-1:]) else ""
    expression = re.compile(before + middle + after, re.IGNORECASE)

    def places(passage: Passage, at: int) -> Iterator[Span]:
        for hit in expression.finditer(passage.text, passage.character(at)):
            yield passage.offset(hit.start()), passage.offset(hit.end())

    return places


# Names with * -------------------------------------------------------------------------------


def name(value: str) -> Sought:
    """Part of a path, a command or an address; `*` stands for anything."""
    pieces = value.split("*")
    if len(pieces) == 1:
        return phrase(value)
    last = len(pieces) - 1
    whole = _whole_tokens(pieces)
    patterns = [
        _pattern(piece, left=no == 0, right=no == last)
        for no, piece in enumerate(pieces)
        if piece.strip()
    ]

    def spans(passage: Passage) -> list[Span]:
        found = _in_order(passage, patterns)
        return found if found and all(_holds(passage, each) for each in whole) else []

    needle = max((_needle(t) for piece in pieces for t in tokens(piece)), key=len, default=b"")
    needs = all_of([whole_or_parts(each) for each in whole])
    return Sought(needs=needs, needle=needle, spans=spans)


def _in_order(passage: Passage, patterns: list[_Places]) -> list[Span]:
    """Each behind the one before."""
    at = 0
    out: list[Span] = []
    for places in patterns:
        span = next(places(passage, at), None)
        if span is None:
            return []
        out.append(span)
        at = span[1]
    return out or [(0, len(passage.data))]


def _whole_tokens(pieces: list[str]) -> list[bytes]:
    """Words that no `*` touches: those beside one may be longer in the text."""
    out: list[bytes] = []
    for no, piece in enumerate(pieces):
        found = tokens(piece)
        if no > 0 and _ALNUM.match(piece[:1]):
            found = found[1:]
        if no < len(pieces) - 1 and _ALNUM.match(piece[-1:]):
            found = found[:-1]
        out += found
    return out


def file(value: str) -> Sought:
    """The name of a file, or the end of its path."""
    pieces = [piece.encode("utf-8", "replace").lower() for piece in _slashed(value).split("*")]
    names = _slashed(value).split("/")
    whole = [token for each in names for token in _whole_tokens(each.split("*"))]

    def spans(passage: Passage) -> list[Span]:
        path = passage.low.replace(b"\\", b"/").rstrip(b"/")
        start = 0 if b"/" in b"".join(pieces) else path.rfind(b"/") + 1
        fits = _ends_like(path, pieces, start) and all(_holds(passage, each) for each in whole)
        return [(path.rfind(b"/") + 1, len(path))] if fits else []

    needle = max((_needle(each) for each in whole), key=len, default=b"")
    return Sought(needs=all_of([whole_or_parts(w) for w in whole]), needle=needle, spans=spans)


def _slashed(value: str) -> str:
    return value.replace("\\", "/").strip("/ ")


def _ends_like(path: bytes, pieces: list[bytes], start: int) -> bool:
    """The pieces in their order, the first at the beginning of a name, the last at the end."""
    first, *others = pieces
    if not others:
        return path == first or path.endswith(b"/" + first)
    at = start if path.startswith(first, start) else path.find(b"/" + first, start) + 1
    if not (at or path.startswith(first)):
        return False
    at += len(first)
    for piece in others[:-1]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return path.endswith(others[-1]) and len(path) - len(others[-1]) >= at
