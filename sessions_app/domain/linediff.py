"""Two texts line by line: what went, what came, what stayed.

Lines that occur once on both sides hold the texts together; only the short stretches between them
are compared in earnest, so that a hostile file cannot take quadratic time.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

# Above this many lines on either side only the sizes are told.
MOST_LINES = 20_000
MOST_CHARACTERS = 4_000_000
# Stretches whose lengths multiply to more than this are shown as replaced whole.
MOST_PAIRS = 60_000
MOST_DEPTH = 12
CONTEXT = 3

Stretch = tuple[int, int, int, int]


class Mark(StrEnum):
    SAME = "same"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    mark: Mark
    # Counted from 1; None on the side that has no such line.
    old: int | None
    new: int | None
    text: str
    # The text ends here without a line end.
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Changes that stand close together, with a little of what is around them."""

    rows: tuple[Row, ...]
    # Lines left out before it.
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    added: int
    removed: int
    hunks: tuple[Hunk, ...] = ()
    # Lines left out after the last hunk.
    rest: int = 0
    # The texts are too large to be compared; the numbers are those of all their lines.
    is_too_large: bool = False


def lines_of(text: str) -> list[str]:
    """With their ends, so that a missing last one shows. Only LF ends a line."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def changed(old: str, new: str) -> tuple[int, int]:
    """How many lines came and went."""
    if _is_too_large(old, new):
        return count_lines(new), count_lines(old)
    head, tail = _alike(old, new)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    found = changes(lines_of(old), lines_of(new))
    return sum(hi - lo for _, _, lo, hi in found), sum(hi - lo for lo, hi, _, _ in found)


def _alike(old: str, new: str) -> tuple[int, int]:
    """How many characters of whole lines are the same at the beginning and at the end."""
    head = old.rfind("\n", 0, same_start(old, new)) + 1
    left, right = old[head:][::-1], new[head:][::-1]
    same = same_start(left, right)
    # The end of the last differing line must stay with it.
    tail = left.rfind("\n", 0, same) if same else 0
    return head, max(tail, 0)


def same_start(old: str, new: str) -> int:
    """How many characters they begin with alike. By halves: comparing slices is far quicker than
    going through characters."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def between(old: str, new: str, *, context: int = CONTEXT, first: int = 1) -> Diff:
    """`first` is the number of the first line of both."""
    if _is_too_large(old, new):
        return Diff(added=count_lines(new), removed=count_lines(old), is_too_large=True)
    before, after = lines_of(old), lines_of(new)
    rows = list(_rows(before, after, first))
    hunks, rest = _hunks(rows, context)
    return Diff(
        added=sum(row.mark is Mark.NEW for row in rows),
        removed=sum(row.mark is Mark.GONE for row in rows),
        hunks=hunks,
        rest=rest,
    )


def _is_too_large(old: str, new: str) -> bool:
    return any(len(text) > MOST_CHARACTERS or text.count("\n") > MOST_LINES for text in (old, new))


# Rows and hunks --------------------------------------------------------------------------------


def _rows(before: list[str], after: list[str], first: int) -> Iterator[Row]:
    a = b = 0
    for lo_a, hi_a, lo_b, hi_b in changes(before, after):
        yield from _same(before, a, lo_a, b - a, first)
        yield from (_row(Mark.GONE, before[n], first + n, None) for n in range(lo_a, hi_a))
        yield from (_row(Mark.NEW, after[n], None, first + n) for n in range(lo_b, hi_b))
        a, b = hi_a, hi_b
    yield from _same(before, a, len(before), b - a, first)


def _same(lines: list[str], lo: int, hi: int, shift: int, first: int) -> Iterator[Row]:
    for n in range(lo, hi):
        yield _row(Mark.SAME, lines[n], first + n, first + n + shift)


def _row(mark: Mark, line: str, old: int | None, new: int | None) -> Row:
    is_open = not line.endswith("\n")
    text = line if is_open else line[:-1]
    return Row(mark=mark, old=old, new=new, text=text, is_open=is_open)


