"""Texts that tell changes of files: patches with their own envelope, and blocks to search and
replace.

No format of its own. A text that is not wholly understood gives nothing.
"""

import re
from collections.abc import Iterator

from sessions_app.domain.files import (
    Act,
    Deed,
    Erased,
    Patch,
    Patched,
    Reach,
    Swap,
    Written,
    placed,
)

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, UPDATE, DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"
SECTIONS = (ADD, UPDATE, DELETE)
MOST_FILES = 500
# As a shell is told: the patch is the whole of its input.
IN_SHELL = re.compile(
    r"\s*(?:cd\s+(?P<cd>[^\s'\"$`\\;&|<>]+)\s*&&\s*)?(?:apply_patch|applypatch)\s*"
    r"(?:<<\s*['\"]?(?P<end>\w+)['\"]?\s*\n|['\"])"
)
# Borders of a block, with or without the numbers of lines some writers put behind the first.
SEARCH = re.compile(r"(?:<{5,9}|-{5,9}) ?SEARCH>?\s*")
MIDDLE = re.compile(r"={5,9}\s*")
REPLACE = re.compile(r"(?:>{5,9}|\+{5,9}) ?REPLACE>?\s*")
NUMBERS = re.compile(r":(?:start|end)_line:.*|-{5,9}\s*")


class NotUnderstood(Exception):
    pass


def acts(text: str, cwd: str) -> list[Act]:
    """The files a patch touches."""
    start, end = text.find(BEGIN), text.rfind(END)
    if start < 0 or end < start:
        return []
    lines = text[start:end].split("\n")[1:]
    try:
        return [act for section in _sections(lines) for act in _section(section, cwd)][:MOST_FILES]
    except NotUnderstood:
        return []


def in_shell(command: str, cwd: str) -> list[Act]:
    """Of a command that only applies a patch."""
    head = IN_SHELL.match(command)
    if head is None or not command[head.end() :].startswith(BEGIN):
        return []
    return acts(command, placed(head["cd"], cwd) if head["cd"] else cwd)


def _sections(lines: list[str]) -> Iterator[list[str]]:
    found: list[str] = []
    for line in lines:
        if line.startswith(SECTIONS):
            if found:
                yield found
            found = [line]
        elif found:
            found.append(line)
        elif line.strip():
            raise NotUnderstood
    if found:
        yield found


def _section(lines: list[str], cwd: str) -> list[Act]:
    head, body = lines[0], lines[1:]
    while body and not body[-1]:
        body = body[:-1]
    if head.startswith(ADD):
        return [_added(placed(head[len(ADD) :].strip(), cwd), body)]
    if head.startswith(DELETE):
        path = placed(head[len(DELETE) :].strip(), cwd)
        return [Act(deed=Deed.DELETE, path=path, change=Erased())]
    return _updated(placed(head[len(UPDATE) :].strip(), cwd), body, cwd)


def _added(path: str, body: list[str]) -> Act:
    if not all(line.startswith("+") for line in body):
        raise NotUnderstood
    text = "".join(f"{line[1:]}\n" for line in body)
    return Act(deed=Deed.WRITE, path=path, change=Written(text=text), is_new=True)


def _updated(path: str, body: list[str], cwd: str) -> list[Act]:
    target = ""
    if body and body[0].startswith(MOVE):
        target, body = placed(body[0][len(MOVE) :].strip(), cwd), body[1:]
    patches = tuple(_patches(body))
    if not target or target == path:
        return [Act(deed=Deed.EDIT, path=path, change=Patched(patches=patches))]
    return [
        Act(deed=Deed.RENAME, path=path, change=Erased(target=target)),
        Act(deed=Deed.RENAME, path=target, change=Patched(patches=patches, source=path)),
    ]


def _patches(body: list[str]) -> Iterator[Patch]:
    """Lines after `@@` belong together; what follows the sign is a line to look for first."""
    anchors: list[str] = []
    found: list[str] = []
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if found:
                yield _patch(found, anchors)
                found, anchors = [], []
            anchors += [line[3:]] if line[3:].strip() else []
        else:
            found.append(line)


def _patch(lines: list[str], anchors: list[str]) -> Patch:
    is_at_end = lines[-1] == END_OF_FILE
    lines = lines[:-1] if is_at_end else lines
    if any(line[:1] not in ("", " ", "+", "-") for line in lines):
        raise NotUnderstood
    return Patch(
        old=tuple(line[1:] for line in lines if line[:1] != "+"),
        new=tuple(line[1:] for line in lines if line[:1] != "-"),
        anchors=tuple(anchors),
        is_at_end=is_at_end,
    )


def swaps(diff: str) -> tuple[Swap, ...]:
    """Of blocks that say what to search and what to put there."""
    out: list[Swap] = []
    old: list[str] = []
    new: list[str] | None = None
    is_inside = False
    for line in diff.split("\n"):
        if not is_inside:
            is_inside = bool(SEARCH.fullmatch(line))
            old, new = [], None
        elif new is None:
            new = [] if MIDDLE.fullmatch(line) else None
            old += [line] if new is None and (old or not NUMBERS.fullmatch(line)) else []
        elif REPLACE.fullmatch(line):
            out.append(Swap(old=_text(old), new=_text(new), reach=Reach.FIRST))
            is_inside = False
        else:
            new.append(line)
    return tuple(out)


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
