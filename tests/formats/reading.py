"""Short ways to read a record and to say what is in it."""

from pathlib import Path

import orjson
import pytest

from sessions_app import formats
from sessions_app.domain.events import Message, Notes, Part, Reading
from sessions_app.formats import Format
from tests.build import SHARED


def read(fmt: Format, record: object) -> Reading:
    return formats.read(fmt, orjson.dumps(record))


def message(reading: Reading) -> Message:
    assert isinstance(reading.body, Message)
    return reading.body


def parts(reading: Reading) -> tuple[Part, ...]:
    return message(reading).parts


def notes(reading: Reading) -> Notes:
    assert reading.notes is not None
    return reading.notes


def records(fmt: Format, raw: bytes) -> list[Reading]:
    """Every record of a source; the pieces join to it."""
    if fmt.cut is None:
        pieces = raw.splitlines(keepends=True)
    else:
        starts = fmt.cut(raw)
        pieces = [raw[lo:hi] for lo, hi in zip(starts, [*starts[1:], len(raw)], strict=True)]
    assert b"".join(pieces) == raw
    return [formats.read(fmt, piece) for piece in pieces]


def real(folder: str) -> list[Path]:
    """Real logs beside the project, where they are."""
    found = sorted((SHARED / folder).glob("*"))
    if not found:
        pytest.skip(f"no {SHARED / folder} here")
    return found
