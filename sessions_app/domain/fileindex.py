"""The files of a session at a glance: which acts touched which, and where they stand.

No text of a file is in it, so that it stays small however long the session is.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from sessions_app.domain.filehistory import Step, counts, stepped
from sessions_app.domain.files import Altered, Deal, Deed, Erased, Outcome, Patched, relative
from sessions_app.domain.texts import UNSEEN, Partly

MOST_ENTRIES = 50_000
MOST_PATHS = 10_000
MOST_PATH_CHARACTERS = 2_000_000

DEEDS = tuple(Deed)
OUTCOMES = tuple(Outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act, without its texts."""

    path: int
    asked: int
    answered: int | None
    deed: Deed
    outcome: Outcome
    added: int
    # None: how much went is not known.
    removed: int | None
    # What is known after it does not depend on what was known before.
    is_fresh: bool
    # It was found to be other than the acts before had left it.
    is_surprise: bool = False
    # The log says that the file was not there before.
    is_new: bool = False
    # The file it was renamed from.
    source: int | None = None

    @property
    def seq(self) -> int:
        return self.asked if self.answered is None else self.answered

    @property
    def is_change(self) -> bool:
        return self.deed is not Deed.READ and self.outcome is not Outcome.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    paths: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    # Asked for and not answered so far.
    open: tuple[Entry, ...] = ()
    # Events below this one were looked at.
    upto: int = 0
    # There were more files or acts than are kept.
    is_cut: bool = False
    # Lines too long to be looked at.
    unread: int = 0

    def histories(self) -> "Histories":
        groups: dict[int, list[Entry]] = defaultdict(list)
        for entry in sorted((*self.entries, *self.open), key=lambda entry: entry.seq):
            groups[entry.path].append(entry)
        return Histories(paths=self.paths, entries=groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """The acts by file, in the order in which they took effect."""

    paths: Sequence[str]
    entries: Mapping[int, Sequence[Entry]]

    def of(self, path: int) -> Sequence[Entry]:
        return self.entries.get(path, ())


def entry_of(step: Step, path: int, source: int | None) -> Entry:
    deal = step.deal
    added, removed = counts(step)
    return Entry(
        path=path,
        asked=deal.asked,
        answered=deal.answered,
        deed=deal.act.deed,
        outcome=deal.act.outcome,
        added=added,
        removed=removed,
        is_fresh=_is_fresh(deal),
        is_surprise=step.is_surprise,
        is_new=deal.act.is_new,
        source=source,
    )


def _is_fresh(deal: Deal) -> bool:
    act = deal.act
    if act.outcome is not Outcome.DONE:
        return False
    if isinstance(act.change, Altered | Erased) or source_of(deal):
        return True
    return not isinstance(stepped(UNSEEN, deal).after, Partly)


def source_of(deal: Deal) -> str:
    """The file this one was until now."""
    return deal.act.change.source if isinstance(deal.act.change, Patched) else ""


@dataclass(slots=True)
class Draft:
    """An index while it grows."""

    paths: dict[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    is_cut: bool = False
    unread: int = 0
    _characters: int = 0

    @classmethod
    def of(cls, index: Index) -> "Draft":
        return cls(
            paths={path: number for number, path in enumerate(index.paths)},
            entries=list(index.entries),
            is_cut=index.is_cut,
            unread=index.unread,
            _characters=sum(map(len, index.paths)),
        )

    def number(self, path: str) -> int | None:
        """None when there is no room for another file."""
        if path in self.paths:
            return self.paths[path]
        has_room = len(self.paths) < MOST_PATHS and self._characters < MOST_PATH_CHARACTERS
        if not has_room:
            self.is_cut = True
            return None
        self._characters += len(path)
        self.paths[path] = len(self.paths)
        return self.paths[path]

    def add(self, entry: Entry) -> None:
        if len(self.entries) < MOST_ENTRIES:
            self.entries.append(entry)
        else:
            self.is_cut = True

    def index(self, upto: int, left: Iterable[Entry]) -> Index:
        return Index(
            paths=tuple(self.paths),
            entries=tuple(self.entries),
            open=tuple(left),
            upto=upto,
            is_cut=self.is_cut,
            unread=self.unread,
        )


# The list of files --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    number: int
    path: str
    # As one says it in the folder the session worked in.
    name: str
    reads: int
    changes: int
    failed: int
    added: int
    removed: int
    # Some act replaced lines that are not known.
    is_removed_known: bool
    first: int
    last: int
    is_new: bool
    is_gone: bool
    surprises: int


def files(index: Index, cwd: str) -> list[File]:
    """In the order in which they were first touched."""
    groups = index.histories().entries
    found = [_file(index.paths[number], number, group, cwd) for number, group in groups.items()]
    return sorted(found, key=lambda file: (file.first, file.number))


def _file(path: str, number: int, group: Sequence[Entry], cwd: str) -> File:
    changes = [entry for entry in group if entry.is_change]
    done = [entry for entry in changes if entry.outcome is Outcome.DONE]
    return File(
        number=number,
        path=path,
        name=relative(path, cwd),
        reads=sum(entry.deed is Deed.READ for entry in group),
        changes=len(changes),
        failed=sum(entry.outcome is Outcome.FAILED for entry in group),
        added=sum(entry.added for entry in done),
        removed=sum(entry.removed or 0 for entry in done),
        is_removed_known=all(entry.removed is not None for entry in done),
        first=min(entry.asked for entry in group),
        last=max(entry.seq for entry in group),
        is_new=any(entry.is_new for entry in done),
        is_gone=bool(done) and done[-1].deed is Deed.DELETE,
        surprises=sum(entry.is_surprise for entry in group),
    )


def name_of(path: str, salt: bytes) -> str:
    """A short name of a path for addresses: the path itself would stand in every log of them."""
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).hexdigest()


# As plain values ----------------------------------------------------------------------------------


def packed(index: Index) -> dict[str, Any]:
    return {
        "paths": index.paths,
        "entries": [_packed(entry) for entry in index.entries],
        "open": [_packed(entry) for entry in index.open],
        "upto": index.upto,
        "is_cut": index.is_cut,
        "unread": index.unread,
    }


def _packed(entry: Entry) -> list[int | None]:
    marks = entry.is_fresh | entry.is_surprise << 1 | entry.is_new << 2
    return [
        *(entry.path, entry.asked, entry.answered),
        *(DEEDS.index(entry.deed), OUTCOMES.index(entry.outcome)),
        *(entry.added, entry.removed, marks, entry.source),
    ]


def unpacked(values: dict[str, Any]) -> Index:
    return Index(
        paths=tuple(values["paths"]),
        entries=tuple(map(_unpacked, values["entries"])),
        open=tuple(map(_unpacked, values["open"])),
        upto=values["upto"],
        is_cut=values["is_cut"],
        unread=values["unread"],
    )


def _unpacked(values: list[Any]) -> Entry:
    path, asked, answered, deed, outcome, added, removed, marks, source = values
    return Entry(
        path=path,
        asked=asked,
        answered=answered,
        deed=DEEDS[deed],
        outcome=OUTCOMES[outcome],
        added=added,
        removed=removed,
        is_fresh=bool(marks & 1),
        is_surprise=bool(marks & 2),
        is_new=bool(marks & 4),
        source=source,
    )
