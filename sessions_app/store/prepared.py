"""Statements that are asked all the time: planned once for each connection, answered in binary."""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection


def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """As text, every byte of a value would come as two; through the models, asking for one row by
    its key takes the database a fraction of the time it takes here."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(sql, values, prepare=True, binary=True).fetchall()
