"""Give the record back, byte for byte."""

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser

from sessions_app.domain.errors import BadInput, IntegrityError
from sessions_app.management import console
from sessions_app.models import Session
from sessions_app.store import facts, read, tip

# What file systems take for one name, with room for the number of a generation.
LONGEST_NAME = 200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Command(console.Command):
    help = "Write sessions as the bytes that came in: one to standard output, or many below --to."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="*", metavar="ID")
        parser.add_argument("--all", action="store_true", help="every session")
        parser.add_argument("--to", metavar="DIR", help="folder to write into, made if absent")

    def work(self, options: dict[str, Any]) -> None:
        rows = console.chosen(options["ids"], options["all"])
        if not options["to"]:
            self._to_stdout(rows, options)
            return
        shelf = _Shelf(Path(options["to"]))
        failed: list[dict[str, object]] = []
        written = []
        for row in rows:
            try:
                written.append(shelf.put(row))
            except IntegrityError as error:
                failed.append({"session": row.uid, "message": error.message})
        if options["json"]:
            self.give({"files": written, "failed": failed})
        else:
            for item in failed:
                self.say(f"BROKEN   {item['message']}")
            self.say(f"{len(written):,} files written below {options['to']}")
        if failed:
            sys.exit(1)

    def _to_stdout(self, rows: list[Session], options: dict[str, Any]) -> None:
        if len(rows) != 1 or options["json"]:
            raise BadInput("several sessions, or --json, need a folder: add --to DIR")
        for piece in read.stream(rows[0]):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


class _Shelf:
    """A folder that sessions are written below, each under its machine and source path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # What this run has made: two sources may come to the same name, or one to a folder of
        # another's. What somebody else made is never touched.
        self._taken: set[tuple[str, ...]] = set()

    def put(self, row: Session) -> dict[str, object]:
        parts = self._free(_parts(row), row)
        path = self._folder.joinpath(*parts)
        digest = hashlib.sha256()
        try:
            with self._new_file(parts) as out:
                for piece in read.stream(row):
                    out.write(piece)
                    digest.update(piece)
        except IntegrityError:
            # The beginning of a record must not pass for the record.
            path.unlink()
            raise
        shown = os.fsencode(path).decode("utf-8", "replace")
        size = row.raw_bytes
        return {"session": row.uid, "path": shown, "bytes": size, "sha256": digest.hexdigest()}

    def _free(self, parts: tuple[str, ...], row: Session) -> tuple[str, ...]:
        above = {parts[:depth] for depth in range(1, len(parts))}
        below = any(taken[: len(parts)] == parts for taken in self._taken)
        if below or above & self._taken:
            parts = (parts[0], f"{row.uid}.jsonl")
        self._taken.add(parts)
        return parts

    def _new_file(self, parts: tuple[str, ...]) -> IO[bytes]:
        """Never through a link that somebody put there, never over a file that is there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        at = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in parts[:-1]:
                above, at = at, _entered(at, name)
                os.close(above)
            return os.fdopen(os.open(parts[-1], _NEW, 0o600, dir_fd=at), "wb")
        except OSError as error:
            path = self._folder.joinpath(*parts)
            raise BadInput(
                f"{path} cannot be made ({error.strerror}): choose an empty folder"
            ) from None
        finally:
            os.close(at)


def _entered(at: int, name: str) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=at)
    return os.open(name, _FOLDER, dir_fd=at)


def _parts(row: Session) -> tuple[str, ...]:
    """machine / source path, each part made harmless: a path in the record is text of a stranger.
    A later generation of the same path carries its number."""
    known = facts.opened(tip.owner_of(row).key, row)
    path = [part for part in known.path.split("/") if part not in ("", ".", "..")]
    path = path or [f"{row.uid}.jsonl"]
    parts = [_harmless(part) for part in (known.machine or "unknown", *path)]
    if row.generation > 1:
        parts[-1] += f".generation-{row.generation}"
    return tuple(parts)


def _harmless(part: str) -> str:
    """One name of a file: no way out of its folder, and short enough in bytes."""
    name = part.replace("\0", "_").replace("/", "_").replace("\\", "_")
    name = os.fsdecode(name.encode("utf-8", "surrogateescape")[:LONGEST_NAME])
    return "_" if name in ("", ".", "..") else name
