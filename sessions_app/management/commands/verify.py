"""Check that the record is what was written."""

import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.management import console
from sessions_app.store import sessions, verify


class Command(console.Command):
    help = "Walk the hash chain of sessions, open every chunk, and name the first one that is bad."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="*", metavar="ID")
        parser.add_argument("--all", action="store_true", help="every session (the default)")

    def work(self, options: dict[str, Any]) -> None:
        rows = console.chosen(options["ids"], options["all"] or not options["ids"])
        verdicts = []
        for row in rows:
            verdict = verify.session(row)
            sessions.keep_verdict(row, verdict.problem, verdict.bad_chunk, timezone.now())
            verdicts.append(verdict)
            if not verdict.is_sound and not options["json"]:
                self.say(f"BROKEN   {verdict.uid}: {verdict.problem}")
        broken = [verdict for verdict in verdicts if not verdict.is_sound]
        if options["json"]:
            self.give(
                {
                    "sound": len(verdicts) - len(broken),
                    "broken": len(broken),
                    "sessions": [asdict(verdict) for verdict in verdicts],
                }
            )
        else:
            self.say(f"{len(verdicts) - len(broken):,} sessions sound, {len(broken):,} broken")
        if broken:
            sys.exit(1)
