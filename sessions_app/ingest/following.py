"""Which paths below some folders changed, told by the kernel. Links are never followed."""

import os
from collections.abc import Iterable
from threading import Event
from typing import Literal

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

# How long changes are collected before they are told: the waking costs 0.2 % of a core, and a
# line waits half of it on average.
STEP_MS = 40
MOST_MS = 200
TRIES = 5


class Folders:
    """Every folder is named to the kernel singly: told to go down by itself, the library would
    follow links, out of the tree and round in circles."""

    def __init__(self, bases: Iterable[str]) -> None:
        self.bases = set(bases)
        self._folders: set[str] = set()
        self._notify: RustNotify | None = None
        # Why the kernel cannot tell; empty while it can.
        self.trouble = ""
        self._open(below(self.bases))

    def wait(self, seconds: float, stop: Event) -> set[str]:
        """Paths that came, changed or went within that time; folders stand for all below them."""
        if self._notify is None:
            stop.wait(seconds)
            return set()
        told = self._told(self._notify, seconds, stop)
        new = {path for path in told - self._folders if is_folder(path) and self._covers(path)}
        return told | self._also(new) if new else told

    def _covers(self, path: str) -> bool:
        return any(is_below(path, base) for base in self.bases)

    def _told(self, notify: RustNotify, seconds: float, stop: Event) -> set[str]:
        told: set[tuple[int, str]] | Literal["signal", "stop", "timeout"]
        told = notify.watch(MOST_MS, STEP_MS, max(int(seconds * 1000), 1), stop)
        return set() if isinstance(told, str) else {path for _, path in told}

    def _also(self, new: set[str]) -> set[str]:
        """Begin to follow new folders; what the old notifier still held is told as well."""
        old = self._notify
        self._open(self._folders | below(new))
        return new | (self._told(old, 0.001, Event()) if old is not None else set())

    def _open(self, wanted: set[str]) -> None:
        """A folder that is made while the others are being named is found by looking again."""
        for _ in range(TRIES):
            try:
                notify = RustNotify(sorted(wanted), False, False, 0, False, True)
            except FileNotFoundError:
                wanted = below(self.bases)
                continue
            except (OSError, WatchfilesRustInternalError) as error:
                self._notify, self._folders, self.trouble = None, wanted, _trouble(error)
                return
            known, wanted = wanted, wanted | below(wanted - self._folders)
            self._notify, self._folders, self.trouble = notify, known, ""
            if wanted == known:
                return


def _trouble(error: Exception) -> str:
    told = getattr(error, "strerror", None) or "the kernel cannot tell of changes"
    return f"{told}: looked at every 10 s instead. Raise fs.inotify.max_user_watches."


def is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def is_below(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip("/") + "/")


def below(bases: Iterable[str]) -> set[str]:
    """These folders and all below them; of a file, the folder it lies in."""
    found = {os.path.dirname(base) for base in bases if os.path.isfile(base)}  # noqa: PTH113, PTH120
    stack = [base for base in bases if is_folder(base)]
    while stack:
        folder = stack.pop()
        if folder in found:
            continue
        found.add(folder)
        try:
            with os.scandir(folder) as entries:
                stack += [each.path for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return found
