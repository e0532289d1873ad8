"""Statements that are asked all the time: planned once for each connection, answered in binary."""

import threading
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection


def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """As text, every byte of a value would come as two; through the models, asking for one row by
    its key takes the database a fraction of the time it takes here."""
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return _cursor().execute(sql, values, prepare=True, binary=True).fetchall()


class _Kept(threading.local):
    cursor: psycopg.Cursor[tuple[Any, ...]] | None = None


_kept = _Kept()


def _cursor() -> psycopg.Cursor[tuple[Any, ...]]:
    """One for each thread and connection: making it takes half of what a small question takes."""
    if _kept.cursor is None or _kept.cursor.connection is not connection.connection:
        _kept.cursor = psycopg.Cursor(connection.connection)
    return _kept.cursor
