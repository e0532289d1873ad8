"""An export on its way out: its name, what it is, and its bytes a block at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import assert_never

from sessions_app.domain.errors import BadInput
from sessions_app.exports import html, notes, subject, tables
from sessions_app.exports.subject import Cover, Passage
from sessions_app.models import Session
from sessions_app.store import export

# Small pieces cost an asynchronous server a step each.
BLOCK = 64 * 1024


class Kind(StrEnum):
    HTML = "html"
    MARKDOWN = "md"
    CSV = "csv"
    JSONL = "jsonl"
    # Of many sessions: a row for each.
    LIST = "list"


OF_ONE = (Kind.HTML, Kind.MARKDOWN, Kind.CSV, Kind.JSONL)
OF_MANY = tuple(Kind)
WORDS = {
    Kind.HTML: "HTML page",
    Kind.MARKDOWN: "Markdown",
    Kind.CSV: "CSV of events",
    Kind.JSONL: "JSONL, byte for byte",
    Kind.LIST: "CSV, a row for each session",
}
_MEDIA = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8; header=present",
    "jsonl": "application/octet-stream",
    "tar": "application/x-tar",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    # Ids, numbers and words of ours: safe in a header and in a file system.
    name: str
    media: str
    pieces: Iterator[bytes]

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Disposition": f'attachment; filename="{self.name}"',
            "X-Content-Type-Options": "nosniff",
        }


def kind_of(text: str, allowed: Sequence[Kind]) -> Kind:
    if text not in allowed:
        raise BadInput(f"“as” is one of {', '.join(allowed)}.")
    return Kind(text)


def of_one(kind: Kind, passage: Passage, cover: Cover) -> Document:
    match kind:
        case Kind.HTML:
            pieces = _blocks(html.of_one(passage, cover))
        case Kind.MARKDOWN:
            pieces = _blocks(notes.of_one(passage, cover))
        case Kind.CSV:
            pieces = _blocks(tables.of_events([passage]))
        case Kind.LIST:
            pieces = _blocks(tables.of_sessions([passage]))
        case Kind.JSONL:
            pieces = passage.raw()
        case _:
            assert_never(kind)
    return _document(passage.name, "csv" if kind is Kind.LIST else kind.value, pieces)


def of_many(kind: Kind, rows: Sequence[Session], cover: Cover) -> Document:
    match kind:
        case Kind.HTML:
            pieces = _blocks(html.of_many(_wholes(rows, cover.made_at), cover))
        case Kind.MARKDOWN:
            pieces = _blocks(notes.of_many(_wholes(rows, cover.made_at), cover))
        case Kind.CSV:
            pieces = _blocks(tables.of_events(_wholes(rows, cover.made_at)))
        case Kind.LIST:
            pieces = _blocks(tables.of_sessions(_wholes(rows, cover.made_at)))
        case Kind.JSONL:
            pieces = export.tar(rows, "id")
        case _:
            assert_never(kind)
    ends = {Kind.LIST: "csv", Kind.JSONL: "tar"}
    return _document("sessions", ends.get(kind, kind.value), pieces)


def _wholes(rows: Sequence[Session], now: datetime) -> list[Passage]:
    return [subject.whole(row, now=now) for row in rows]


def _document(name: str, end: str, pieces: Iterator[bytes]) -> Document:
    """The first piece is made at once: a record that cannot be read is told as such, and not by
    a document that breaks off."""
    first = next(pieces, b"")
    return Document(name=f"{name}.{end}", media=_MEDIA[end], pieces=chain([first], pieces))


def _blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    """A piece of nothing says that something takes long: then others get their turn."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        # A name of a file may hold bytes that are no text; where nothing shows them, this does.
        held.append(piece.encode("utf-8", "backslashreplace"))
        size += len(held[-1])
        if size >= BLOCK or not piece:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
