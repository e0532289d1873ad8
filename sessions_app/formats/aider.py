"""Aider's `.aider.chat.history.md`: Markdown that only grows, many runs in one file.

`# aider chat started at …` begins a run, `#### ` marks what a person typed, `> ` what the program
put out; the rest is the model's. Evidence: docs/formats/aider.md.
"""

import re
from collections.abc import Iterator

from sessions_app.domain import times
from sessions_app.domain.events import (
    Message,
    Notes,
    Reading,
    Record,
    Role,
    Text,
    Unreadable,
)
from sessions_app.formats.json_lines import word
from sessions_app.formats.shape import Format, Head

RUN = b"# aider chat started at "
LINE = re.compile(rb"[^\n]*\n")
BEGINS_RUN = re.compile(rb"^# aider chat started at \d{4}-\d\d-\d\d ", re.MULTILINE)
# A longer block is broken before a line: a file without marks would be a single one.
LONGEST_BLOCK = 1024 * 1024
MODEL = re.compile(r"^(?:Main model|Models?): (\S+) with ", re.MULTILINE)
VERSION = re.compile(r"^Aider v(\S+)", re.MULTILINE)
NOTED_CHARACTERS = 4000


def recognises(head: Head) -> bool:
    return bool(BEGINS_RUN.search(head.raw))


def cut(raw: bytes) -> list[int]:
    """Where a line is of another kind than the one before. Blank lines belong to what is before
    them. A last line without its end may yet turn out to be of any kind: it begins nothing."""
    starts = [0]
    before = ""
    for at, kind in _kinds(raw):
        is_other = bool(before) and (kind != before or kind == "run")
        if kind and (is_other or at - starts[-1] > LONGEST_BLOCK):
            starts.append(at)
        # What a person types is never interrupted by a blank line.
        before = kind or ("blank" if before in ("user", "blank") else before)
    return starts


def _kinds(raw: bytes) -> Iterator[tuple[int, str]]:
    for line in LINE.finditer(raw):
        yield line.start(), _kind(line[0])


def _kind(line: bytes) -> str:
    if line.startswith(b"#"):
        if line.startswith(RUN):
            return "run"
        return "user" if line.startswith(b"#### ") or line.strip() == b"####" else "assistant"
    if line.startswith(b"> ") or line.strip() == b">":
        return "output"
    return "assistant" if line.strip() else ""


def read(block: bytes) -> Reading:
    try:
        text = block.decode()
    except UnicodeDecodeError:
        return Reading(body=Unreadable(reason="not UTF-8 text"))
    kind = next((kind for _, kind in _kinds(block + b"\n") if kind), "")
    if kind == "run":
        return _run(text)
    if kind == "user":
        return Reading(body=_said(Role.USER, _without(text, "####")))
    if kind == "output":
        shown = _without(text, ">")
        return Reading(body=_said(Role.SYSTEM, shown), notes=_notes(shown))
    if kind:
        return Reading(body=_said(Role.ASSISTANT, text.strip("\r\n")))
    return Reading(body=Record(label="blank", fields={}))


def _run(text: str) -> Reading:
    """The time is local and without a zone: it is taken for UTC."""
    started = text.strip().partition("\n")[0].removeprefix(RUN.decode()).strip()
    body = Record(label="run", fields={"started": started})
    return Reading(body=body, at=times.read(started))


def _said(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),) if text else ())


def _without(text: str, mark: str) -> str:
    """Each line without its mark and the two spaces that end a line in Markdown."""
    lines = text.strip("\r\n").split("\n")
    bare = [line.removeprefix(mark).removeprefix(" ") for line in lines]
    return "\n".join(line.rstrip() for line in bare).strip("\n")


def _notes(shown: str) -> Notes | None:
    """The program says at the start of a run which model it uses."""
    head = shown[:NOTED_CHARACTERS]
    model, version = MODEL.search(head), VERSION.search(head)
    if not model and not version:
        return None
    return Notes(model=word(model[1]) if model else "", version=word(version[1]) if version else "")


FORMAT = Format(name="aider", agent="aider", recognises=recognises, read=read, cut=cut, grows=True)
