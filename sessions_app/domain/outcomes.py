"""How a command ended, from what its output says of itself."""

import json
import re
from dataclasses import dataclass

LONGEST_PARSED = 1_000_000

# Facts some agents put before the output they hand to the model.
_PREFACE = re.compile(
    r"(?:(?:Chunk ID|Wall time|Exit code|Process exited with code|Process running with session ID"
    r"|Original token count|Total output lines)\b[^\n]{0,120}\n){1,8}(?:Output:\n)?"
)
_EXIT_CODE = re.compile(r"(?:Exit code:?|Process exited with code) (-?\d{1,10})\b")
_WALL_TIME = re.compile(r"Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds")
# Others name the code alone, before or after what was printed.
_FIRST = re.compile(r"Exit code:? (-?\d{1,10})\n")
_LAST = re.compile(
    r"(?:<[^<>\n]{0,80}(?:exited|completed) with exit code (-?\d{1,10})>|Exit Code: (-?\d{1,10}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`text` is what was printed, without the facts that are told beside it."""

    text: str
    exit_code: int | None = None
    seconds: float | None = None


def of(text: str) -> Outcome:
    return _wrapped(text) or _prefaced(text) or _named(text)


def _wrapped(text: str) -> Outcome | None:
    """JSON with the output inside."""
    if not text.startswith('{"output"') or len(text) > LONGEST_PARSED:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    told = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(told, dict) or not isinstance(value["output"], str):
        return None
    code, seconds = told.get("exit_code"), told.get("duration_seconds")
    is_time = isinstance(seconds, int | float) and 0 <= seconds < 10**9
    return Outcome(
        text=value["output"],
        exit_code=code if type(code) is int else None,
        seconds=float(seconds) if seconds is not None and is_time else None,
    )


def _prefaced(text: str) -> Outcome | None:
    found = _PREFACE.match(text)
    if found is None:
        return None
    code, time = _EXIT_CODE.search(found[0]), _WALL_TIME.search(found[0])
    return Outcome(
        text=text[found.end() :],
        exit_code=int(code[1]) if code else None,
        seconds=float(time[1]) if time else None,
    )


def _named(text: str) -> Outcome:
    if found := _FIRST.match(text):
        return Outcome(text=text[found.end() :], exit_code=int(found[1]))
    if found := _LAST.search(text, max(0, len(text) - 200)):
        return Outcome(text=text, exit_code=int(found[1] or found[2]))
    return Outcome(text=text)
