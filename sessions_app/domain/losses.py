"""What a readable line says and its reading does not: the bytes are kept, and it is told."""

import json
import re
from typing import Any

import orjson

BOM = b"\xef\xbb\xbf"
# A longer line is not looked through while somebody waits for a page.
LONGEST = 256 * 1024
NUL = rb"\u0000"
# Digits a number of the reading holds for certain.
EXACT_INTEGER = 19
EXACT_DIGITS = 17
# Keys that are named at the most, and how much of each.
MOST_KEYS = 3
LONGEST_KEY = 40
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def of(line: bytes) -> str:
    """A sentence, or nothing. Never raises."""
    if len(line) > LONGEST:
        return ""
    told = "; ".join([*_marks(line), *_inside(line.removeprefix(BOM).strip())])
    return f"Not all of the line can be shown as it is: {told}." if told else ""


def _marks(line: bytes) -> list[str]:
    told = ["a byte order mark stands before it"] if line.startswith(BOM) else []
    if NUL in line:
        told.append("it holds NUL characters")
    return told


def _inside(line: bytes) -> list[str]:
    try:
        if orjson.dumps(orjson.loads(line)) == line:
            return []
        return _Looked(line.decode()).told()
    except (ValueError, RecursionError, orjson.JSONEncodeError):
        return []


class _Looked:
    """Every object and number of a line, as it is written there."""

    def __init__(self, text: str) -> None:
        self._keys: dict[str, None] = {}
        self._is_rounded = False
        json.loads(
            text, object_pairs_hook=self._pairs, parse_int=self._integer, parse_float=self._number
        )

    def _pairs(self, pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) == len(pairs):
            return
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                self._keys[key] = None
            seen.add(key)

    def _integer(self, text: str) -> None:
        self._is_rounded |= len(text.lstrip("-")) > EXACT_INTEGER

    def _number(self, text: str) -> None:
        found = _DIGITS.match(text.lstrip("-"))
        digits = found.group().replace(".", "").lstrip("0") if found else ""
        self._is_rounded |= len(digits) > EXACT_DIGITS or abs(float(text)) == float("inf")

    def told(self) -> list[str]:
        told = []
        if self._keys:
            names = ", ".join(key[:LONGEST_KEY] for key in list(self._keys)[:MOST_KEYS])
            told.append(f"of keys that stand in it twice ({names}) only the last is read")
        if self._is_rounded:
            told.append("a number has more digits than are kept")
        return told
