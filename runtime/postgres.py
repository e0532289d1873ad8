"""One Postgres server process: start it, know when it answers, stop it."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from runtime import account as accounts
from runtime import binaries, cluster
from runtime.errors import Trouble
from runtime.place import Place, short_folder, usable_for_socket

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "maintenance_work_mem": "128MB",
    # Its packages know only the slow way to compress, a tenth of what an ingest costs the server.
    "wal_compression": "off",
    "fsync": "on",
    "synchronous_commit": "on",
    "logging_collector": "off",
    "log_line_prefix": "%m ",
    "log_timezone": "UTC",
    "max_logical_replication_workers": "0",
    # Nothing of a statement or its parameters may reach a log: they carry content. The text of an
    # error can quote a value, so errors go to the client that caused them and not into the log.
    "log_min_messages": "log",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
}
THROWAWAY: Mapping[str, str] = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum_naptime": "10min",
}


def dsn(socket: Path, password: str) -> str:
    """Write the address in the one form that every reader of DATABASE_URL understands."""
    return (
        f"postgresql://{cluster.ROLE}:{quote(password, safe='')}@/{cluster.DATABASE}"
        f"?host={quote(str(socket), safe='')}&port={SETTINGS['port']}"
    )


def answers(address: str) -> bool:
    """Say whether a server takes connections there with this password."""
    try:
        with psycopg.connect(address, connect_timeout=5) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


@dataclass(slots=True, kw_only=True)
class Server:
    """A server that is a child of this process and dies with it."""

    place: Place
    overrides: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self, log: int) -> None:
        """Start the process; its messages go to the open file `log`.

        Called from the main thread only: the kernel ends a leashed child when the *thread* that
        started it ends.
        """
        self.process = subprocess.Popen(
            cluster.leashed(self._command(), signal="SIGINT", account=self.place.account),
            cwd="/",
            env=cluster.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )

    def _command(self) -> list[str]:
        quoted = str(self.place.socket).replace('"', '""')
        settings = {**SETTINGS, "unix_socket_directories": f'"{quoted}"', **self.overrides}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.place.programs / "postgres"), "-D", str(self.place.data), *options]

    def ready(self) -> bool:
        """Read the server's own status line, which needs no connection and leaves no log line."""
        lines = status_lines(self.place.data)
        ours = self.process is not None and lines[:1] == [str(self.process.pid)]
        return ours and len(lines) > 7 and lines[7].strip() == "ready"

    def wait_ready(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.returncode() is None:
            if self.ready():
                return True
            time.sleep(0.02)
        return False

    def returncode(self) -> int | None:
        return self.process.poll() if self.process else 0

    def stop(self) -> None:
        """Fast shutdown, then harder ones if it hangs; nothing is left afterwards."""
        if self.process is None:
            return
        for wanted, patience in ((signal.SIGINT, 30), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
            if self.process.poll() is None:
                self.process.send_signal(wanted)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(patience)
        self.process = None


def status_lines(data: Path) -> list[str]:
    """Return the lines of postmaster.pid; a file that is being replaced counts as none."""
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def stray(data: Path) -> int | None:
    """Return the pid of a server that some earlier process left running on this data."""
    lines = status_lines(data)
    if not lines or not lines[0].isdigit():
        return None
    pid = int(lines[0])
    return pid if _runs_on(pid, data) else None


def _runs_on(pid: int, data: Path) -> bool:
    # A number in a file proves nothing: after a reboot it may be any process.
    if platform.system() == "Linux":
        try:
            return Path(f"/proc/{pid}/cwd").samefile(data)
        except OSError:
            return False
    told = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return "postgres" in told.stdout and str(data) in told.stdout


def end_stray(data: Path) -> None:
    """Let a left-over server finish its shutdown, or make it."""
    for wanted, patience in ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0)):
        pid = stray(data)
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, wanted)
        deadline = time.monotonic() + patience
        while stray(data) == pid and time.monotonic() < deadline:
            time.sleep(0.05)
    if stray(data) is not None:
        raise Trouble(f"A Postgres server (pid {stray(data)}) does not let go of {data}.")


@contextlib.contextmanager
def temporary(folder: Path | None = None, *, fsync: bool = False) -> Iterator[str]:
    """Run a throwaway server for a `with` block and yield its address.

    As root in a folder that the database account cannot reach, the data goes to a folder of its
    own below the system's temporary one.
    """
    with contextlib.ExitStack() as cleanup:
        place = _temporary_place(folder, cleanup)
        password = secrets.token_urlsafe(24)
        cluster.create(place, password, sync=fsync)
        server = Server(place=place, overrides={} if fsync else THROWAWAY)
        with tempfile.TemporaryFile() as log:
            cleanup.callback(server.stop)
            server.start(log.fileno())
            if not server.wait_ready(60):
                log.seek(0)
                raise Trouble(f"Postgres did not start:\n{log.read().decode(errors='replace')}")
            yield dsn(place.socket, password)


def _temporary_place(folder: Path | None, cleanup: contextlib.ExitStack) -> Place:
    account = accounts.choose()
    if folder is None or not accounts.reaches(account, folder):
        folder = Path(tempfile.mkdtemp(prefix="recount-", dir="/tmp"))
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
    socket = folder / "socket"
    if usable_for_socket(socket):
        socket.mkdir(mode=0o700)
        accounts.give(socket, account)
    else:
        socket = short_folder(account)
        cleanup.callback(shutil.rmtree, socket, ignore_errors=True)
    programs = binaries.programs_for(account)
    return Place(data=folder / "data", socket=socket, programs=programs, account=account)
