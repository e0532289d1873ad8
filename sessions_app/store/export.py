"""The record on its way out: which name a session has, and many of them as one tar."""

import os
import tarfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sessions_app.formats import bundled
from sessions_app.models import Session, Source
from sessions_app.store import facts, read, tip

# What file systems take for one name, with room for the number of a generation.
LONGEST_NAME = 200
LAYOUTS = ("path", "agent", "id")
# Where agents look for their sessions, below a person's home.
_HOMES = {
    "claude_code": ((".claude", "projects"),),
    "codex": ((".codex", "sessions"), (".codex", "archived_sessions")),
    "pi": ((".pi", "agent", "sessions"),),
    "opencode": ((".local", "share", "opencode"),),
}


class File(NamedTuple):
    """A file to be written: its name in parts, and its bytes."""

    parts: tuple[str, ...]
    size: int
    pieces: Iterable[bytes]


def files(row: Session, names: "Names") -> Iterator[File]:
    """What a session came from: mostly one file. A folder of small files becomes these again, if
    every line holds one: nothing of the record may be missing."""
    path = facts.opened(tip.owner_of(row).key, row).path
    root = None if names.layout == "id" else bundled.root_of(path)
    if root is None or not all(map(bundled.is_file, _lines(row))):
        yield File(names.of(row, path), row.raw_bytes, read.stream(row))
        return
    for inner, data in bundled.unpack(_lines(row)):
        yield File(names.of(row, f"{root}/{inner}", inner), len(data), [data])


def _lines(row: Session) -> Iterator[bytes]:
    rest: list[bytes] = []
    for piece in read.stream(row):
        first, *more = piece.split(b"\n")
        rest.append(first)
        for each in more:
            yield b"".join(rest)
            rest = [each]
    if any(rest):
        yield b"".join(rest)


class Names:
    """Names for the sessions of one export. Two sources may come to the same name, or one to a
    folder of another's: the later one is then named by its id."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self._files: set[tuple[str, ...]] = set()
        self._folders: set[tuple[str, ...]] = set()

    def of(self, row: Session, path: str, inner: str = "") -> tuple[str, ...]:
        """`inner` is the path inside the session's own folder, if it has one."""
        parts = _parts(row, self.layout, path)
        if self._is_taken(parts):
            own = (f"{row.uid}", *inner.split("/")) if inner else (f"{row.uid}.jsonl",)
            parts = (parts[0], *own)
        self._files.add(parts)
        self._folders |= _above(parts)
        return parts

    def _is_taken(self, parts: tuple[str, ...]) -> bool:
        return parts in self._files or parts in self._folders or bool(_above(parts) & self._files)


def _above(parts: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {parts[:depth] for depth in range(1, len(parts))}


def _parts(row: Session, layout: str, source: str) -> tuple[str, ...]:
    """machine / source path, or the place below an agent's home; each part made harmless: a path
    in the record is text of a stranger. Of several generations of a path, all but one carry their
    number."""
    if layout == "id":
        return (f"session-{row.uid}.jsonl",)
    known = facts.opened(tip.owner_of(row).key, row)
    path = [part for part in source.split("/") if part not in ("", ".", "..")]
    path = path or [f"{row.uid}.jsonl"]
    placed = _below_home(row.format, path) if layout == "agent" else None
    parts = [_harmless(part) for part in placed or (known.machine or "unknown", *path)]
    if _is_aside(row, layout):
        parts[-1] += f".generation-{row.generation}"
    return tuple(parts)


def _is_aside(row: Session, layout: str) -> bool:
    """An agent goes on from the last generation; else the first one came first to its name."""
    if layout != "agent":
        return row.generation > 1
    own = Source.objects.filter(session_id=row.id)
    return Source.objects.filter(
        workspace_id=row.workspace_id,
        place_key__in=own.values("place_key"),
        generation__gt=row.generation,
    ).exists()


def _below_home(fmt: str, path: list[str]) -> list[str] | None:
    """What follows the agent's own folder is kept, subagents and side files with it."""
    for homes in _HOMES.values():
        for home in homes:
            for at in range(len(path) - len(home)):
                if tuple(path[at : at + len(home)]) == home:
                    return path[at:]
    if fmt not in _HOMES:
        return None
    home = _HOMES[fmt][0]
    # Sent by hand from inside the agent's folder, or from anywhere.
    rest = path[path.index(home[-1]) + 1 :] if home[-1] in path[:-1] else path[-2:]
    return [*home, *rest]


def _harmless(part: str) -> str:
    """One name of a file: no way out of its folder, and short enough in bytes."""
    name = part.replace("\0", "_").replace("/", "_").replace("\\", "_")
    name = os.fsdecode(name.encode("utf-8", "surrogateescape")[:LONGEST_NAME])
    return "_" if name in ("", ".", "..") else name


def written_at(row: Session) -> int:
    """Agents sort by the time of the file."""
    return max(0, int((row.last_at or row.ingested_at).timestamp()))


def tar(rows: Iterable[Session], layout: str) -> Iterator[bytes]:
    """A chunk at a time. A record that does not verify ends the stream before the tar's own end,
    so that nobody takes it for whole."""
    names = Names(layout)
    for row in rows:
        for file in files(row, names):
            entry = tarfile.TarInfo("/".join(file.parts))
            entry.size, entry.mtime, entry.mode = file.size, written_at(row), 0o600
            yield entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            yield from file.pieces
            yield bytes(-file.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)
