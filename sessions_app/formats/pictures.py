"""Pictures inside a line, wherever its format keeps them: base64 whose bytes begin like a picture.

Formats describe a picture and drop its bytes. They are found again in the raw line when somebody
wants to see it. Only what its own bytes say counts, never a name or a media type of the log.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

MOST_PICTURES = 20
MOST_VALUES = 100_000
MOST_BYTES = 8 * 1024 * 1024
# A few hundred bytes can claim to be gigabytes of pixels.
MOST_PIXELS = 40_000_000
SHORTEST = 60
# How the first bytes of each kind look in base64.
_BEGINNINGS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
_ADDRESS = re.compile(r"data:[\w./+-]{1,60}(?:;[\w=-]{1,40}){0,3};base64,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A picture whose bytes agree with its kind."""

    media_type: str
    data: bytes
    width: int
    height: int

    @property
    def suffix(self) -> str:
        return self.media_type.rpartition("/")[2]


def found(raw: bytes) -> list[Found]:
    """Each picture of a line once, in the order of the line."""
    try:
        value = orjson.loads(raw)
    except ValueError:
        return []
    seen: dict[str, None] = {}
    for text in _strings(value):
        if packed := _packed(text):
            seen[packed] = None
        if len(seen) >= MOST_PICTURES:
            break
    return [each for packed in seen if (each := _picture(packed)) is not None]


def _strings(value: object) -> Iterator[str]:
    """In document order; a stack, because depth is hostile too."""
    stack: list[Any] = [value]
    for _ in range(MOST_VALUES):
        if not stack:
            return
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, list):
            stack.extend(reversed(item))


def _packed(text: str) -> str:
    if len(text) < SHORTEST:
        return ""
    if text.startswith("data:") and (address := _ADDRESS.match(text)):
        text = text[address.end() :]
    return text if text.startswith(_BEGINNINGS) else ""


def _picture(packed: str) -> Found | None:
    if len(packed) * 3 // 4 > MOST_BYTES:
        return None
    try:
        data = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind, size = _kind(data)
    if not kind or not 0 < size[0] * size[1] <= MOST_PIXELS:
        return None
    return Found(media_type=kind, data=data, width=size[0], height=size[1])


def _kind(data: bytes) -> tuple[str, tuple[int, int]]:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return "image/png", (_big(data[16:20]), _big(data[20:24]))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", (_little(data[6:8]), _little(data[8:10]))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp", _webp(data)
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", _jpeg(data)
    return "", (0, 0)


def _big(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def _little(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def _webp(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if form == b"VP8L":
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    """The size stands in the frame header, after segments that each say how long they are."""
    at = 2
    for _ in range(200):
        if data[at : at + 1] != b"\xff":
            return 0, 0
        marker = data[at + 1] if at + 1 < len(data) else 0
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + _big(data[at + 2 : at + 4])
    return 0, 0
