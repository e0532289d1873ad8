"""Branches inside one log: places from which the conversation went on more than once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

MOST_FORKS = 100
MOST_BRANCHES = 20


class Record(NamedTuple):
    """What a line says of its place in the tree."""

    seq: int
    own: str
    parent: str
    # Something was said in it: other lines make no conversation.
    is_message: bool
    # A branch may begin with it.
    is_start: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    first: int
    last: int
    messages: int
    # The log ends in it.
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    # The line the branches share last.
    seq: int
    branches: tuple[Branch, ...]


def forks(records: Iterable[Record]) -> list[Fork]:
    """In the order of the log. A line can only follow one that stands before it, so no tree has a
    circle."""
    found = list(records)
    above = _above(found)
    messages, last = _weighed(found, above)
    line = _line(found, above)
    below: dict[int, list[Record]] = defaultdict(list)
    for record in found:
        if record.seq in above and messages[record.seq]:
            below[above[record.seq]].append(record)
    out = []
    for seq, children in sorted(below.items()):
        if len(children) > 1 and any(child.is_start for child in children[1:]):
            starts = [children[0], *(child for child in children[1:] if child.is_start)]
            branches = [
                Branch(
                    first=child.seq,
                    last=last[child.seq],
                    messages=messages[child.seq],
                    is_last=child.seq in line,
                )
                for child in starts[:MOST_BRANCHES]
            ]
            out.append(Fork(seq=seq, branches=tuple(branches)))
    return out[:MOST_FORKS]


def _above(found: list[Record]) -> dict[int, int]:
    known: dict[str, int] = {}
    above: dict[int, int] = {}
    for record in found:
        if record.parent in known:
            above[record.seq] = known[record.parent]
        # Of lines with the same id the first is meant: the others are copies.
        known.setdefault(record.own, record.seq)
    return above


def _weighed(found: list[Record], above: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Messages below each line, itself included, and the last line below it."""
    messages = {record.seq: int(record.is_message) for record in found}
    last = {record.seq: record.seq for record in found}
    for record in reversed(found):
        if record.seq in above:
            parent = above[record.seq]
            messages[parent] += messages[record.seq]
            last[parent] = max(last[parent], last[record.seq])
    return messages, last


def _line(found: list[Record], above: dict[int, int]) -> set[int]:
    """From the last line up to where it all began."""
    seq = found[-1].seq if found else -1
    line = {seq}
    while seq in above:
        seq = above[seq]
        line.add(seq)
    return line
