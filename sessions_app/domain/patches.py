"""What an edit changes, line by line: from an old and a new text, or read from a patch."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

# Lines of one file that are compared and kept; what is longer is cut and says so.
MOST_LINES = 1000
MOST_FILES = 50
CONTEXT = 3
# Comparing takes time in the product of what is left when equal ends are cut off. Above this,
# everything old is taken out and everything new put in, which is readable too.
MOST_CELLS = 20_000


class Line(NamedTuple):
    # "+", "-", " ", or "@" for a remark about lines that are not shown.
    sign: str
    text: str
    # Where the line differs from the one it replaces: text[start:end].
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    path: str
    # changed, added, deleted or moved.
    verb: str
    lines: tuple[Line, ...]
    added: int
    removed: int
    is_cut: bool = False


def of_texts(path: str, old: str, new: str) -> Change:
    before, is_old_cut = _cut(old)
    after, is_new_cut = _cut(new)
    lines = _marked(list(_compared(before, after)))
    return _change(path, "changed" if old else "added", lines, is_old_cut or is_new_cut)


def _change(path: str, verb: str, lines: list[Line], is_cut: bool) -> Change:
    return Change(
        path=path,
        verb=verb,
        lines=tuple(_near(lines)),
        added=sum(line.sign == "+" for line in lines),
        removed=sum(line.sign == "-" for line in lines),
        is_cut=is_cut,
    )


def _cut(text: str) -> tuple[list[str], bool]:
    # A last line end ends a line and begins none.
    lines = text.split("\n", MOST_LINES + 1)
    if lines[-1] == "":
        lines.pop()
    return lines[:MOST_LINES], len(lines) > MOST_LINES


# Two texts ---------------------------------------------------------------------------------------


def _compared(old: list[str], new: list[str]) -> Iterator[Line]:
    head = _equal(old, new)
    tail = _equal(old[head:][::-1], new[head:][::-1])
    yield from (Line(" ", text) for text in old[:head])
    yield from _middle(old[head : len(old) - tail], new[head : len(new) - tail])
    yield from (Line(" ", text) for text in old[len(old) - tail :])


def _equal(one: list[str], other: list[str]) -> int:
    """How many lines at the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _middle(old: list[str], new: list[str]) -> list[Line]:
    if len(old) * len(new) > MOST_CELLS:
        return [*(Line("-", text) for text in old), *(Line("+", text) for text in new)]
    length = _lengths(old, new)
    out: list[Line] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            out.append(Line(" ", old[i]))
            i, j = i + 1, j + 1
        elif j == len(new) or (i < len(old) and length[i + 1][j] >= length[i][j + 1]):
            out.append(Line("-", old[i]))
            i += 1
        else:
            out.append(Line("+", new[j]))
            j += 1
    return out


def _lengths(old: list[str], new: list[str]) -> list[list[int]]:
    """Of the longest common subsequence of what begins at each pair of lines."""
    length = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below, line = length[i], length[i + 1], old[i]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if line == new[j] else max(below[j], row[j + 1])
    return length


def _marked(lines: list[Line]) -> list[Line]:
    """Where as many lines come as go, each pair shows what changed inside it."""
    out: list[Line] = []
    gone: list[Line] = []
    come: list[Line] = []

    def close() -> None:
        if gone and len(gone) == len(come):
            pairs = [_differing(a, b) for a, b in zip(gone, come, strict=True)]
            out.extend(pair[0] for pair in pairs)
            out.extend(pair[1] for pair in pairs)
        else:
            out.extend((*gone, *come))
        gone.clear()
        come.clear()

    for line in lines:
        if line.sign == "-" and not come:
            gone.append(line)
        elif line.sign == "+":
            come.append(line)
        else:
            close()
            (gone if line.sign == "-" else out).append(line)
    close()
    return out


