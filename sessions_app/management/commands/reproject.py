"""Derive events, search terms and counts anew from the stored bytes."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.management import console
from sessions_app.store import reproject


class Command(console.Command):
    help = "Read sessions again with the formats of this version. The stored bytes do not change."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="*", metavar="ID")
        parser.add_argument("--all", action="store_true", help="every session")

    def work(self, options: dict[str, Any]) -> None:
        done = []
        for row in console.chosen(options["ids"], options["all"]):
            counts = reproject.session(row.id, now=timezone.now())
            done.append(
                {"session": row.uid, "events": counts.events, "unreadable": counts.unreadable}
            )
        if options["json"]:
            self.give({"sessions": done})
        else:
            self.say(f"{len(done):,} sessions read again")
