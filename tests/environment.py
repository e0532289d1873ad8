"""Loaded before Django's settings: gives the test run a home, keys and a Postgres of its own.

With DATABASE_URL set, the tests use that server instead; the embedded one is then not started.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
_stack = contextlib.ExitStack()


def _prepare() -> None:
    home = Path(tempfile.mkdtemp(prefix="recount-tests-"))
    _stack.callback(shutil.rmtree, home, ignore_errors=True)
    os.environ["RECOUNT_HOME"] = str(home)
    os.environ["RECOUNT_SECRET_KEY"] = "tests only " * 8
    os.environ.setdefault("RECOUNT_LOG_LEVEL", "WARNING")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if not os.environ.get("DATABASE_URL"):
        from runtime import postgres

        os.environ["DATABASE_URL"] = _stack.enter_context(postgres.temporary())
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], cwd=ROOT, check=True
    )


if "PYTEST_XDIST_WORKER" not in os.environ:
    _prepare()


@pytest.fixture(scope="session", autouse=True)
def _emptied_by_deleting() -> Iterator[None]:
    """After a test with transactions of its own all tables are emptied. To truncate one takes the
    server new files for it and its indexes, dozens of times as long as deleting a few rows."""
    from django.db.backends.postgresql.operations import DatabaseOperations

    truncating = DatabaseOperations.sql_flush

    def sql_flush(
        self: DatabaseOperations, style: Any, tables: Sequence[str], **more: Any
    ) -> list[str]:
        if more.get("reset_sequences"):
            return truncating(self, style, tables, **more)
        return [f"DELETE FROM {self.quote_name(table)};" for table in tables]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


def pytest_unconfigure(config: pytest.Config) -> None:
    _stack.close()
