"""The parent of the embedded Postgres: runs it for as long as anybody of this home uses it.

Everyone who uses the database shares `run/users.lock`; the kernel takes that share back however
the user dies. Once the keeper can have the lock alone, nobody is left: it stops Postgres and goes.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import IO

from runtime import cluster, output, place, postgres
from runtime.errors import Trouble
from runtime.home import Home, read_text, write_private
from runtime.locks import Lock

GRACE = 1.0
QUICK = 10.0
DEATHS = 5
TICK = 0.1


class Keeper:
    def __init__(self, home: Home) -> None:
        self.home = home
        self.users = Lock(home.run / "users.lock")
        self.log = output.RotatedFile(home.log / "postgres.log")
        self.grace = GRACE
        self.leaving = False

    def run(self) -> None:
        found = place.find(self.home)
        server = postgres.Server(place=found)
        try:
            self._prepare(found)
            self._keep(server)
        finally:
            self.home.postgres_state.unlink(missing_ok=True)
            server.stop()
            place.discard_socket_folder(self.home)

    def _prepare(self, found: place.Place) -> None:
        """Leave a whole cluster whose password is the one in the home."""
        postgres.end_stray(found.data)
        password = read_text(self.home.password_file)
        fresh = not (found.data / "PG_VERSION").exists()
        if password is None:
            password = secrets.token_urlsafe(32)
            write_private(self.home.password_file, password)
            if not fresh:
                cluster.set_password(found, password)
        if fresh:
            self._note("creating the database")
            cluster.create(found, password)

    def _keep(self, server: postgres.Server) -> None:
        deaths = 0
        while True:
            began = time.monotonic()
            if self._start(server):
                self._announce(server)
                self._watch(server)
            if self.leaving:
                return
            deaths = deaths + 1 if time.monotonic() - began < QUICK else 1
            self._mourn(server, deaths)

    def _start(self, server: postgres.Server) -> bool:
        reading, writing = os.pipe()
        try:
            server.start(writing)
        finally:
            os.close(writing)
        threading.Thread(target=self._pump, args=(os.fdopen(reading, "rb"),), daemon=True).start()
        # Without a limit: after a crash the server may have much to replay.
        while server.returncode() is None and not self.leaving:
            if server.wait_ready(1.0):
                return True
        return False

    def _pump(self, pipe: IO[bytes]) -> None:
        with pipe:
            while raw := pipe.readline(64 * 1024):
                self.log.write(raw.decode(errors="replace").rstrip("\n"))

    def _announce(self, server: postgres.Server) -> None:
        state = {
            "keeper": os.getpid(),
            "postmaster": server.process.pid if server.process else None,
            "socket": str(server.place.socket),
            "data": str(server.place.data),
        }
        write_private(self.home.postgres_state, json.dumps(state))

    def _watch(self, server: postgres.Server) -> None:
        """Return when the server died or when it is time to leave."""
        unused_since: float | None = None
        while server.returncode() is None and not self.leaving:
            if not self.users.try_take():
                unused_since = None
            elif self._over(unused_since):
                # The lock stays taken: a newcomer waits until this server is down.
                self.leaving = True
            else:
                self.users.loosen()
                unused_since = unused_since or time.monotonic()
            time.sleep(TICK)

    def _over(self, unused_since: float | None) -> bool:
        return unused_since is not None and time.monotonic() - unused_since >= self.grace

    def _mourn(self, server: postgres.Server, deaths: int) -> None:
        self.home.postgres_state.unlink(missing_ok=True)
        code = server.returncode()
        server.stop()
        if deaths >= DEATHS:
            tail = "\n".join(last_lines(self.home.log / "postgres.log"))
            raise Trouble(f"Postgres ended {deaths} times in a row. Its last words:\n{tail}")
        delay = 0.25 * 2**deaths
        self._note(f"postgres ended ({explain(code)}); starting it again in {delay:g} s")
        time.sleep(delay)

    def _note(self, text: str) -> None:
        self.log.write(f"{output.stamp()} keeper: {text}")

    def leave(self, _number: int, _frame: FrameType | None) -> None:
        self.leaving = True

    def hurry(self, _number: int, _frame: FrameType | None) -> None:
        self.grace = 0.0


def explain(code: int | None) -> str:
    """Say how a process ended."""
    if code is None:
        return "no answer"
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def last_lines(path: Path, count: int = 15) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    return []


def spawn(home: Home) -> subprocess.Popen[bytes]:
    """Start a keeper that outlives this process."""
    error_log = os.open(home.log / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "runtime.keeper", str(home.root)],
            cwd=Path(__file__).resolve().parent.parent,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=error_log,
            stderr=error_log,
            start_new_session=True,
        )
    finally:
        os.close(error_log)


def _environment(home: Home) -> dict[str, str]:
    # No secret of the process that happens to come first belongs in a process that outlives it.
    names = ("PATH", "HOME", "LANG", "PYTHONPATH", "RECOUNT_POSTGRES_USER")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "RECOUNT_HOME": str(home.root)}


def main() -> int:
    home = Home(root=Path(sys.argv[1]))
    lock = Lock(home.run / "keeper.lock")
    if not lock.try_take_for(2.0):
        return 0
    trouble = home.run / "keeper.trouble"
    trouble.unlink(missing_ok=True)
    keeper = Keeper(home)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, keeper.leave)
    signal.signal(signal.SIGUSR1, keeper.hurry)
    try:
        keeper.run()
    except Trouble as error:
        write_private(trouble, str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
