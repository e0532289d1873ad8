"""Give the record back, byte for byte, or as documents made of it."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.domain.errors import BadInput, IntegrityError
from sessions_app.exports import documents, subject
from sessions_app.exports.documents import Document, Kind
from sessions_app.management import console
from sessions_app.models import Session
from sessions_app.store import export, read, selection
from sessions_app.store.selection import Selection

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
MOST_FOUND = 1000


class Command(console.Command):
    help = (
        "Write sessions as the bytes that came in, or as documents with --as: one to standard "
        "output, or many below --to."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="*", metavar="ID")
        parser.add_argument("--all", action="store_true", help="every session")
        parser.add_argument("--query", metavar="TEXT", help="the sessions that a text finds")
        parser.add_argument("--workspace", default="", help="of --query, where there are several")
        parser.add_argument(
            "--as",
            dest="kind",
            choices=[kind.value for kind in documents.OF_MANY],
            help="a document",
        )
        parser.add_argument("--from", dest="first", type=int, metavar="N", help="first event")
        parser.add_argument("--until", dest="last", type=int, metavar="N", help="last event")
        parser.add_argument(
            "--layout",
            choices=export.LAYOUTS,
            default=export.LAYOUTS[0],
            help="path: machine and source path. agent: the folders agents resume from. id: ids",
        )
        parser.add_argument("--to", metavar="DIR", help="folder to write into, made if absent")

    def work(self, options: dict[str, Any]) -> None:
        chosen = _chosen(options)
        self._warn(chosen)
        rows = chosen.rows
        if not options["to"]:
            self._to_stdout(chosen, options)
            return
        if len(rows) != 1:
            _no_range(options)
        shelf = _Shelf(Path(options["to"]), options["layout"])
        failed: list[dict[str, object]] = []
        written = []
        for row in rows:
            try:
                written += shelf.put(row, _document(row, options))
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

    def _warn(self, chosen: Selection) -> None:
        """Beside the document, which may be on its way to a file."""
        for part, message in chosen.left_out:
            self.stderr.write(f"left out {part}: {message}")
        if chosen.is_cut:
            self.stderr.write(f"only the first {len(chosen.rows):,} sessions: there may be more")

    def _to_stdout(self, chosen: Selection, options: dict[str, Any]) -> None:
        if options["json"] or (len(chosen.rows) != 1 and not options["kind"]):
            raise BadInput("several sessions, or --json, need a folder: add --to DIR")
        for piece in _pieces(chosen, options):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _chosen(options: dict[str, Any]) -> Selection:
    if options["query"] is None:
        rows = console.chosen(options["ids"], options["all"])
        return Selection(text="", rows=rows, is_cut=False, left_out=())
    if options["ids"] or options["all"]:
        raise BadInput("give ids, --all or --query: one of them")
    place = console.workspace_named(options["workspace"])
    return selection.found(place, options["query"], most=MOST_FOUND, now=timezone.now())


def _pieces(chosen: Selection, options: dict[str, Any]) -> Iterator[bytes]:
    rows = chosen.rows
    if len(rows) == 1 and options["kind"] != Kind.LIST:
        document = _document(rows[0], options)
        return document.pieces if document else read.stream(rows[0])
    _no_range(options)
    return documents.of_many(Kind(options["kind"]), rows, _cover(rows, chosen.told)).pieces


def _no_range(options: dict[str, Any]) -> None:
    if options["first"] is not None or options["last"] is not None:
        raise BadInput("--from and --until are for one session")


def _document(row: Session, options: dict[str, Any]) -> Document | None:
    """None where the bytes that came in are wanted, all of them."""
    first, last, kind = options["first"], options["last"], options["kind"]
    if kind is None and first is None and last is None:
        return None
    if min(first or 0, last or 0) < 0:
        raise BadInput("events are numbered from 0")
    chosen = documents.kind_of(kind or Kind.JSONL, documents.OF_ONE)
    passage = subject.passage(row, first, last, now=timezone.now())
    return documents.of_one(chosen, passage, _cover([row]))


def _cover(rows: list[Session], query: str = "") -> subject.Cover:
    names = sorted({row.workspace.name for row in rows})
    return subject.Cover(
        made_at=timezone.now(), by="manage.py export", workspace=", ".join(names), query=query
    )


class _Shelf:
    """A folder that sessions are written below: bytes under their machine and source path,
    documents under their ids."""

    def __init__(self, folder: Path, layout: str) -> None:
        self._folder = folder
        self._names = export.Names(layout)

    def put(self, row: Session, document: Document | None) -> list[dict[str, object]]:
        if document:
            return [self._written(row, (document.name,), document.pieces)]
        return [
            self._written(row, file.parts, file.pieces) for file in export.files(row, self._names)
        ]

    def _written(
        self, row: Session, parts: tuple[str, ...], pieces: Iterable[bytes]
    ) -> dict[str, object]:
        path = self._folder.joinpath(*parts)
        digest = hashlib.sha256()
        size, is_made = 0, False
        try:
            with self._new_file(parts) as out:
                is_made = True
                for piece in pieces:
                    out.write(piece)
                    digest.update(piece)
                    size += len(piece)
            written = export.written_at(row)
            os.utime(path, (written, written), follow_symlinks=False)
        except BaseException:
            # The beginning of a record must not pass for the record.
            if is_made:
                path.unlink()
            raise
        shown = os.fsencode(path).decode("utf-8", "replace")
        return {"session": row.uid, "path": shown, "bytes": size, "sha256": digest.hexdigest()}

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
