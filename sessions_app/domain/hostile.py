"""Characters that hide from a reader: which they are, how they are named, how they are shown.

Transcripts are hostile input. A reviewer must see what the model saw, so invisible and
direction-changing characters are found here and made visible by whoever renders text.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

# Ready for a character class. Newline and tab are ordinary; CR is ordinary only before LF.
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ZERO_WIDTH = "\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"
_SEPARATORS = "\u2028\u2029"
_FILLERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\U0001d159\U0001d173-\U0001d17a"
_SURROGATES = "\ud800-\udfff"
# Supplementary private use has no agreed picture, and stand_ins() needs it for itself.
_PRIVATE = "\U000f0000-\U000ffffd"
_SINGLE = _CONTROLS + _BIDI + _ZERO_WIDTH + _SEPARATORS + _FILLERS + _SURROGATES + _PRIVATE
_TAGS = "\U000e0000-\U000e007f"
# One variation selector belongs to an emoji; a run of them carries hidden bytes.
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

_HIDDEN = re.compile(rf"([{_SINGLE}])\1*|\r(?!\n)|[{_TAGS}]+|[{_SELECTORS}]{{2,}}")
# Most texts have none of these, and a plain class is found many times faster than the runs.
_SUSPECT = re.compile(rf"[\r{_SINGLE}{_TAGS}{_SELECTORS}]")
_STAND_IN = re.compile(f"[{_PRIVATE}]")
_FIRST_STAND_IN = 0xF0000
_MOST_STAND_INS = 0xFFFD

_C0_NAMES = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB "
    "CAN EM SUB ESC FS GS RS US"
)
_C0 = _C0_NAMES.split()
_NAMES = {0x00: "NULL", 0x07: "BELL", 0x08: "BACKSPACE", 0x0D: "CARRIAGE RETURN", 0x1B: "ESCAPE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """One run of hidden characters: a short sign for the page and a sentence for its title."""

    sign: str
    title: str


def count(text: str) -> int:
    """How many hidden characters the text carries."""
    if not _SUSPECT.search(text):
        return 0
    return sum(len(found.group()) for found in _HIDDEN.finditer(text))


def reveal(text: str, show: Callable[[str], str]) -> str:
    """The text with every run of hidden characters replaced by what `show` makes of it."""
    if not _SUSPECT.search(text):
        return text
    return _HIDDEN.sub(lambda found: show(found.group()), text)


def plain(text: str) -> str:
    """For places that can hold no markup: titles, attributes, log lines."""
    return reveal(text, lambda run: f"[{describe(run).sign}]")


def stand_ins(text: str) -> tuple[str, list[str]]:
    """Swap hidden runs for private-use characters that survive a parser, and list the runs."""
    runs: dict[str, int] = {}

    def swap(run: str) -> str:
        place = runs.setdefault(run, len(runs))
        return chr(_FIRST_STAND_IN + min(place, _MOST_STAND_INS))

    return reveal(text, swap), list(runs)


def replace_stand_ins(text: str, runs: list[str], show: Callable[[str], str]) -> str:
    """Undo stand_ins() after the parser, showing each run."""

    def back(found: re.Match[str]) -> str:
        place = ord(found.group()) - _FIRST_STAND_IN
        return show(runs[place]) if place < len(runs) else ""

    return _STAND_IN.sub(back, text)


def describe(run: str) -> Hidden:
    """Name a run that `reveal` found."""
    if re.fullmatch(f"[{_TAGS}]+", run):
        return _tag_text(run)
    first, times = run[0], len(run)
    if re.fullmatch(f"[{_SELECTORS}]{{2,}}", run):
        return Hidden(
            sign=f"U+{ord(first):04X} \u00d7{times:,}",
            title=f"{times:,} variation selectors in a row, a way to hide bytes",
        )
    many = f" \u00d7{times:,}" if times > 1 else ""
    return Hidden(sign=_sign(first) + many, title=f"U+{ord(first):04X} {_name(first)}{many}")


def _tag_text(run: str) -> Hidden:
    spelled = "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)
    title = f"{len(run):,} Unicode tag character{'s' if len(run) > 1 else ''}"
    if not spelled:
        return Hidden(sign=f"U+{ord(run[0]):04X}", title=title)
    return Hidden(
        sign=f"U+{ord(run[0]):04X} \u201c{spelled}\u201d", title=f"{title}, spelling: {spelled}"
    )


def _sign(char: str) -> str:
    code = ord(char)
    if code < len(_C0):
        return _C0[code]
    return "DEL" if code == 0x7F else f"U+{code:04X}"


def _name(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "LONE SURROGATE"
    if code >= _FIRST_STAND_IN:
        return "PRIVATE USE"
    return _NAMES.get(code, unicodedata.name(char, "CONTROL CHARACTER"))
