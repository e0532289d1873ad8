"""Give the record back, byte for byte."""

import hashlib
import os
import sys
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.core.management.base import CommandParser

from sessions_app.domain.errors import BadInput
from sessions_app.management import console
from sessions_app.models import Session
from sessions_app.store import facts, read


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
        folder = Path(options["to"])
        written = [_written(row, folder) for row in rows]
        if options["json"]:
            self.give({"files": written})
        else:
            self.say(f"{len(written):,} files written below {folder}")

    def _to_stdout(self, rows: list[Session], options: dict[str, Any]) -> None:
        if len(rows) != 1 or options["json"]:
            raise BadInput("several sessions, or --json, need a folder: add --to DIR")
        for piece in read.stream(rows[0]):
            sys.stdout.buffer.write(piece)


def _written(row: Session, folder: Path) -> dict[str, object]:
    path = folder / _name(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with _new_file(path) as out:
        for piece in read.stream(row):
            out.write(piece)
            digest.update(piece)
    shown = os.fsencode(path).decode("utf-8", "replace")
    return {"session": row.uid, "path": shown, "bytes": row.raw_bytes, "sha256": digest.hexdigest()}


def _new_file(path: Path) -> IO[bytes]:
    """Never through a link that somebody put there, never over a file that is already there."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise BadInput(f"{path} exists already: choose an empty folder") from None
    return os.fdopen(handle, "wb")


def _name(row: Session) -> PurePosixPath:
    """machine / source path, each part made harmless: a path in the record is text of a stranger.
    A later generation of the same path carries its number."""
    known = facts.opened(read.owner(row).key, row)
    parts = [part for part in known.path.split("/") if part not in ("", ".", "..")]
    parts = [_harmless(part) for part in (known.machine, *parts) if part]
    if not parts[1:]:
        parts.append(f"{row.uid}.jsonl")
    if row.generation > 1:
        parts[-1] += f".generation-{row.generation}"
    return PurePosixPath(*parts)


def _harmless(part: str) -> str:
    return part.replace("\0", "_").replace("\\", "_")[:200] if part not in (".", "..") else "_"
