"""Asks the web part how everything is."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """`checks` names what is not well; empty when nothing is known."""

    ok: bool
    checks: dict[str, str]


def ask(host: str, port: int, base_url: str) -> Health:
    """Ask once; a server that is not there yet is simply not well."""
    # The public name, because the server answers to no other in production mode.
    name = urlsplit(base_url).netloc
    connection = http.client.HTTPConnection(_reachable(host), port, timeout=5)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/healthz", headers={"Host": name})
            response = connection.getresponse()
            return Health(ok=response.status == 200, checks=_unwell(response.read()))
        except (OSError, http.client.HTTPException):
            return Health(ok=False, checks={})


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def _unwell(body: bytes) -> dict[str, str]:
    try:
        checks = json.loads(body)["checks"]
        return {name: str(each["detail"]) for name, each in checks.items() if not each["ok"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def main() -> int:
    """Serve as the health check of a container."""
    port = int(os.environ.get("PORT", "8000"))
    state = ask("127.0.0.1", port, os.environ.get("RECOUNT_BASE_URL", "http://127.0.0.1"))
    print("; ".join(f"{name}: {word}" for name, word in state.checks.items()) or state.ok)
    return 0 if state.ok else 1


if __name__ == "__main__":
    sys.exit(main())
