"""The few words around a hit, as pieces: text, and whether it is the hit itself."""

import re
from collections.abc import Iterator

from sessions_app.domain.events import value
from sessions_app.domain.matching import Match
from sessions_app.domain.passages import Passage, Where
from sessions_app.domain.sought import Span

WIDTH = 240
BEFORE = 70
_SPACE = re.compile(r"\s+")
# Where an event without a hit to show is best told by.
_CALLED = (Where.COMMAND, Where.PATH, Where.ADDRESS, Where.CALL)
_SAID = (Where.SAID, *_CALLED)


@value
class Piece:
    text: str
    is_hit: bool


@value
class Snippet:
    where: Where
    pieces: tuple[Piece, ...]


def of(match: Match) -> Snippet:
    if not match.marks:
        return _opening(match.passages, _CALLED if match.is_about_calls else _SAID)
    if len(match.marks) == 1:
        ((no, spans),) = match.marks.items()
        pieces = list(_pieces(match.passages[no], spans, WIDTH))
        return Snippet(where=match.passages[no].where, pieces=tuple(pieces))
    told = {no: _told(match.passages[no], spans) for no, spans in match.marks.items()}
    first = max(told, key=lambda no: (len(told[no]), len(match.marks[no]), -no))
    pieces = list(_pieces(match.passages[first], match.marks[first], WIDTH))
    # What the best passage lacks is shown from another one.
    second = max(told, key=lambda no: (len(told[no] - told[first]), -no))
    if told[second] - told[first]:
        pieces.append(Piece(text=" … ", is_hit=False))
        pieces += _pieces(match.passages[second], match.marks[second], WIDTH // 2)
    return Snippet(where=match.passages[first].where, pieces=tuple(pieces))


def _told(passage: Passage, spans: list[Span]) -> set[bytes]:
    """What was found in it, each once."""
    return {passage.low[lo:hi] for lo, hi in spans}


def _opening(passages: list[Passage], order: tuple[Where, ...]) -> Snippet:
    """Nothing to mark: the beginning of what the event says."""
    told = [each for each in passages if each.text.strip()]
    if not told:
        return Snippet(where=Where.OTHER, pieces=())
    rank = {where: no for no, where in enumerate(order)}
    first = min(told, key=lambda each: (rank.get(each.where, len(rank)), -len(each.text[:WIDTH])))
    return Snippet(where=first.where, pieces=tuple(_cut(first.text, [], WIDTH)))


def _pieces(passage: Passage, spans: list[Span], width: int) -> Iterator[Piece]:
    start = max(0, min(spans)[0] - BEFORE * 4)
    # Only what is near the first hit: turning bytes into characters takes time.
    near = [span for span in spans if span[0] < start + (width + BEFORE) * 4]
    places = [(passage.character(lo), passage.character(hi)) for lo, hi in _apart(near)]
    return _cut(passage.text, places, width)


def _apart(spans: list[Span]) -> list[Span]:
    """In order, those that touch made one."""
    out: list[Span] = []
    for lo, hi in sorted(spans):
        if out and lo <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], hi))
        else:
            out.append((lo, hi))
    return out


def _cut(text: str, places: list[Span], width: int) -> Iterator[Piece]:
    first = places[0][0] if places else 0
    start = _word_start(text, max(0, first - BEFORE), first)
    end = min(len(text), start + width)
    if start:
        yield Piece(text="…", is_hit=False)
    at = start
    for lo, hi in places:
        if lo >= end:
            break
        if lo > at:
            yield _piece(text[at:lo], is_hit=False)
        yield _piece(text[lo : min(hi, end)], is_hit=True)
        at = min(hi, end)
    if at < end:
        yield _piece(text[at:end], is_hit=False)
    if end < len(text):
        yield Piece(text="…", is_hit=False)


def _word_start(text: str, at: int, latest: int) -> int:
    """Not in the middle of a word, if one begins before the hit."""
    if at == 0 or text[at - 1].isspace():
        return at
    found = _SPACE.search(text, at, latest)
    return found.end() if found else at


def _piece(text: str, *, is_hit: bool) -> Piece:
    is_plain = text.isprintable() and "  " not in text
    return Piece(text=text if is_plain else _SPACE.sub(" ", text), is_hit=is_hit)