def _hunks(rows: list[Row], context: int) -> tuple[tuple[Hunk, ...], int]:
    spans: list[list[int]] = []
    for at, row in enumerate(rows):
        if row.mark is Mark.SAME:
            continue
        lo, hi = max(0, at - context), min(len(rows), at + context + 1)
        if spans and lo <= spans[-1][1]:
            spans[-1][1] = hi
        else:
            spans.append([lo, hi])
    end = 0
    hunks = []
    for lo, hi in spans:
        hunks.append(Hunk(rows=tuple(rows[lo:hi]), skipped=lo - end))
        end = hi
    return tuple(hunks), len(rows) - end


# What changed ----------------------------------------------------------------------------------


def changes(before: list[str], after: list[str]) -> list[Stretch]:
    """Stretches that differ, in order: lo and hi of the old lines, lo and hi of the new."""
    known: dict[str, int] = {}
    old = [known.setdefault(line, len(known)) for line in before]
    new = [known.setdefault(line, len(known)) for line in after]
    found = _compare(old, new, (0, len(old), 0, len(new)), 0)
    return _joined(found)


def _compare(old: list[int], new: list[int], span: Stretch, depth: int) -> Iterator[Stretch]:
    lo_a, hi_a, lo_b, hi_b = _trimmed(old, new, span)
    if lo_a == hi_a or lo_b == hi_b:
        if lo_a < hi_a or lo_b < hi_b:
            yield lo_a, hi_a, lo_b, hi_b
        return
    span = (lo_a, hi_a, lo_b, hi_b)
    if (hi_a - lo_a) * (hi_b - lo_b) <= MOST_PAIRS:
        yield from _closely(old, new, span)
        return
    pins = _pins(old, new, span) if depth < MOST_DEPTH else []
    if not pins:
        yield span
        return
    for at_a, at_b in [*pins, (hi_a, hi_b)]:
        yield from _compare(old, new, (lo_a, at_a, lo_b, at_b), depth + 1)
        lo_a, lo_b = at_a, at_b


def _trimmed(old: list[int], new: list[int], span: Stretch) -> Stretch:
    lo_a, hi_a, lo_b, hi_b = span
    while lo_a < hi_a and lo_b < hi_b and old[lo_a] == new[lo_b]:
        lo_a, lo_b = lo_a + 1, lo_b + 1
    while lo_a < hi_a and lo_b < hi_b and old[hi_a - 1] == new[hi_b - 1]:
        hi_a, hi_b = hi_a - 1, hi_b - 1
    return lo_a, hi_a, lo_b, hi_b


def _closely(old: list[int], new: list[int], span: Stretch) -> Iterator[Stretch]:
    lo_a, hi_a, lo_b, hi_b = span
    matcher = SequenceMatcher(None, old[lo_a:hi_a], new[lo_b:hi_b], autojunk=False)
    for tag, a, to_a, b, to_b in matcher.get_opcodes():
        if tag != "equal":
            yield lo_a + a, lo_a + to_a, lo_b + b, lo_b + to_b


def _pins(old: list[int], new: list[int], span: Stretch) -> list[tuple[int, int]]:
    """Lines that stand once on both sides, as many as keep their order."""
    lo_a, hi_a, lo_b, hi_b = span
    times_a, times_b = Counter(old[lo_a:hi_a]), Counter(new[lo_b:hi_b])
    place = {new[n]: n for n in range(lo_b, hi_b) if times_b[new[n]] == 1}
    pairs = [
        (n, place[old[n]]) for n in range(lo_a, hi_a) if times_a[old[n]] == 1 and old[n] in place
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """By the second number; the first rises already."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        at = bisect_left(tails, value)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(value)
            ends.append(index)
        else:
            tails[at], ends[at] = value, index
    out = []
    index = ends[-1] if ends else -1
    while index >= 0:
        out.append(pairs[index])
        index = before[index]
    return out[::-1]


def _joined(found: Iterator[Stretch]) -> list[Stretch]:
    out: list[Stretch] = []
    for lo_a, hi_a, lo_b, hi_b in found:
        if out and out[-1][1] == lo_a and out[-1][3] == lo_b:
            out[-1] = (out[-1][0], hi_a, out[-1][2], hi_b)
        else:
            out.append((lo_a, hi_a, lo_b, hi_b))
    return out
