"""Sessions that an agent keeps as folders of many small files: told as one source each.

OpenCode, before its database. Every file is a line, `{"store": …, "file": …, "text": …}`, in the
order of the session: its own file, then each message with its parts. `docs/formats/bundles.md`.
"""

import base64
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, cast

import orjson

from sessions_app import formats
from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.formats import bundled, opencode
from sessions_app.formats.shape import head_of
from sessions_app.ingest.sources import DiskFile, Skipped, walk

LARGEST_FILE = 64 * 1024 * 1024
IN_MEMORY = 1024 * 1024
READ_BYTES = 1024 * 1024
LONGEST_NAME = 200
LOOKED_AT = 10
# Where a session, a message and a part lie below `storage`, in the older layout and in the newer.
LAYOUTS = (
    re.compile(r"session/info/(?P<session>[^/]+)\.json"),
    re.compile(r"session/message/(?P<session>[^/]+)/(?P<message>[^/]+)\.json"),
    re.compile(r"session/part/(?P<session>[^/]+)/(?P<message>[^/]+)/(?P<part>[^/]+)\.json"),
    re.compile(r"session/[^/]+/(?P<session>[^/]+)\.json"),
    re.compile(r"message/(?P<session>[^/]+)/(?P<message>[^/]+)\.json"),
    re.compile(r"part/(?P<message>[^/]+)/(?P<part>[^/]+)\.json"),
)
BELOW = f"/{bundled.FOLDER}/"


class Place(NamedTuple):
    """Where in a session a file belongs. A session's own file has no message, a message no part."""

    root: str
    session: str
    message: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One session. Its files are read when it is opened."""

    path: str
    machine: str
    root: str
    files: tuple[tuple[Place, DiskFile], ...]
    project: str = ""
    identity: str = ""
    is_wanted: bool = True

    @property
    def size(self) -> int:
        return sum(file.size for _, file in self.files)

    @property
    def mtime_ns(self) -> int:
        return max(file.mtime_ns for _, file in self.files)

    def paths(self) -> Iterator[str]:
        return (file.path for _, file in self.files)

    def open(self) -> AbstractContextManager[BinaryIO]:
        spool = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller does
        try:
            for line in self._lines():
                spool.write(line)
            spool.seek(0)
        except BaseException:
            spool.close()
            raise
        return cast(AbstractContextManager[BinaryIO], spool)

    def length(self, stream: BinaryIO, /) -> int:
        at = stream.tell()
        end = stream.seek(0, 2)
        stream.seek(at)
        return end

    def _lines(self) -> Iterator[bytes]:
        """A part does not say who speaks: the message before it does."""
        role = ""
        for place, file in self.files:
            data = _read(file)
            if place.message and not place.part:
                role = _role(data)
            line = {"store": opencode.STORE, "file": file.path[len(self.root) + 1 :], **_text(data)}
            if place.part and role:
                line["role"] = role
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


@dataclass(slots=True)
class _Found:
    """What lies below one `storage` folder."""

    sessions: dict[str, list[tuple[Place, DiskFile]]] = field(default_factory=dict)
    parts: dict[str, list[tuple[Place, DiskFile]]] = field(default_factory=dict)

    def add(self, place: Place, file: DiskFile) -> None:
        if place.session:
            self.sessions.setdefault(place.session, []).append((place, file))
        else:
            self.parts.setdefault(place.message, []).append((place, file))

    def bundles(self, root: str) -> Iterator[Bundle]:
        """The newer layout files a part under its message alone. Parts whose message is gone are
        a source of their own."""
        for session, files in sorted(self.sessions.items()):
            messages = {place.message for place, _ in files if place.message}
            parts = [part for name in messages for part in self.parts.pop(name, ())]
            yield _bundle(root, session, [*files, *parts])
        for message, parts in sorted(self.parts.items()):
            yield _bundle(root, message, parts)


def gather(items: Iterable[DiskFile | Skipped]) -> Iterator[DiskFile | Bundle | Skipped]:
    """Files of such folders become one source per session, at the end; everything else passes
    through, in its order. One file stands for its whole session: one that lacked some of its files
    would look rewritten."""
    roots: dict[str, _Found | None] = {}
    named: set[str] = set()
    for item in items:
        place = _place(item)
        if place is not None and place.root not in roots:
            roots[place.root] = _below(place.root)
        if place is None or roots[place.root] is None:
            yield item
        else:
            named.add(item.path)
    for root, found in roots.items():
        bundles = found.bundles(root) if found else ()
        yield from (each for each in bundles if not named.isdisjoint(each.paths()))


def _below(root: str) -> _Found | None:
    """All that lies there, if it is OpenCode's: others may call their folders so too."""
    found = _Found()
    folders = [f"{root}{BELOW}{name}" for name in ("session", "message", "part")]
    for item in walk([folder for folder in folders if os.path.isdir(folder)]):  # noqa: PTH112
        place = _place(item)
        if place is not None and isinstance(item, DiskFile):
            found.add(place, item)
    some = [file for files in found.sessions.values() for _, file in files[:2]][:LOOKED_AT]
    return found if any(map(_is_opencode, some)) else None


def _place(item: DiskFile | Skipped) -> Place | None:
    root, below, rest = item.path.rpartition(BELOW)
    if not below or isinstance(item, Skipped):
        return None
    for layout in LAYOUTS:
        if match := layout.fullmatch(rest):
            names = match.groupdict()
            return Place(root, names.get("session", ""), *_inner(names))
    return None


def _inner(names: dict[str, str]) -> tuple[str, str]:
    return names.get("message", ""), names.get("part", "")


def _is_opencode(file: DiskFile) -> bool:
    try:
        return opencode.is_file(head_of(_read(file)[: formats.HEAD_BYTES]))
    except (OSError, BadInput):
        return False


def _bundle(root: str, name: str, files: list[tuple[Place, DiskFile]]) -> Bundle:
    ordered = sorted(files, key=lambda each: (each[0].message, each[0].part, each[1].path))
    path = f"{root}/{bundled.FOLDER}#{name}"
    return Bundle(path=path, machine=files[0][1].machine, root=root, files=tuple(ordered))


def _read(file: DiskFile) -> bytes:
    out = bytearray()
    with file.open() as stream:
        while data := stream.read(READ_BYTES):
            out += data
            if len(out) > LARGEST_FILE:
                raise TooLarge(f"{file.path}: above {LARGEST_FILE // 1024 // 1024} MiB")
    return bytes(out)


def _text(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _role(data: bytes) -> str:
    try:
        fields = orjson.loads(data)
    except ValueError:
        return ""
    said = fields.get("role") if isinstance(fields, dict) else None
    return said[:LONGEST_NAME] if isinstance(said, str) else ""
