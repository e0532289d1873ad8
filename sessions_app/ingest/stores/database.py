"""A SQLite database of somebody else: opened so that nothing at its place changes, and so that
nothing in it is executed.

Only tables are read, by statements made here from names that were looked up. A view, a virtual
table, a trigger or a generated column of a hostile file is never evaluated.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sessions_app.domain.errors import BadInput
from sessions_app.ingest.stores.shape import Row, Tables

MAGIC = b"SQLite format 3\x00"
BUSY_SECONDS = 5.0
# Longest time without a row.
PATIENCE_SECONDS = 60.0
STEPS = 100_000
LARGEST_CELL = 64 * 1024 * 1024
# Cells of a damaged file can share their pages: what comes out may be far more than what is there.
SWELL = 8
ROOM = 64 * 1024 * 1024
MOST_TABLES = 1000
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LARGEST_CELL,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
WRITE_AHEAD = 2
# SQLite takes no lock then: whether somebody wrote meanwhile has to be looked at.
UNLOCKED = "immutable=1"


class Database:
    """An open one. Each session is read in a transaction of its own: a long one would keep the
    agent from tidying its log."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._way = _way(path)
        self._begun = _stamp(path)
        self._link = _connect(path, self._way)
        self._room = SWELL * _size(path) + ROOM
        self._last = time.monotonic()
        self._link.set_progress_handler(self._is_too_long, STEPS)
        self.tables: Tables = dict(self._tables())

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """What is read inside is of one moment."""
        self._link.execute("BEGIN")
        try:
            yield
        finally:
            self._link.rollback()
        if self._way == UNLOCKED and _stamp(self.path) != self._begun:
            raise BadInput("changed while it was read: try again later")

    def rows(
        self,
        table: str,
        *,
        where: Mapping[str, object] | None = None,
        order: Iterable[str] = (),
        only: Iterable[str] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> Iterator[Row]:
        have = self.tables.get(table, ())
        names = [name for name in have if (only is None or name in only) and name not in without]
        given = dict(where or {})
        if not names or not set(given) <= set(have):
            return
        sql = f"SELECT {_list(names)} FROM {_quoted(table)}"  # noqa: S608 - names were looked up
        if given:
            sql += " WHERE " + " AND ".join(f"{_quoted(name)} = ?" for name in given)
        if by := [name for name in order if name in have]:
            sql += f" ORDER BY {_list(by)}"
        for values in self._run(sql, tuple(given.values())):
            yield dict(zip(names, values, strict=True))

    def _run(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
        self._last = time.monotonic()
        for row in self._link.execute(sql, values):
            self._room -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
            if self._room < 0:
                raise BadInput("its rows hold more than the file can")
            self._last = time.monotonic()
            yield row
            self._last = time.monotonic()

    def _is_too_long(self) -> bool:
        return time.monotonic() - self._last > PATIENCE_SECONDS

    def _tables(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """By the text of their definition: the column `type` can lie. Columns that are computed
        are not among those `table_info` names."""
        found = self._run("SELECT name, sql FROM sqlite_schema WHERE rootpage > 0")
        for number, (name, sql) in enumerate(found):
            if number >= MOST_TABLES:
                raise BadInput(f"more than {MOST_TABLES:,} tables")
            if isinstance(name, str) and isinstance(sql, str) and _makes_table(sql):
                columns = [row[1] for row in self._run(f"PRAGMA table_info({_quoted(name)})")]
                yield name, tuple(column for column in columns if isinstance(column, str))


def _makes_table(sql: str) -> bool:
    return sql[:13].upper() == "CREATE TABLE "


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _connect(path: str, way: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path))}?{way}"
    link = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    for limit, most in LIMITS.items():
        link.setlimit(limit, most)
    link.text_factory = _text
    for setting in ("trusted_schema = OFF", "query_only = ON", "mmap_size = 0", "temp_store = 2"):
        link.execute(f"PRAGMA {setting}")
    return link


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _way(path: str) -> str:
    """SQLite would make the files of a write-ahead log where they are missing, even for a reader.
    Where they are there it reads them; where they are not, all is in the database itself."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise BadInput("not a regular file")
    with Path(path).open("rb", buffering=0) as file:
        head = file.read(100)
    if not head.startswith(MAGIC):
        raise BadInput("not a SQLite database, or an encrypted one")
    log, index = _length(path + "-wal"), _length(path + "-shm")
    if WRITE_AHEAD not in head[18:20]:
        return "mode=ro"
    if log and index is None:
        raise BadInput("its -wal file came without its -shm file: newer rows cannot be read")
    return "mode=ro&readonly_shm=1" if log is not None and index is not None else UNLOCKED


def _stamp(path: str) -> tuple[int | None, ...]:
    facts = os.lstat(path)
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, _length(path + "-wal")


def _length(path: str) -> int | None:
    try:
        return os.lstat(path).st_size
    except OSError:
        return None


def _size(path: str) -> int:
    return (_length(path) or 0) + (_length(path + "-wal") or 0)
