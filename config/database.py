"""DATABASE_URL in, Django's DATABASES entry out."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEMES = {"postgres", "postgresql"}


class BadDatabaseUrl(Exception):
    """The address cannot be used; the message never repeats the password."""


def entry(url: str, *, pool: bool) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise BadDatabaseUrl(
            "DATABASE_URL must start with postgresql://: the record is kept in PostgreSQL only"
        )
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or parts.hostname or ""
    port = options.pop("port", "") or (str(parts.port) if parts.port else "")
    if pool:
        # Of what is asked with every request the server keeps the plan.
        options["prepare_threshold"] = 5
        options["pool"] = {"min_size": 1, "max_size": 32, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "recount",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        # A pool would hand out connections to a server that was started again meanwhile.
        "CONN_HEALTH_CHECKS": pool,
    }