def _differing(old: Line, new: Line) -> tuple[Line, Line]:
    a, b = old.text, new.text
    most = min(len(a), len(b))
    start = next((n for n in range(most) if a[n] != b[n]), most)
    most -= start
    end = next((n for n in range(most) if a[-1 - n] != b[-1 - n]), most)
    # Lines that share next to nothing are wholly different, and a mark would say nothing.
    if start + end < max(len(a), len(b)) // 4:
        return old, new
    return old._replace(start=start, end=len(a) - end), new._replace(start=start, end=len(b) - end)


def _near(lines: list[Line]) -> Iterator[Line]:
    """What is far from any change is left out, with a remark."""
    changed = [n for n, line in enumerate(lines) if line.sign != " "]
    near = {m for n in changed for m in range(n - CONTEXT, n + CONTEXT + 1)}
    skipped = 0
    for n, line in enumerate(lines):
        if n in near or not changed:
            if skipped:
                yield _remark(skipped)
            skipped = 0
            yield line
        else:
            skipped += 1
    if skipped:
        yield _remark(skipped)


def _remark(lines: int) -> Line:
    return Line("@", "1 unchanged line" if lines == 1 else f"{lines:,} unchanged lines")


# Patches -----------------------------------------------------------------------------------------

_VERBS = {"Update": "changed", "Add": "added", "Delete": "deleted"}
_ENVELOPE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.{1,4096})")
_MOVED = re.compile(r"\*\*\* Move to: (.{1,4096})")
_GIT = re.compile(r"diff --git a/(.{1,4096}?) b/(.{1,4096})")
_FILE = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?([^\t\n]{1,4096})")
_QUIET = ("index ", "*** End", "*** Begin", "new file mode", "similarity index", "\\ No newline")


def is_patch(text: str) -> bool:
    return text.startswith(("*** Begin Patch", "diff --git ", "--- ", "Index: "))


def of_patch(text: str) -> list[Change]:
    """The files a patch changes. A line that belongs to no file is shown with the one before."""
    files: list[_File] = []
    lines = text.split("\n", MOST_LINES * 4)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if (begun := _begun(line, following, files)) is not None:
            files.append(begun)
        elif files:
            files[-1].take(line)
    return [file.change() for file in files[:MOST_FILES]]


class _File:
    def __init__(self, path: str, verb: str) -> None:
        self.path, self.verb = path, verb
        self.lines: list[Line] = []
        self.is_cut = False

    def take(self, line: str) -> None:
        if found := _MOVED.fullmatch(line):
            self.path, self.verb = f"{self.path} → {found[1]}", "moved"
        elif line.startswith(("--- ", "+++ ")) and not self.lines:
            self._names(line)
        elif line.startswith(_QUIET):
            return
        elif len(self.lines) >= MOST_LINES:
            self.is_cut = True
        else:
            self._line(line)

    def _names(self, line: str) -> None:
        found = _FILE.fullmatch(line)
        if found and found[1] != "/dev/null":
            self.path = found[1]
        elif found:
            self.verb = "added" if line.startswith("---") else "deleted"

    def _line(self, line: str) -> None:
        sign = line[:1]
        if sign in ("+", "-", " "):
            self.lines.append(Line(sign, line[1:]))
        elif line.startswith("@@"):
            self.lines.append(Line("@", line.strip("@ ")))
        elif line:
            self.lines.append(Line(" ", line))

    def change(self) -> Change:
        lines = _marked(self.lines)
        return Change(
            path=self.path,
            verb=self.verb,
            lines=tuple(lines),
            added=sum(line.sign == "+" for line in lines),
            removed=sum(line.sign == "-" for line in lines),
            is_cut=self.is_cut,
        )


def _begun(line: str, following: str, files: list[_File]) -> _File | None:
    if found := _ENVELOPE.fullmatch(line):
        return _File(found[2], _VERBS[found[1]])
    if found := _GIT.fullmatch(line):
        return _File(found[2], "changed")
    is_named = line.startswith("--- ") and following.startswith("+++ ")
    if not is_named or (files and not files[-1].lines):
        return None
    # A plain patch has no line before the names of its file.
    file = _File("", "changed")
    file.take(line)
    return file
