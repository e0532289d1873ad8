"""What a store is made of: how it is known by its tables, and in which order its rows are told."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

# Names of tables and, of each, the names of its columns.
Tables = Mapping[str, tuple[str, ...]]
Row = dict[str, object]


class Session(NamedTuple):
    """A session of a store: its id, the folder it worked in, and its row or what tells its rows
    from others."""

    id: object
    directory: object = ""
    table: str = ""


class Line(NamedTuple):
    table: str
    row: Row
    # Who speaks, where that stands in another row: a line is read alone.
    role: str = ""


class Rows(Protocol):
    """A database as a store may see it."""

    @property
    def tables(self) -> Tables: ...

    def rows(
        self,
        table: str,
        *,
        where: Mapping[str, object] | None = None,
        order: Iterable[str] = (),
        only: Iterable[str] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> Iterator[Row]:
        """Rows in an order. Columns the table has not are passed over; a table the database has
        not is empty."""
        ...


class Store(NamedTuple):
    name: str
    recognises: Callable[[Tables], bool]
    sessions: Callable[[Rows], Iterable[Session]]
    # The same rows give the same lines. Rows that came in at the end give lines at the end: what
    # changes while a session goes on (totals, time of the last change) is left out, because a line
    # that changes makes a new generation of the whole session. `now` is in seconds: rows that are
    # still being written may be left for later.
    lines: Callable[[Rows, Session, float], Iterable[Line]]


def has(tables: Tables, name: str, *columns: str) -> bool:
    return name in tables and set(columns) <= set(tables[name])
