"""Files a shell command reads or changes, where the command says so beyond doubt.

A command that needs more than splitting into words to be understood (a loop, a variable, a pattern)
says nothing here. What a command prints is not taken for the text of a file.
"""

import re
import shlex
from collections.abc import Callable, Iterator

from sessions_app.domain.files import (
    Act,
    Altered,
    Change,
    Deed,
    Erased,
    Inserted,
    Shown,
    Written,
    placed,
)

LONGEST = 16 * 1024
LONGEST_HEREDOC = 4 * 1024 * 1024
MOST_ACTS = 50
# Words and signs after which a command is a program of its own.
BEYOND = ("$(", "`", "<(", ">(", "<<")
KEYWORDS = {
    *(
        "for",
        "while",
        "until",
        "if",
        "case",
        "select",
        "function",
        "do",
        "then",
        "{",
        "}",
        "(",
        ")",
    ),
    *("eval", "exec", "xargs", "sudo", "ssh", "env", "[[", "!", "pushd", "popd"),
}
# A sign in quotes is a word like any other, but no longer looks different once it is split off.
QUOTED_SIGN = re.compile(r"\\[<>&|;()]|(['\"])[<>&|;()]+\1")
PATTERN = re.compile(r"[$*?\[\]{}<>|&;()\n\0]")
HEREDOC = re.compile(
    r"\s*(?:cd\s+(?P<cd>[^\s'\"$`\\;&|<>]+)\s*&&\s*)?cat\s*"
    r"(?:(?P<sign>>{1,2})\s*(?P<path>[^\s'\"$`\\;&|<>*?]+)\s*<<\s*(['\"])(?P<end>\w+)\4"
    r"|<<\s*(['\"])(?P<end2>\w+)\6\s*(?P<sign2>>{1,2})\s*(?P<path2>[^\s'\"$`\\;&|<>*?]+))[ \t]*\n"
)
PRINTED = re.compile(r"\d+(?:,(?:\d+|\$))?p")

Words = list[str]


def acts(command: str, cwd: str) -> list[Act]:
    """As if all of it took place: the caller knows how it ended."""
    if "<<" in command:
        return _heredoc(command, cwd)
    if len(command) > LONGEST or any(sign in command for sign in BEYOND):
        return []
    if QUOTED_SIGN.search(command):
        return []
    found = list(_acts(command, cwd))
    return found if len(found) <= MOST_ACTS else []


# A text written out ------------------------------------------------------------------------------


def _heredoc(command: str, cwd: str) -> list[Act]:
    """Only if the command is nothing else, and its text is taken as it stands."""
    head = HEREDOC.match(command) if len(command) <= LONGEST_HEREDOC else None
    if head is None:
        return []
    body, found, rest = f"\n{command[head.end() :]}\n".partition(
        f"\n{head['end'] or head['end2']}\n"
    )
    if not found or rest.strip():
        return []
    text = f"{body[1:]}\n" if len(body) > 1 else ""
    path = placed(
        head["path"] or head["path2"], placed(head["cd"] or "", cwd) if head["cd"] else cwd
    )
    if (head["sign"] or head["sign2"]) == ">":
        return [Act(deed=Deed.WRITE, path=path, change=Written(text=text))]
    return [Act(deed=Deed.EDIT, path=path, change=Inserted(text=text))]


# Commands ----------------------------------------------------------------------------------------


def _acts(command: str, cwd: str) -> Iterator[Act]:
    chain = _chain(command)
    is_sure = all(link in ("", "&&") for link, _ in chain)
    for link, pipeline in chain:
        if link == "||" or any(not words or words[0] in KEYWORDS for words in pipeline):
            return
        if pipeline[0][0] == "cd":
            if len(pipeline[0]) != 2 or PATTERN.search(pipeline[0][1]):
                return
            cwd = placed(pipeline[0][1], cwd)
            continue
        for words in pipeline:
            for deed, path, change in _of_words(words, is_sure):
                if _is_plain(path):
                    yield Act(deed=deed, path=placed(path, cwd), change=change)


