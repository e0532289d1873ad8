"""Agents that keep all their sessions in one SQLite database.

Each session of it becomes a source of its own, named `<path of the database>#<id>`, whose lines
are JSON: `{"store": …, "table": …, "row": {column: value}}`. `docs/formats/stores.md` says what is
told and what is left out.
"""

import base64
import hashlib
import math
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

import orjson

from sessions_app.domain.errors import BadInput
from sessions_app.ingest.sources import HeldFile
from sessions_app.ingest.stores import agents_sdk, goose, opencode
from sessions_app.ingest.stores.database import LARGEST_CELL, MAGIC, Database
from sessions_app.ingest.stores.shape import Line, Session, Store

__all__ = ["STORES", "is_database", "sessions_in"]

STORES: tuple[Store, ...] = (opencode.STORE, goose.STORE, agents_sdk.STORE)
# Above this a session waits on disk, in a file without a name.
HELD_IN_MEMORY = 1024 * 1024
MOST_SESSIONS = 1_000_000
LONGEST_ID = 200
LONGEST_NAME = 200

FOREIGN = "a SQLite database, but of no agent that is known"
BUSY = "in use by another program: try again later"
DAMAGED = "damaged or not a SQLite database"
REASONS = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_PROTOCOL: BUSY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "not a SQLite database, or an encrypted one",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened for reading",
    sqlite3.SQLITE_PERM: "cannot be opened for reading",
    sqlite3.SQLITE_READONLY: "was not closed by its program and needs it to be opened once more",
    sqlite3.SQLITE_INTERRUPT: "took too long to answer",
    sqlite3.SQLITE_TOOBIG: f"holds a cell above {LARGEST_CELL // 1024 // 1024} MiB",
    sqlite3.SQLITE_NOMEM: "needs too much memory",
    sqlite3.SQLITE_IOERR: "cannot be read",
}

# Names under which agents keep a database; whether it is one its first bytes tell.
SUFFIXES = (".db", ".sqlite", ".sqlite3")


def is_database(head: bytes) -> bool:
    return head.startswith(MAGIC)


def sessions_in(path: str, machine: str) -> Iterator[HeldFile]:
    """One source per session. A session that cannot be read does not keep the others back: it is
    told of at the end."""
    with _told_plainly(path):
        db = Database(path)
    try:
        with _told_plainly(path):
            store = _store_of(db)
            found = _sessions(db, store)
        failed = ""
        for session in found:
            try:
                with _told_plainly(path):
                    held = _held(db, store, session, machine)
            except BadInput as error:
                failed = error.message
            else:
                yield held
    finally:
        db.close()
    if failed:
        raise BadInput(failed)


@contextmanager
def _told_plainly(path: str) -> Iterator[None]:
    """SQLite's own words may quote what is in the file: only the number of an error is used."""
    try:
        yield
    except BadInput as error:
        if error.message.startswith(path):
            raise
        raise BadInput(f"{path}: {error.message}") from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise BadInput(f"{path}: {REASONS.get(code, DAMAGED)}") from None
    except (UnicodeError, OverflowError):
        raise BadInput(f"{path}: {DAMAGED}") from None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or 'cannot be read'}") from None


def _store_of(db: Database) -> Store:
    for store in STORES:
        if store.recognises(db.tables):
            return store
    raise BadInput(FOREIGN)


def _sessions(db: Database, store: Store) -> list[Session]:
    found: list[Session] = []
    for session in store.sessions(db):
        if len(found) >= MOST_SESSIONS:
            raise BadInput(f"more than {MOST_SESSIONS:,} sessions")
        found.append(session)
    return found


def _held(db: Database, store: Store, session: Session, machine: str) -> HeldFile:
    # Closed when nobody holds it any more: a source may be opened again later.
    spool = tempfile.SpooledTemporaryFile(max_size=HELD_IN_MEMORY)  # noqa: SIM115
    with db.moment():
        for line in store.lines(db, session, time.time()):
            spool.write(_bytes(store, line))
    size = spool.tell()
    spool.seek(0)
    return HeldFile(
        machine=machine,
        path=f"{db.path}#{_name(session.id)}",
        project=_project(session.directory),
        size=size,
        stream=cast(BinaryIO, cast(IO[bytes], spool)),
    )


def _bytes(store: Store, line: Line) -> bytes:
    row = {name: _cell(value) for name, value in line.row.items()}
    told = {"store": store.name, "table": line.table, "row": row}
    if line.role:
        told["role"] = line.role
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _cell(value: object) -> object:
    """JSON has no bytes, and no numbers beyond all bounds."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": str(value)}
    return value


def _name(session_id: object) -> str:
    if isinstance(session_id, str | int) and len(str(session_id)) <= LONGEST_ID:
        return str(session_id)
    raw = session_id if isinstance(session_id, bytes) else str(session_id).encode()
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def _project(directory: object) -> str:
    if not isinstance(directory, str):
        return ""
    return re.split(r"[/\\]", directory[-4096:].rstrip("/\\"))[-1][:LONGEST_NAME]
