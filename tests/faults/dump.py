"""All that a database holds, as text: what a thief of the disk would see."""

from typing import Any

from django.db import connection

TABLES = (
    "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name)"
    " FROM information_schema.tables"
    " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
)


def tables() -> dict[str, bytes]:
    """Every table of the test database by name, its rows in the text form of COPY, sorted."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = [row[0] for row in cursor.fetchall()]
        return {name: _copied(cursor, name) for name in names}


def _copied(cursor: Any, name: str) -> bytes:
    with cursor.copy(f"COPY {name} TO STDOUT") as copy:
        whole = b"".join(bytes(piece) for piece in copy)
    return b"\n".join(sorted(whole.split(b"\n")))


def columns_of_bytes() -> list[bytes]:
    """Every value of every bytea column, raw."""
    out: list[bytes] = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT quote_ident(table_name), quote_ident(column_name)"
            " FROM information_schema.columns"
            " WHERE data_type = 'bytea' AND table_schema = 'public'"
        )
        for table, column in cursor.fetchall():
            cursor.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL")
            out += [bytes(row[0]) for row in cursor.fetchall()]
    return out
