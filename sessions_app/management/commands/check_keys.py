"""Is the root key the right one? Run before anything else starts."""

from typing import Any

from sessions_app.management import console
from sessions_app.store import keys


class Command(console.Command):
    help = "Check the root key against the canary; on a fresh database make both."

    def work(self, options: dict[str, Any]) -> None:
        health = keys.check()
        if options["json"]:
            self.give({"ok": True, "key": health})
        else:
            self.say(f"The root key is right: {health}")
