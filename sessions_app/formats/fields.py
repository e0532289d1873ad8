"""Values of hostile fields, bounded: counts, money, paths, ids, pictures."""

import re
from typing import Any

from sessions_app.domain.events import Picture
from sessions_app.formats import json_lines

MOST = 2**53
LONGEST_PATH = 4096
PICODOLLARS = 10**12
MOST_PICODOLLARS = 2**62
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
NOTHING: dict[str, Any] = {}


def inside(value: object) -> dict[str, Any]:
    """An object, or an empty one: so that a path through hostile fields never breaks."""
    return value if isinstance(value, dict) else NOTHING


def count(value: object) -> int:
    return min(max(value, 0), MOST) if type(value) is int else 0


def path(value: object) -> str:
    return value[:LONGEST_PATH] if isinstance(value, str) else ""


def picodollars(value: object) -> int | None:
    """A price of nothing says that the writer knew no price."""
    if type(value) not in (int, float) or not 0 < value <= MOST_PICODOLLARS / PICODOLLARS:  # type: ignore[operator]
        return None
    return round(value * PICODOLLARS)  # type: ignore[operator]


def uuid(value: object) -> str:
    """A whole uuid; anything shorter may be the same in two files by chance."""
    if isinstance(value, str) and len(value) == 36 and UUID.fullmatch(value):
        return value.lower()
    return ""


def uuid_in_name(value: object) -> str:
    """The last uuid in the name of a file, whatever the machine separates folders with."""
    if not isinstance(value, str):
        return ""
    found = UUID.findall(re.split(r"[/\\]", value[-LONGEST_PATH:])[-1])
    return found[-1].lower() if found else ""


def picture(data: object, media_type: object, otherwise: str = "image") -> Picture:
    """Of base64 text."""
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return Picture(media_type=json_lines.word(media_type) or otherwise, size=size)


def picture_at(url: object, otherwise: str = "image") -> Picture:
    """A `data:` address carries the picture, any other only says where it was."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return Picture(media_type=otherwise, size=0)
    comma = url.find(",", 0, 200)
    media_type = url[5:comma].partition(";")[0] if comma > 0 else ""
    size = (len(url) - comma - 1) * 3 // 4
    return Picture(media_type=json_lines.word(media_type) or otherwise, size=size)
