"""Letters that whatever fits a regular expression must contain: most lines are left out by them.

Read from the source with great care rather than much skill: where it is not plain, there are none.
"""

import re

_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_COUNT = re.compile(r"\{[^}]*\}")
# Written in a raw line as in the text: JSON escapes the others, or may.
_STEADY = re.compile(r"[0-9A-Za-z_ .:;=,!#%+*$@~^-]+")


def of(source: str) -> bytes:
    """The longest stretch, in small letters; empty if there is none for sure."""
    if "|" in source or "(?" in source:
        return b""
    runs = [found for run in _runs(source) for found in _STEADY.findall(run)]
    return max((run.lower().encode() for run in runs if run.isascii()), key=len, default=b"")


def _runs(source: str) -> list[str]:
    """Stretches of letters outside of any group, less those that may be repeated no times."""
    out, at, depth = [""], 0, 0
    while at < len(source):
        sign = source[at]
        at += 1
        if sign == "\\":
            letter = source[at : at + 1]
            at += 1
            out = _ended(out) if letter.isalnum() else _longer(out, letter, depth)
        elif sign == "[":
            found = _CLASS.match(source, at - 1)
            at = found.end() if found else len(source)
            out = _ended(out)
        elif sign in "*?{":
            found = _COUNT.match(source, at - 1)
            at = found.end() if found else at
            out = _ended([*out[:-1], out[-1][:-1]])
        elif sign in "().^$+":
            depth += (sign == "(") - (sign == ")")
            out = _ended(out)
        else:
            out = _longer(out, sign, depth)
    return out


def _ended(runs: list[str]) -> list[str]:
    return [*runs, ""] if runs[-1] else runs


def _longer(runs: list[str], letter: str, depth: int) -> list[str]:
    return [*runs[:-1], runs[-1] + letter] if depth == 0 else runs
