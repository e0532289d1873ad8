"""What is known of a file's text: exactly, in pieces, or nothing.

Nothing is guessed: a change that does not fit what was known makes the text unknown again.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from sessions_app.domain import linediff
from sessions_app.domain.files import (
    Altered,
    Change,
    Erased,
    Inserted,
    Patch,
    Patched,
    Reach,
    Replaced,
    Shown,
    Swap,
    Written,
)
from sessions_app.domain.linediff import count_lines

MOST_PIECES = 64
# Ways in which two texts may overlap that are tried.
MOST_TRIED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Whole lines and the number of the first, or a text that stands somewhere in the file."""

    text: str
    first: int | None

    @property
    def last(self) -> int | None:
        return None if self.first is None else self.first + count_lines(self.text) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Partly:
    pieces: tuple[Piece, ...] = ()
    # Why no more is known.
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    pass


State = Known | Partly | Absent
UNSEEN = Partly(why="The session has not shown what is in it.")


def text_of(state: State) -> str | None:
    """A file that is not there holds nothing."""
    match state:
        case Known():
            return state.text
        case Absent():
            return ""
        case Partly():
            return None
        case _:
            assert_never(state)


def applied(state: State, change: Change) -> State:
    """The file after a change that took place."""
    match change:
        case Shown():
            state = _shown(state, change)
        case Written():
            state = Known(text=change.text)
        case Replaced():
            state = _replaced(state, change.swaps)
        case Patched():
            state = _patched(state, change.patches)
        case Inserted():
            state = _inserted(state, change)
        case Erased():
            state = Absent()
        case Altered():
            state = Partly(why="It was changed in a way the log does not say exactly.")
        case _:
            assert_never(change)
    return state


# Reading ------------------------------------------------------------------------------------------


def _shown(state: State, shown: Shown) -> State:
    if shown.text is None:
        return UNSEEN if isinstance(state, Absent) else state
    if shown.is_whole:
        return Known(text=shown.text)
    if isinstance(state, Known) and _holds(state.text, shown):
        return state
    # A stretch is told without the end of its last line.
    piece = Piece(text=f"{shown.text}\n", first=shown.first)
    old = state.pieces if isinstance(state, Partly) else ()
    rest = [kept for each in old for kept in _outside(each, piece)]
    return Partly(pieces=_sorted([*rest, piece]), why="The session has shown only parts of it.")


def _holds(text: str, shown: Shown) -> bool:
    lines = text.split("\n")[max(0, shown.first - 1) :]
    told = (shown.text or "").split("\n")
    return lines[: len(told)] == told


def _outside(piece: Piece, newer: Piece) -> list[Piece]:
    """What is left of a piece when a newer one covers some of its lines."""
    if piece.first is None or newer.first is None:
        return [] if piece.text in newer.text else [piece]
    lines = linediff.lines_of(piece.text)
    head = lines[: max(0, newer.first - piece.first)]
    tail_at = max(0, (newer.last or 0) + 1 - piece.first)
    out = [Piece(text="".join(head), first=piece.first)] if head else []
    if lines[tail_at:]:
        out.append(Piece(text="".join(lines[tail_at:]), first=piece.first + tail_at))
    return out


def _sorted(pieces: list[Piece]) -> tuple[Piece, ...]:
    """By line; those without a place behind, the oldest of all given up when there are many."""
    kept = [piece for piece in pieces if piece.text][-MOST_PIECES:]
    return tuple(sorted(kept, key=lambda piece: (piece.first is None, piece.first or 0)))


# Replacing ----------------------------------------------------------------------------------------

MISFIT = Partly(why="A change did not fit what was known of it: something else had changed it.")


def _replaced(state: State, swaps: tuple[Swap, ...]) -> State:
    for swap in swaps:
        if isinstance(state, Partly):
            state = _swapped_in_pieces(state, swap)
        else:
            text = swapped(state.text if isinstance(state, Known) else "", swap)
            state = _misfit(swap.new) if text is None else Known(text=text)
    return state


def swapped(text: str, swap: Swap) -> str | None:
    """None where the place is not certain."""
    if not swap.old:
        return swap.new if not text else None
    times = text.count(swap.old)
    if not times or (times > 1 and swap.reach is Reach.ONLY):
        return None
    return text.replace(swap.old, swap.new, -1 if swap.reach is Reach.EVERY else 1)


