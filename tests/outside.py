"""Real servers outside of the test run: their addresses, or a skip where they do not answer.

With RECOUNT_REQUIRE_ALL=1 a server that does not answer is a failure.
"""

import os
from collections.abc import Callable
from typing import NoReturn

import psycopg
import pytest
from kombu import Connection

PATIENCE = 3


def redis_url() -> str:
    return _answering("RECOUNT_TEST_REDIS_URL", "redis://127.0.0.1:6379/15", _greet_broker)


def amqp_url() -> str:
    return _answering("RECOUNT_TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//", _greet_broker)


def postgres_url() -> str:
    """A server on which the named role may create databases."""
    default = "postgresql://postgres@127.0.0.1:5432/postgres"
    return _answering("RECOUNT_TEST_POSTGRES_URL", default, _greet_postgres)


def _answering(variable: str, default: str, greet: Callable[[str], None]) -> str:
    url = os.environ.get(variable) or default
    try:
        greet(url)
    except Exception as error:
        _absent(f"{variable}: no server answers ({type(error).__name__})")
    return url


def _absent(reason: str) -> NoReturn:
    if os.environ.get("RECOUNT_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _greet_broker(url: str) -> None:
    with Connection(url, connect_timeout=PATIENCE) as broker:
        broker.ensure_connection(max_retries=1, timeout=PATIENCE)


def _greet_postgres(url: str) -> None:
    psycopg.connect(url, connect_timeout=PATIENCE).close()
