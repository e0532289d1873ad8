"""/healthz: is each part there? For the supervisor, a load balancer, a person in a hurry."""

import logging
from collections.abc import Callable
from datetime import timedelta

from celery import current_app
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from sessions_app.domain.errors import KeyUnavailable, RecountError
from sessions_app.store import jobs, keys, roots

log = logging.getLogger("recount.health")

SILENCE = timedelta(seconds=30)


@never_cache
@require_safe
def healthz(_: HttpRequest) -> JsonResponse:
    checks = {
        "database": _checked(_database),
        "keys": _checked(_keys),
        "broker": _checked(_broker),
        "worker": _checked(_worker),
        "watcher": _checked(_watcher),
    }
    is_ok = all(check["ok"] for check in checks.values())
    status = "ok" if is_ok else "failed" if not checks["database"]["ok"] else "degraded"
    answer = JsonResponse({"status": status, "checks": checks}, status=200 if is_ok else 503)
    # The answer is the report; an error line for every poll while parts start would drown the log.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _checked(check: Callable[[], str]) -> dict[str, object]:
    """Only what an outsider may know: no address, no key id, no exception text."""
    try:
        return {"ok": True, "detail": check()}
    except KeyUnavailable as error:
        log.error("keys: %s", error.message)
        return {"ok": False, "detail": "the root key is missing or wrong: see the server's log"}
    except RecountError as error:
        return {"ok": False, "detail": error.message}
    except DatabaseError:
        return {"ok": False, "detail": "the database does not answer"}
    except (OSError, OperationalError):
        return {"ok": False, "detail": "does not answer"}


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "answers"


def _keys() -> str:
    keys.check()
    return "the canary opens"


def _broker() -> str:
    with current_app.connection_for_write() as link:
        link.ensure_connection(max_retries=1, timeout=2)
    return "answers"


def _worker() -> str:
    return _alive("worker ", "no worker has been seen yet")


def _watcher() -> str:
    """Only where something is to be watched: others need none."""
    if not roots.any_on():
        return "nothing is watched"
    return _alive("watcher", "no watcher has been seen yet")


def _alive(pulse: str, never: str) -> str:
    since = jobs.last_beat(pulse)
    if since is None:
        raise RecountError(never)
    if since > SILENCE:
        raise RecountError(f"silent for {int(since.total_seconds())} s")
    return "alive"