def _misfit(new: str) -> Partly:
    return replace(MISFIT, pieces=(Piece(text=new, first=None),) if new else ())


def _swapped_in_pieces(state: Partly, swap: Swap) -> Partly:
    hits = [piece for piece in state.pieces if _is_hit(piece, swap)]
    place = next((piece for piece in hits if piece.first is not None), None)
    is_placed = place is not None and swap.reach is not Reach.EVERY
    pieces = [
        _swapped_piece(piece, swap) if piece in hits else piece
        for piece in state.pieces
        if piece in hits or not _may_be_hit(piece, swap, is_placed)
    ]
    grown = swap.new.count("\n") - swap.old.count("\n")
    pieces = [
        _moved(piece, place.first if place and is_placed else None, grown) for piece in pieces
    ]
    if not hits and swap.new:
        pieces.append(Piece(text=swap.new, first=None))
    return Partly(pieces=_sorted(pieces), why=_why_partly(state))


def _is_hit(piece: Piece, swap: Swap) -> bool:
    """Whether the text is replaced in this piece beyond doubt. The end of the last line of a piece
    with a number is only assumed."""
    sure = piece.text if piece.first is None else piece.text[:-1]
    if not swap.old or swap.old not in sure or _meets(swap.old, swap.old):
        return False
    if swap.reach is Reach.EVERY:
        # Another place may begin inside the piece and end outside, or the other way round.
        return not _meets(_claim(piece), swap.old)
    # The first of several may stand before a piece that does not begin with the file.
    return swap.reach is Reach.ONLY or piece.first == 1


def _may_be_hit(piece: Piece, swap: Swap, is_placed: bool) -> bool:
    """Whether some of what is replaced may reach into the piece. Pieces with a number never
    overlap, so one whose neighbour was hit is safe."""
    if is_placed and piece.first is not None:
        return False
    return all(
        not old or old in piece.text or _meets(_claim(piece), old)
        for old in (swap.old, _changed(swap))
    )


def _claim(piece: Piece) -> str:
    """Whole lines also say that a line ends before them."""
    return piece.text if piece.first in (None, 1) else f"\n{piece.text}"


def _changed(swap: Swap) -> str:
    """What is not in the new text again; all of it where something only comes in between."""
    old, new = swap.old, swap.new
    head = linediff.same_start(old, new)
    tail = linediff.same_start(old[head:][::-1], new[head:][::-1])
    return old[head : len(old) - tail] or old


def _meets(one: str, other: str) -> bool:
    """Whether the texts can overlap without one being inside the other, or are such."""
    if one != other and one in other:
        return True
    return _ends_like(one, other) or _ends_like(other, one)


def _ends_like(one: str, other: str) -> bool:
    """Whether an end of one is a beginning of the other; taken to be so where it takes long to
    find out."""
    most = min(len(one), len(other)) - (one == other)
    at = -1
    for _ in range(MOST_TRIED):
        at = other.find(one[-1:], at + 1, most)
        if at < 0 or not one:
            return False
        if one.endswith(other[: at + 1]):
            return True
    return True


def _swapped_piece(piece: Piece, swap: Swap) -> Piece:
    times = -1 if swap.reach is Reach.EVERY else 1
    return replace(piece, text=piece.text.replace(swap.old, swap.new, times))


def _moved(piece: Piece, behind: int | None, by: int) -> Piece:
    """Where lines came or went that have no place, no number is certain any more."""
    if not by or piece.first is None:
        return piece
    if behind is None:
        # Without a number the end of its last line is no longer taken for granted.
        return Piece(text=piece.text[:-1], first=None)
    return replace(piece, first=piece.first + by) if piece.first > behind else piece


def _why_partly(state: Partly) -> str:
    if state.pieces and state.why:
        return state.why
    return "The session has shown only the parts it changed."


# Patching -----------------------------------------------------------------------------------------


def _patched(state: State, patches: tuple[Patch, ...]) -> State:
    if isinstance(state, Partly):
        for patch in patches:
            state = _patched_in_pieces(state, patch)
        return state
    text = patched(state.text if isinstance(state, Known) else "", patches)
    if text is not None:
        return Known(text=text)
    return replace(
        MISFIT,
        pieces=_sorted([Piece(text=as_swap(p).new, first=None) for p in patches if p.new]),
    )


