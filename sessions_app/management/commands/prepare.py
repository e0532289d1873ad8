"""Everything between a database that answers and parts that may start."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from sessions_app.actions import people
from sessions_app.management import console
from sessions_app.store import keys


class Command(console.Command):
    help = "Check the root key, then bring tables, keys, first admin and static files up to date."
    needs_keys = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--static", action="store_true", help="collect static files, too")

    def work(self, options: dict[str, Any]) -> None:
        # The key comes first: with a wrong one, nothing at all may be written.
        if console.has_tables():
            keys.prepare()
        call_command("migrate", interactive=False, verbosity=0)
        health = keys.prepare()
        people.found_house()
        if options["static"]:
            call_command("collectstatic", interactive=False, verbosity=0)
        if options["json"]:
            self.give({"ok": True, "key": health})
        else:
            self.say(f"Ready: tables are up to date, the root key is right ({health}).")