def _chain(command: str) -> list[tuple[str, list[Words]]]:
    """Pipelines, each with the sign before it; none if the command cannot be split."""
    try:
        words = [word for line in command.split("\n") for word in [*_split(line), ";"]]
    except ValueError:
        return []
    out: list[tuple[str, list[Words]]] = []
    link, pipeline = "", [[]]  # type: tuple[str, list[Words]]
    for word in words:
        if word in ("&&", "||", ";", "&"):
            if pipeline != [[]]:
                out.append((link, pipeline))
                link, pipeline = word, [[]]
        elif word == "|":
            pipeline.append([])
        else:
            pipeline[-1].append(word)
    return out


def _split(line: str) -> Words:
    splitter = shlex.shlex(line, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = ""
    return list(splitter)


def _is_plain(path: str) -> bool:
    return bool(path) and not PATTERN.search(path) and not path.startswith(("/dev/", "-", "/proc/"))


Told = tuple[Deed, str, Change]


def _of_words(words: Words, is_sure: bool) -> Iterator[Told]:
    words, targets = _redirected(words)
    for path in targets:
        yield Deed.WRITE, path, Altered()
    if not words:
        return
    name = words[0].rpartition("/")[2]
    if name in ("rm", "mv"):
        yield from (_removed if name == "rm" else _renamed)(words[1:], is_sure)
    elif name in COMMANDS:
        deed, operands = COMMANDS[name]
        change: Change = Shown() if deed is Deed.READ else Altered()
        for path in operands(words[1:]):
            yield deed, path, change
    elif name == "sed":
        yield from _sed(words[1:])


def _redirected(words: Words) -> tuple[Words, Words]:
    """The command without its redirections, and the files that its output goes to."""
    kept: Words = []
    targets: Words = []
    at = 0
    while at < len(words):
        if words[at] and set(words[at]) <= set("<>&|") and at + 1 < len(words):
            if ">" in words[at] and not words[at].endswith("&"):
                is_errors = bool(kept) and kept[-1] == "2"
                targets += [] if is_errors else [words[at + 1]]
            kept = kept[:-1] if kept and kept[-1].isdigit() else kept
            at += 2
        else:
            kept.append(words[at])
            at += 1
    return kept, targets


def _operands(words: Words) -> Words:
    return [word for word in words if not word.startswith("-")]


def _counted(words: Words) -> Words:
    """Of `head` and `tail`: a number may follow its option."""
    before = ["", *words]
    return [
        word
        for word, option in zip(words, before, strict=False)
        if not word.startswith("-") and option not in ("-n", "-c", "--lines", "--bytes")
    ]


def _last(words: Words) -> Words:
    operands = _operands(words)
    return operands[-1:] if len(operands) > 1 else []


def _restored(words: Words) -> Words:
    if words[:1] == ["restore"]:
        return _operands(words[1:])
    if words[:1] == ["checkout"] and "--" in words:
        return words[words.index("--") + 1 :]
    return []


COMMANDS: dict[str, tuple[Deed, Callable[[Words], Words]]] = {
    "cat": (Deed.READ, _operands),
    "nl": (Deed.READ, _operands),
    "bat": (Deed.READ, _operands),
    "head": (Deed.READ, _counted),
    "tail": (Deed.READ, _counted),
    "tee": (Deed.WRITE, _operands),
    "cp": (Deed.WRITE, _last),
    "git": (Deed.EDIT, _restored),
}


def _removed(words: Words, is_sure: bool) -> Iterator[Told]:
    options = "".join(word for word in words if word.startswith("-"))
    if "r" in options.lower():
        # Folders: which files were in them is not said.
        return
    for path in _operands(words):
        yield Deed.DELETE, path, Erased() if is_sure else Altered()


def _renamed(words: Words, is_sure: bool) -> Iterator[Told]:
    """Whether the target is a file or a folder is not said, so what is in it now is not known."""
    operands = _operands(words)
    if len(operands) == 2:
        source, target = operands
        yield Deed.RENAME, source, Erased(target=target) if is_sure else Altered()
        yield Deed.RENAME, target, Altered()


def _sed(words: Words) -> Iterator[Told]:
    options = [word for word in words if word.startswith("-")]
    operands = [word for word in words if word and not word.startswith("-")]
    if any(option.startswith(("-i", "--in-place")) for option in options):
        for path in operands[1:]:
            yield Deed.EDIT, path, Altered()
    elif options == ["-n"] and len(operands) == 2 and PRINTED.fullmatch(operands[0]):
        yield Deed.READ, operands[1], Shown()
