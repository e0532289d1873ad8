"""The text of a file as an agent shows it to its model, read back.

No format of its own. An answer that is not wholly understood gives nothing.
"""

import re
from collections.abc import Callable

from sessions_app.domain.files import Shown

NUMBERED = re.compile(r" *(\d{1,9})(?:\u2192|\t)(.*)")
DOTTED = re.compile(r"(\d{1,9})\. ?(.*)")
PIPED = re.compile(r"(?:0*(\d{1,9})\| |(\d{1,9}): )(.*)")
REMINDER = "<system-reminder>"
CONTINUES = re.compile(r"\n\n(?:\[|\.\.\. \()[^\n]{0,200}\boffset=\d+[^\n]{0,40}[\])]\s*$")
# Sentences in place of a text.
TRUNCATED = (
    *("IMPORTANT: The file content has been truncated", "[File content truncated"),
    *("Read image file", "Cannot display content", "Skipped "),
)
# Not shown as text, whatever stands in the answer.
NO_TEXT = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".pdf", ".svgz", ".mp3", ".wav"),
    *(".mp4", ".zip", ".gz", ".ipynb"),
)
# Agents that number lines show no more than this at once.
CUT_AT = 2_000
# A recorder that trims what it keeps does not say where.
TRIMMED_ABOVE = 8_000


def _numbered(text: str) -> Shown | None:
    return _by_number(text, NUMBERED, (REMINDER, "\n" + REMINDER))


def _dotted(text: str) -> Shown | None:
    return _by_number(text, DOTTED, ())


def _by_number(text: str, pattern: re.Pattern[str], tails: tuple[str, ...]) -> Shown | None:
    """Numbers must follow each other; what stands behind them is not the file."""
    lines = text.split("\n")
    found: list[str] = []
    first = 0
    for line in lines:
        hit = pattern.fullmatch(line)
        number = int(hit[1]) if hit else 0
        first = first or number
        if hit is None or number != first + len(found):
            break
        found.append(hit[2])
    rest = "\n".join(lines[len(found) :]).strip("\n")
    if not found or (rest and not rest.startswith(tails or ("\0",))):
        return None
    is_whole = first == 1 and len(found) < CUT_AT
    return Shown(text="\n".join(found), first=first, is_whole=is_whole)


def _piped(text: str) -> Shown | None:
    """Between two tags; whether the last line ends with a line end is not told."""
    lines = text.split("\n")
    hits = [hit for hit in map(PIPED.fullmatch, lines) if hit]
    numbers = [int(hit[1] or hit[2]) for hit in hits]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return Shown(text="\n".join(hit[3] for hit in hits), first=numbers[0])


def _trimmed(text: str) -> Shown | None:
    return _raw(text) if len(text) < TRIMMED_ABOVE else None


def _raw(text: str) -> Shown | None:
    notice = CONTINUES.search(text[-400:])
    if notice:
        return Shown(text=text[: len(text) - len(notice[0])])
    return None if text.startswith(TRUNCATED) else Shown(text=text, is_whole=True)


# How an agent shows a file, by the name of its format.
SHOWN: dict[str, Callable[[str], Shown | None]] = {
    "claude-code": _numbered,
    "copilot-cli": _dotted,
    "opencode": _piped,
    "opencode-file": _piped,
    "pi": _raw,
    "gemini": _trimmed,
    "gemini-log": _trimmed,
}


def read_back(fmt: str, text: str, path: str) -> Shown | None:
    """None where the way this agent shows a file is not known."""
    if fmt not in SHOWN or path.casefold().endswith(NO_TEXT):
        return None
    return SHOWN[fmt](text)
