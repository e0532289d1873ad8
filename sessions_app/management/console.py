"""What commands share: their one way of talking, to people and to scripts."""

import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, connection

from sessions_app.domain import hostile
from sessions_app.domain.errors import Away, KeyUnavailable, NotFound, RecountError
from sessions_app.models import Canary, Session, Workspace
from sessions_app.store import keys, sessions, trouble

GO_ON = "what was written is kept; run the command again"
AWAY = (InterfaceError, OperationalError)


class Command(BaseCommand):
    """A command with `--json`, whose errors are sentences and whose output is safe to print."""

    requires_system_checks: list[str] = []
    needs_keys = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if self.needs_keys:
                _ready()
            self.work(options)
        except BrokenPipeError:
            # Whoever read what is printed has had enough; nothing is left to be flushed at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(128 + signal.SIGPIPE)
        except (KeyboardInterrupt, RecountError, OSError, *AWAY) as error:
            told, code = _sentence(error), 130 if isinstance(error, KeyboardInterrupt) else 1
            if options.get("json"):
                with suppress(OSError):
                    self.give({"error": told})
            raise CommandError(told, returncode=code) from None

    def work(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Text from a log could steer the terminal: control characters are shown, not sent."""
        self.stdout.write(hostile.plain(text))

    def give(self, value: object) -> None:
        self.stdout.write(json.dumps(value, default=str))


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return f"stopped: {GO_ON}"
    if isinstance(error, Away):
        return f"the database went away: {GO_ON}"
    if isinstance(error, RecountError):
        return hostile.plain(error.message)
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return hostile.plain(f"{where}{error.strerror or error}: {GO_ON}")
    if full := trouble.no_room(error):
        return full.message
    # The first line only: what follows repeats addresses and statements.
    told = str(error).strip().partition("\n")[0]
    return f"the database went away ({told}): {GO_ON}"


def has_tables() -> bool:
    return Canary._meta.db_table in connection.introspection.table_names()


def _ready() -> None:
    """A command may be the first thing anybody runs in a home of their own."""
    if not has_tables():
        if settings.PRODUCTION:
            raise KeyUnavailable("the database has no tables: run `manage.py prepare` first")
        call_command("migrate", interactive=False, verbosity=0)
    keys.prepare()


def workspace_named(name: str) -> Workspace:
    """By name or id; without one, the only workspace that is not the demo."""
    rows = Workspace.objects.order_by("created_at")
    if name:
        uid = as_uuid(name)
        found = rows.filter(name=name).first() or (rows.filter(id=uid).first() if uid else None)
        if found is None:
            raise NotFound(f"no workspace “{name}”: there are {_names()}")
        return found
    own = list(rows.filter(is_demo=False)[:2])
    if len(own) > 1:
        raise NotFound(f"say which workspace with --workspace: there are {_names()}")
    if not own:
        raise NotFound("there is no workspace yet: run `make run` or `manage.py signin_link` once")
    return own[0]


def _names() -> str:
    return ", ".join(Workspace.objects.order_by("created_at").values_list("name", flat=True))


def as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def chosen(ids: list[str], everything: bool) -> list[Session]:
    """The sessions a person named, or all."""
    if everything:
        return list(Session.objects.select_related("key", "workspace").order_by("id"))
    if not ids:
        raise NotFound("name at least one session id, or --all")
    return [_by_id(text) for text in ids]


def _by_id(text: str) -> Session:
    uid = as_uuid(text)
    if uid is None:
        raise NotFound(f"“{text}” is not a session id: it looks like 0b4c1c0e-….")
    return sessions.by_uid(uid)
