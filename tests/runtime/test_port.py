"""Which addresses the web part may have, and what is said about the others."""

from __future__ import annotations

import socket

import pytest

from runtime import port, supervisor
from runtime.errors import Trouble
from tests.runtime.house import free_port


@pytest.mark.parametrize("text", ["0", "65536", "eighty", "-1", "80.5", "٣"])
def test_a_port_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Trouble, match="is not a port"):
        port.read(text)


def test_a_free_port_is_fine() -> None:
    port.claim("127.0.0.1", free_port())


def test_a_port_that_listens_on_all_addresses_counts_as_taken() -> None:
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("0.0.0.0", 0))  # noqa: S104
        squatter.listen()
        with pytest.raises(Trouble, match=r"is taken .*\nTry: make run PORT=\d+"):
            port.claim("127.0.0.1", squatter.getsockname()[1])


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(Trouble, match="no address of this machine"):
        port.claim("192.0.2.1", free_port())


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"RECOUNT_HOST": "0.0.0.0"}, "http://127.0.0.1:8000"),  # noqa: S104
        ({"RECOUNT_HOST": "192.0.2.1"}, "http://192.0.2.1:8000"),
        ({"RECOUNT_HOST": "::1"}, "http://[::1]:8000"),
        ({"RECOUNT_BASE_URL": "https://recount.example.org"}, "https://recount.example.org"),
    ],
)
def test_the_address_shown_can_be_opened(environment: dict[str, str], address: str) -> None:
    assert supervisor.plan(environment).base_url == address


def test_outside_servers_take_the_place_of_the_embedded_one() -> None:
    assert supervisor.plan({}).embedded
    assert not supervisor.plan({"DATABASE_URL": "postgresql://elsewhere/name"}).embedded
