"""Loaded before Django's settings: gives the test run a home, keys and a Postgres of its own.

With DATABASE_URL set, the tests use that server instead; the embedded one is then not started.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import models

ROOT = Path(__file__).resolve().parent.parent
_stack = contextlib.ExitStack()
# A worker takes all of a folder that walks through one house: to start a second takes a minute.
TOGETHER = ("tests/e2e/",)
# What takes longest begins first, so that no worker is left alone with it.
FIRST = (
    "tests/e2e/",
    "tests/runtime/",
    "tests/faults/test_poison.py",
    "tests/faults/test_brokers.py",
    "tests/faults/test_kill_ingest.py",
    "tests/faults/test_long_lines.py",
    "tests/faults/test_postgres",
    "tests/faults/",
    "tests/jobs/",
    "tests/store/test_usage_of_real_logs.py",
    "tests/search/",
    "tests/formats/test_real_logs.py",
    "tests/shipper/",
)


def _prepare() -> None:
    home = Path(tempfile.mkdtemp(prefix="recount-tests-"))
    _stack.callback(shutil.rmtree, home, ignore_errors=True)
    os.environ["RECOUNT_HOME"] = str(home)
    os.environ["RECOUNT_SECRET_KEY"] = "tests only " * 8
    os.environ.setdefault("RECOUNT_LOG_LEVEL", "WARNING")
    # Hundreds of processes are started: to compile the sources each time takes them half as long
    # again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not os.environ.get("DATABASE_URL"):
        from runtime import postgres

        os.environ["DATABASE_URL"] = _stack.enter_context(postgres.temporary())
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], cwd=ROOT, check=True
    )
    os.environ[models.TOKEN] = secrets.token_hex(6)
    _stack.callback(models.drop)


if "PYTEST_XDIST_WORKER" not in os.environ:
    _prepare()


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """A worker takes a file at a time, or the files of a folder that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    ranks = (rank for rank, start in enumerate(FIRST) if item.nodeid.startswith(start))
    return next(ranks, len(FIRST))


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
