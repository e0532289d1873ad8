"""Is the web address free, and which port would be."""

from __future__ import annotations

import errno
import socket

from runtime.errors import Trouble


def read(text: str) -> int:
    """Understand what a person wrote into PORT."""
    if text.isascii() and text.isdigit() and 0 < int(text) < 65536:
        return int(text)
    raise Trouble(f"PORT={text} is not a port. Choose a number from 1 to 65535.")


def claim(host: str, port: int) -> None:
    """Refuse an address that the web server could not bind, and say what would work."""
    problem = _problem(host, port)
    if problem is None:
        return
    if problem == errno.EADDRINUSE:
        raise Trouble(f"Port {port} is taken by another program.\n{_advice(host, port)}")
    if problem == errno.EACCES:
        raise Trouble(
            f"Port {port} needs more rights than this account has.\n{_advice(host, 8000)}"
        )
    raise Trouble(f"RECOUNT_HOST={host} is no address of this machine.")


def _advice(host: str, near: int) -> str:
    for port in [*range(near + 1, min(near + 100, 65536)), 0]:
        if _problem(host, port) is None:
            return f"Try: make run PORT={port or _any(host)}"
    return "Try another one: make run PORT=…"


def _any(host: str) -> int:
    with _socket(host) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _problem(host: str, port: int) -> int | None:
    try:
        with _socket(host) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            # Only listening finds a server that shares the port by the same option.
            probe.listen(1)
    except OSError as error:
        return error.errno or errno.EADDRNOTAVAIL
    return None


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
