"""Text meant for a terminal: colours are understood, what else a terminal would obey becomes words.

Nothing here moves a cursor, sets a title or fills a clipboard: a reader sees that the text asked
for it, and what it asked for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

# More pieces than this are hostile or a test pattern: the rest is shown as it is.
MOST_SPANS = 2000
LONGEST_TOLD = 200

_SEQUENCE = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]{0,80})m"
    r"|\x1b\[(?P<csi>[0-?]{0,80}[ -/]{0,8}[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b\n]{0,4000})(?:\x07|\x1b\\)"
    r"|\x1b[PX^_](?P<string>[^\x07\x1b\n]{0,4000})(?:\x07|\x1b\\)"
    r"|\x1b(?P<other>[ -/]{0,4}[0-Z\\`-~])"
)
_SGR = re.compile(r"\x1b\[[0-9;:]{0,80}m")
_MOVES = {
    **dict.fromkeys("ABCDEFGHf`ad", "cursor moved"),
    "J": "screen erased",
    "K": "line erased",
    "L": "lines inserted",
    "M": "lines deleted",
    "P": "characters deleted",
    "S": "scrolled",
    "T": "scrolled",
    "h": "mode set",
    "l": "mode reset",
    "n": "report asked for",
    "c": "report asked for",
    "s": "place saved",
    "u": "place restored",
    "t": "window changed",
}
_ASKED = {
    **dict.fromkeys(("0", "1", "2"), "title"),
    "7": "folder",
    "8": "link",
    "9": "notice",
    "52": "clipboard",
    "777": "notice",
}
_OTHERS = {"c": "terminal reset", "7": "place saved", "8": "place restored", "M": "cursor moved"}
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_UNSET = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    27: ("reverse",),
    29: ("strike",),
}
_STEPS = (0, 95, 135, 175, 215, 255)
# Near enough to what terminals show; a colour outside is drawn as the nearest of these.
_PALETTE = (
    *((0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16)),
    *((36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204)),
    *((102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67)),
    *((59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255)),
)


class Span(NamedTuple):
    text: str
    # Names of classes; `token` marks words of this module in place of a sequence.
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pen:
    foreground: int | None = None
    background: int | None = None
    flags: frozenset[str] = frozenset()

    @property
    def style(self) -> str:
        names = [f"a-{flag}" for flag in sorted(self.flags)]
        if self.foreground is not None:
            names.append(f"a-fg{self.foreground}")
        if self.background is not None:
            names.append(f"a-bg{self.background}")
        return " ".join(names)


def is_coloured(text: str) -> bool:
    return "\x1b" in text


def uncoloured(text: str) -> str:
    """Without the colours that `spans` draws; everything else stays, to be seen or counted."""
    return _SGR.sub("", text) if "\x1b" in text else text


def spans(text: str) -> list[Span]:
    out: list[Span] = []
    pen, at = _Pen(), 0
    for found in _SEQUENCE.finditer(text):
        if len(out) >= MOST_SPANS:
            break
        if found.start() > at:
            out.append(Span(text[at : found.start()], pen.style))
        at = found.end()
        if found["sgr"] is None:
            out.append(Span(_told(found), "token"))
        else:
            pen = _drawn(pen, found["sgr"])
    if at < len(text):
        out.append(Span(text[at:], pen.style))
    return out


def _told(found: re.Match[str]) -> str:
    if (csi := found["csi"]) is not None:
        return _MOVES.get(csi[-1], f"CSI {csi}")
    if (osc := found["osc"]) is not None:
        number, _, content = osc.partition(";")
        return f"{_ASKED.get(number, f'OSC {number[:8]}')}: {content[:LONGEST_TOLD]}"
    if (string := found["string"]) is not None:
        return f"string: {string[:LONGEST_TOLD]}"
    other = found["other"]
    return _OTHERS.get(other, f"ESC {other}")


def _drawn(pen: _Pen, codes: str) -> _Pen:
    numbers = iter([int(code[:4] or 0) for code in re.split("[;:]", codes)])
    for number in numbers:
        if number in (38, 48):
            pen = _with_colour(pen, number == 38, _extended(numbers))
        else:
            pen = _with(pen, number)
    return pen


def _with(pen: _Pen, number: int) -> _Pen:
    if number == 0:
        return _Pen()
    if number in _FLAGS:
        return replace(pen, flags=pen.flags | {_FLAGS[number]})
    if number in _UNSET:
        return replace(pen, flags=pen.flags - set(_UNSET[number]))
    base, place = divmod(number, 10)
    if base in (3, 9):
        return _with_colour(pen, True, _place(place, base == 9))
    if base in (4, 10):
        return _with_colour(pen, False, _place(place, base == 10))
    return pen


def _place(place: int, is_bright: bool) -> int | None:
    """8 stands for another notation, 9 for no colour."""
    return place + 8 * is_bright if place < 8 else None


def _with_colour(pen: _Pen, is_foreground: bool, colour: int | None) -> _Pen:
    if is_foreground:
        return replace(pen, foreground=colour)
    return replace(pen, background=colour)


def _extended(numbers: Iterator[int]) -> int | None:
    """`5;n` of a table of 256, or `2;r;g;b`."""
    way = next(numbers, 0)
    if way == 5:
        return _of_table(min(next(numbers, 0), 255))
    if way == 2:
        red, green, blue = (min(next(numbers, 0), 255) for _ in range(3))
        return _nearest(red, green, blue)
    return None


def _of_table(number: int) -> int:
    if number < 16:
        return number
    if number >= 232:
        grey = 8 + (number - 232) * 10
        return _nearest(grey, grey, grey)
    red, rest = divmod(number - 16, 36)
    green, blue = divmod(rest, 6)
    return _nearest(_STEPS[red], _STEPS[green], _STEPS[blue])


def _nearest(red: int, green: int, blue: int) -> int:
    def away(place: int) -> int:
        r, g, b = _PALETTE[place]
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    return min(range(16), key=away)
