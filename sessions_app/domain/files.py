"""What a session did to files: the words for it. Paths are labels; nothing here opens a file."""

import ntpath
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

LONGEST_PATH = 1024
WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class Deed(StrEnum):
    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    RENAME = "rename"


class Outcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    # The log holds no answer: nobody knows whether it took place.
    OPEN = "open"


# What an act says of the text ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """It was read. Without a text only that is known. A stretch of lines is told without the end of
    its last line."""

    text: str | None = None
    first: int = 1
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    text: str


class Reach(StrEnum):
    """Which of several places that hold the old text."""

    # The tool refuses if there is more than one.
    ONLY = "only"
    FIRST = "first"
    EVERY = "every"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    old: str
    new: str
    reach: Reach = Reach.ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    swaps: tuple[Swap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Whole lines for whole lines, looked for behind the anchors and the patches before."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    is_at_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    patches: tuple[Patch, ...]
    # The file came from there.
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserted:
    """Whole lines behind a line; without a number just what it is, at the very end."""

    text: str
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    # Where it went, if it was renamed.
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """It changed, in a way the log does not say exactly."""


Change = Shown | Written | Replaced | Patched | Inserted | Erased | Altered


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    deed: Deed
    path: str
    change: Change
    outcome: Outcome = Outcome.DONE
    # The log's own word on the text before, beside what the tool was told.
    before: str | None = None
    # The log says that there was no such file before.
    is_new: bool = False

    @property
    def is_change(self) -> bool:
        return self.deed is not Deed.READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """An act in its place: the event that asked for it and the one that answered."""

    act: Act
    asked: int
    answered: int | None
    tool: str

    @property
    def seq(self) -> int:
        """When it took effect."""
        return self.asked if self.answered is None else self.answered


# Names --------------------------------------------------------------------------------------------


def placed(path: str, cwd: str) -> str:
    """One spelling for a file, by its letters alone: no disk is asked."""
    path = path[:LONGEST_PATH]
    if path.startswith("~"):
        return path
    if WINDOWS.match(path) or WINDOWS.match(cwd):
        return _tidy(path, cwd, ntpath.join, ntpath.normpath)
    return _tidy(path, cwd, posixpath.join, posixpath.normpath)


def _tidy(path: str, cwd: str, join: Callable[[str, str], str], tidy: Callable[[str], str]) -> str:
    whole = tidy(join(cwd, path) if cwd else path)
    if WINDOWS.match(whole):
        # One folder, written with either case of its drive.
        whole = whole[0].upper() + whole[1:]
    return whole[:LONGEST_PATH]


def relative(path: str, cwd: str) -> str:
    """As a person who works in the folder would say it."""
    here = placed(cwd, "").rstrip("/\\") if cwd else ""
    if here and len(path) > len(here) + 1 and path.startswith(here) and path[len(here)] in "/\\":
        return path[len(here) + 1 :]
    return path
