"""What happens in a demo session, before any agent's file format: beats, read from a screenplay.

A screenplay is text whose lines starting with `§` open a beat; what follows is its body:

    §user / §say / §think / §system     somebody's words (lines are joined to paragraphs)
    §bash CMD, §read PATH, §grep WORD   a tool call, the body is what it printed
    §fetch URL                          (a `!` after the tool's name: the call failed)
    §edit PATH                          body: old text, a line `===`, new text
    §write PATH                         body: the file
    §wait MINUTES                       nobody does anything
    §work COUNT                         that many everyday calls of the project
    §mark NAME                          a point other sessions may branch from
    §back NAME                          go back to that point and try again (trees only)
    §agent TITLE                        a helper runs in its own session, the body is its answer
    §compact                            the context was summarised, the body is the summary
    §trouble                            the model's provider failed, the body is its message
    §scrap                              one line that is no JSON at all
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from sessions_app.ingest.demo import toolbox
from sessions_app.ingest.demo.cast import Project
from sessions_app.ingest.demo.sourcecode import source

_BLOCK = re.compile(r"^(?:[-*#>|`]|\d+\. |    )")
_BODY_ARGUMENT = {
    "bash": "command",
    "read": "path",
    "grep": "pattern",
    "fetch": "url",
    "agent": "title",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Something said: by the person, the model, or the system prompt."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    tool: str
    arguments: dict[str, str] = field(default_factory=dict)
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrap:
    text: str


Beat = Words | Thought | Call | Pause | Mark | Back | Compaction | Trouble | Scrap

_ROLES = {"user": "user", "say": "assistant", "system": "system"}
_PLACES: dict[str, type[Mark | Back]] = {"mark": Mark, "back": Back}
_TEXTS: dict[str, type[Thought | Compaction | Trouble]] = {
    "think": Thought,
    "compact": Compaction,
    "trouble": Trouble,
}


def parse(script: str, project: Project, rng: Random) -> Iterator[Beat]:
    for part in ("\n" + script).split("\n§")[1:]:
        head, _, body = part.partition("\n")
        verb, _, rest = head.partition(" ")
        if verb == "work":
            yield from everyday(project, rng, int(rest))
        else:
            yield _beat(verb, rest, body.rstrip("\n"))


def everyday(project: Project, rng: Random, count: int) -> Iterator[Beat]:
    for step in toolbox.steps(project, rng, count):
        if step.remark:
            yield Words(role="assistant", text=step.remark)
        yield Call(tool=step.tool, arguments=step.arguments, output=step.output, failed=step.failed)


def _beat(verb: str, rest: str, body: str) -> Beat:
    if verb in _ROLES:
        return Words(role=_ROLES[verb], text=_paragraphs(body))
    if verb in _PLACES:
        return _PLACES[verb](name=rest)
    if verb in _TEXTS:
        return _TEXTS[verb](text=_paragraphs(body))
    if verb == "wait":
        return Pause(minutes=int(rest))
    if verb == "scrap":
        return Scrap(text=body)
    return _call(verb.rstrip("!"), rest, body, failed=verb.endswith("!"))


def _call(tool: str, rest: str, body: str, *, failed: bool) -> Call:
    if tool == "edit":
        old, _, new = body.partition("\n===\n")
        arguments = {"path": rest, "old": old, "new": new}
        output = f"Edited {rest}: 1 replacement."
    elif tool == "write":
        arguments = {"path": rest, "content": body + "\n"}
        output = f"Wrote {rest} ({len(body) + 1} bytes)."
    else:
        arguments = {_BODY_ARGUMENT[tool]: rest}
        output = body if body or tool != "read" else source(rest)
    return Call(tool=tool, arguments=arguments, output=output, failed=failed)


def _paragraphs(body: str) -> str:
    """Joins wrapped prose; lists, quotes, tables and fenced code keep their lines."""
    out: list[str] = []
    fenced = False
    for line in body.split("\n"):
        joins = bool(out) and bool(out[-1]) and bool(line) and not fenced
        if joins and not _BLOCK.match(line) and not out[-1].startswith(("|", "```", "    ")):
            out[-1] += " " + line.strip()
        else:
            out.append(line)
        fenced ^= line.startswith("```")
    return "\n".join(out)