def _patched_in_pieces(state: Partly, patch: Patch) -> Partly:
    """Which of several like lines were meant is not known, so what may have been is let go."""
    old = as_swap(patch).old
    pieces = [
        _moved(piece, None, len(patch.new) - len(patch.old))
        for piece in state.pieces
        if not _may_be_patched(piece, old)
    ]
    pieces.append(Piece(text="\n".join(patch.new), first=None))
    return Partly(pieces=_sorted(pieces), why=_why_partly(state))


def _may_be_patched(piece: Piece, old: str) -> bool:
    if not old:
        # Lines that replace none may have come between any two.
        return "\n" in piece.text[:-1]
    return old in piece.text or _meets(piece.text, old)


def as_swap(patch: Patch) -> Swap:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (patch.old, patch.new))
    return Swap(old=old, new=new, reach=Reach.FIRST)


def patched(text: str, patches: tuple[Patch, ...]) -> str | None:
    """None where a patch does not fit line for line: tools that look less closely are not
    imitated."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    at = 0
    for patch in patches:
        place = _place(lines, patch, at)
        if place is None:
            return None
        lines[place : place + len(patch.old)] = patch.new
        at = place + len(patch.new)
    return "".join(f"{line}\n" for line in lines)


def _place(lines: list[str], patch: Patch, at: int) -> int | None:
    for anchor in patch.anchors:
        found = _find(lines, (anchor,), at)
        if found is None:
            return None
        at = found + 1
    if not patch.old:
        # Where lines go that replace none is certain only at the end of a file.
        return len(lines) if not patch.anchors else None
    if patch.is_at_end:
        end = len(lines) - len(patch.old)
        return end if end >= at and tuple(lines[end:]) == patch.old else None
    return _find(lines, patch.old, at)


def _find(lines: list[str], wanted: tuple[str, ...], at: int) -> int | None:
    first, size = wanted[0], len(wanted)
    while True:
        try:
            at = lines.index(first, at)
        except ValueError:
            return None
        if tuple(lines[at : at + size]) == wanted:
            return at
        at += 1


# Inserting ----------------------------------------------------------------------------------------


def _inserted(state: State, change: Inserted) -> State:
    if change.after is None:
        return _appended(state, change.text)
    text = change.text if change.text.endswith("\n") or not change.text else f"{change.text}\n"
    if isinstance(state, Partly):
        return _inserted_between(state, text, change.after)
    lines = linediff.lines_of(state.text) if isinstance(state, Known) else []
    at = change.after
    if not 0 <= at <= len(lines):
        return _misfit(text)
    if at == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return Known(text="".join([*lines[:at], text, *lines[at:]]))


def _appended(state: State, text: str) -> State:
    """As it stands: a last line without an end goes on with it."""
    if not isinstance(state, Partly):
        return Known(text=(text_of(state) or "") + text)
    pieces = list(state.pieces)
    placed = [piece for piece in pieces if piece.first is not None]
    if placed:
        # Its last line may be the file's last.
        last = placed[-1]
        lines = linediff.lines_of(last.text)[:-1]
        pieces[pieces.index(last)] = replace(last, text="".join(lines))
    pieces.append(Piece(text=text, first=None))
    return Partly(pieces=_sorted(pieces), why=_why_partly(state))


def _inserted_between(state: Partly, text: str, after: int) -> Partly:
    new = Piece(text=text, first=after + 1)
    grown = count_lines(text)
    pieces = [
        _moved(part, after, grown)
        for piece in state.pieces
        for part in _cut(piece, after)
        # The new lines may stand in the middle of a text that has no place.
        if part.first is not None or "\n" not in part.text[:-1]
    ]
    return Partly(pieces=_sorted([*pieces, new]), why=_why_partly(state))


def _cut(piece: Piece, after: int) -> list[Piece]:
    if piece.first is None or not piece.first <= after < (piece.last or 0):
        return [piece]
    lines = linediff.lines_of(piece.text)
    at = after - piece.first + 1
    return [
        Piece(text="".join(lines[:at]), first=piece.first),
        Piece(text="".join(lines[at:]), first=after + 1),
    ]
