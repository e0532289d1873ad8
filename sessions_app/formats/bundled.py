"""Folders of small files that came in as one source, a file a line: the files again.

No format of its own; how the lines come about: docs/formats/bundles.md.
"""

import base64
import re
from collections.abc import Iterable, Iterator

import orjson

FOLDER = "storage"
LONGEST_NAME = 200


def root_of(path: str) -> str | None:
    """The folder the files lie below, if a source of this name was made of files."""
    root, found, name = path.rpartition(f"/{FOLDER}#")
    return root if found and "/" not in name else None


def is_file(line: bytes) -> bool:
    return _file_in(line) is not None


def unpack(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """The files again, byte for byte, under paths that stay below where they are put. Lines that
    hold no file are passed over."""
    seen: set[str] = set()
    for number, line in enumerate(lines):
        found = _file_in(line)
        if found is not None:
            path = _harmless(found[0]) or f"file-{number}"
            while path.casefold() in seen:
                path += "~"
            seen.add(path.casefold())
            yield path, found[1]


def _file_in(line: bytes) -> tuple[str, bytes] | None:
    try:
        fields = orjson.loads(line)
        name, text, packed = (fields.get(key) for key in ("file", "text", "base64"))
        if not isinstance(name, str):
            return None
        if isinstance(text, str):
            return name, text.encode()
        return name, base64.b64decode(packed, validate=True)
    except (ValueError, AttributeError, TypeError):
        return None


def _harmless(path: str) -> str:
    """Names only: no way up, no root, no drive, nothing hidden in a name."""
    names = (re.sub(r'[\x00-\x1f\x7f<>:"|?*]', "_", name) for name in re.split(r"[/\\]", path))
    kept = (name.strip(" .")[:LONGEST_NAME] for name in names)
    return "/".join([name for name in kept if name][-12:])
