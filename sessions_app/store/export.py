"""The record on its way out: which name a session has, and many of them as one tar."""

import os
import tarfile
from collections.abc import Iterable, Iterator

from sessions_app.models import Session
from sessions_app.store import facts, read, tip

# What file systems take for one name, with room for the number of a generation.
LONGEST_NAME = 200
LAYOUTS = ("path", "agent", "id")
# Where agents look for their sessions, below a person's home.
_HOMES = {
    "claude_code": ((".claude", "projects"),),
    "codex": ((".codex", "sessions"), (".codex", "archived_sessions")),
    "pi": ((".pi", "agent", "sessions"),),
}


class Names:
    """Names for the sessions of one export. Two sources may come to the same name, or one to a
    folder of another's: the later one is then named by its id."""

    def __init__(self, layout: str) -> None:
        self._layout = layout
        self._files: set[tuple[str, ...]] = set()
        self._folders: set[tuple[str, ...]] = set()

    def of(self, row: Session) -> tuple[str, ...]:
        parts = _parts(row, self._layout)
        if self._is_taken(parts):
            parts = (parts[0], f"{row.uid}.jsonl")
        self._files.add(parts)
        self._folders |= _above(parts)
        return parts

    def _is_taken(self, parts: tuple[str, ...]) -> bool:
        return parts in self._files or parts in self._folders or bool(_above(parts) & self._files)


def _above(parts: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {parts[:depth] for depth in range(1, len(parts))}


def _parts(row: Session, layout: str) -> tuple[str, ...]:
    """machine / source path, or the place below an agent's home; each part made harmless: a path
    in the record is text of a stranger. A later generation of the same path carries its number."""
    if layout == "id":
        return (f"session-{row.uid}.jsonl",)
    known = facts.opened(tip.owner_of(row).key, row)
    path = [part for part in known.path.split("/") if part not in ("", ".", "..")]
    path = path or [f"{row.uid}.jsonl"]
    placed = _below_home(row.format, path) if layout == "agent" else None
    parts = [_harmless(part) for part in placed or (known.machine or "unknown", *path)]
    if row.generation > 1:
        parts[-1] += f".generation-{row.generation}"
    return tuple(parts)


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
        entry = tarfile.TarInfo("/".join(names.of(row)))
        entry.size, entry.mtime, entry.mode = row.raw_bytes, written_at(row), 0o600
        yield entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        yield from read.stream(row)
        yield bytes(-row.raw_bytes % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)
