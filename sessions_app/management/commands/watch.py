"""Follow the watched folders and take in what is written there. Part of `make run`."""

import signal
from threading import Event
from typing import Any

from sessions_app.ingest.watching import Watcher
from sessions_app.management import console


class Command(console.Command):
    help = "Follow the folders of the Sources page and take in what is written there, until ended."

    def work(self, _: dict[str, Any]) -> None:
        stop = Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        Watcher(stop).run()
