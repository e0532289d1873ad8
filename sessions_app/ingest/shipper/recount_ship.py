#!/usr/bin/env python3
"""Sends this machine's agent logs to Recount, each byte once, and follows them as they grow.

One file, standard library only, Python 3.8 or newer. The server's word is the truth: the state
file only saves questions. SQLite databases are not sent; read them on the server.
"""

from __future__ import annotations

import argparse
import fcntl
import getpass
import gzip
import hashlib
import json
import os
import random
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Iterator

BODY = 4 * 1024 * 1024
STRETCH = 4096
# A document is sent whole; the server takes no more than this at once unless it is told to.
DOCUMENT = 60 * 1024 * 1024
ACTIVE, IDLE, WALK = 0.25, 5.0, 10.0
LINES, DOCUMENTS = {".jsonl", ".ndjson"}, {".json", ".md"}
DAY = 24 * 3600
LONGEST_WAIT = 300.0
LOCAL = {"localhost", "127.0.0.1", "::1"}
NAME = "recount-ship"


class Stop(Exception):
    """What cannot be mended by waiting; its text says what to do."""


class OutOfStep(Exception):
    """The server has other bytes than the sender thought."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def home() -> Path:
    return Path(os.path.expanduser("~"))


def roots() -> list[Path]:
    """Where the agents that are known keep their logs on this machine."""
    env, user = os.environ.get, home()
    data = Path(env("XDG_DATA_HOME") or user / ".local/share")
    codex = Path(env("CODEX_HOME") or user / ".codex")
    pi = Path(env("PI_CODING_AGENT_DIR") or user / ".pi/agent")
    return [
        Path(env("CLAUDE_CONFIG_DIR") or user / ".claude") / "projects",
        codex / "sessions",
        codex / "archived_sessions",
        pi / "sessions",
        user / ".openclaw",
        user / ".copilot/session-state",
        user / ".gemini/tmp",
        data / "opencode",
        data / "goose",
    ]


def logs(given: list[str]) -> Iterator[str]:
    """Regular files below the named paths; links are not followed."""
    for name in given:
        path = os.path.realpath(name)
        if os.path.isfile(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            for file in sorted(files):
                if os.path.splitext(file)[1] in LINES | DOCUMENTS:
                    yield os.path.join(folder, file)


def opened(path: str) -> int:
    """Never a link, a pipe or a device, also when the path was swapped after the walk."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("not a regular file")
    return handle


def _folder(path: str) -> bytes:
    return os.path.basename(os.path.dirname(os.fsencode(path)))[:200]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Server:
    def __init__(self, url: str, token: str, machine: str, stopping: threading.Event) -> None:
        self.url, self.token, self.machine, self.stopping = url, token, machine, stopping
        self.sent = 0

    def offset(self, path: str, generation: int = 0, digest: str = "") -> dict[str, Any]:
        query = {"machine": self.machine, "path": os.fsencode(path)}
        if digest:
            query.update(generation=str(generation), sha256=digest)
        return self._patiently("GET", "offset?" + urllib.parse.urlencode(query))

    def send(self, path: str, offset: int, generation: int, data: bytes) -> dict[str, Any]:
        digest = sha(data)
        key = sha(json.dumps([self.machine, path, generation, offset, digest]).encode())
        headers = {
            "X-Recount-Machine": urllib.parse.quote(self.machine),
            "X-Recount-Path": urllib.parse.quote(os.fsencode(path)),
            "X-Recount-Project": urllib.parse.quote(_folder(path)),
            "X-Recount-Offset": str(offset),
            "X-Recount-Sha256": digest,
            "Idempotency-Key": key,
            "Content-Type": "application/x-ndjson",
            "Content-Encoding": "gzip",
        }
        if generation:
            headers["X-Recount-Generation"] = str(generation)
        told = self._patiently("POST", "", gzip.compress(data, 3), headers)
        while told["state"] == "staged":
            self.wait(0.5)
            told = self._patiently("GET", "receipts/" + told["id"])
        if told["state"] == "refused":
            raise OutOfStep(told["message"])
        if told["state"] != "taken":
            raise Stop(f"{told['state']}: {told['message']}")
        self.sent += len(data)
        return told

    def wait(self, seconds: float) -> None:
        if self.stopping.wait(seconds):
            raise KeyboardInterrupt

    def _patiently(
        self,
        method: str,
        where: str,
        body: bytes | None = None,
        more: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Through outages: longer and longer waits with some chance in them."""
        pause = 0.5
        while True:
            if self.stopping.is_set():
                raise KeyboardInterrupt
            try:
                return self._once(method, where, body, more)
            except urllib.error.HTTPError as error:
                text = error.read(2000).decode("utf-8", "replace")
                asked = self._judged(error, text)
            except (OSError, ValueError) as error:
                asked = 0.0
                say(f"{self.url} does not answer ({type(error).__name__}): trying again")
            self.wait(max(asked, pause * random.uniform(0.5, 1.5)))
            pause = min(pause * 2, LONGEST_WAIT)

    def _judged(self, error: urllib.error.HTTPError, text: str) -> float:
        if error.code == 409:
            raise OutOfStep(text)
        if error.code in (400, 404, 413, 422):
            raise Stop(f"the server refuses this ({error.code}): {text}")
        say(f"the server answers {error.code}: {text}")
        if error.code in (401, 403):
            return LONGEST_WAIT
        after = error.headers.get("Retry-After", "")
        return float(after) if after.isdigit() else 0.0

    def _once(
        self, method: str, where: str, body: bytes | None, more: dict[str, str] | None
    ) -> dict[str, Any]:
        address = f"{self.url}/api/v1/ingest" + (f"/{where}" if where else "")
        headers = {"Authorization": f"Bearer {self.token}", **(more or {})}
        request = urllib.request.Request(address, data=body, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            told = json.load(answer)
        if not isinstance(told, dict):
            raise ValueError("not an answer of Recount")
        return told


class State:
    """Path → offset, generation and hashes of both ends. Replaced in one step."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file = folder / "state.json"
        self.lock = open(folder / "lock", "w")  # noqa: SIM115
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Stop(f"another shipper already runs with the state in {folder}") from None
        try:
            known = json.loads(self.file.read_text())
            self.files: dict[str, Any] = dict(known["files"])
        except (OSError, ValueError, KeyError, TypeError):
            self.files = {}
        self.saved, self.is_changed = 0.0, False

    def keep(self, path: str, known: dict[str, Any]) -> None:
        """Written at most once a second: what a crash loses, the server knows."""
        if self.files.get(path) != known:
            self.files[path] = known
            self.is_changed = True
        if time.monotonic() - self.saved > 1:
            self.save()

    def save(self) -> None:
        if not self.is_changed:
            return
        draft = self.file.with_name(".state.json.new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as out:
            json.dump({"files": self.files}, out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(draft, self.file)
        self.saved, self.is_changed = time.monotonic(), False


class Log:
    """One file that is followed."""

    def __init__(self, path: str, server: Server, state: State) -> None:
        self.path, self.server, self.state = path, server, state
        self.is_document = os.path.splitext(path)[1] in DOCUMENTS
        self.seen: tuple[int, int, int, bool] = (0, 0, 0, False)
        self.next_look = 0.0

    def look(self) -> bool:
        """Send what is new. Says whether there was something."""
        facts = os.lstat(self.path)
        if not stat.S_ISREG(facts.st_mode):
            return False
        is_old = time.time() - facts.st_mtime > DAY
        seen = (facts.st_ino, facts.st_size, facts.st_mtime_ns, is_old)
        if seen == self.seen or not facts.st_size:
            return False
        handle = opened(self.path)
        try:
            is_done = self._document(handle) if self.is_document else self._lines(handle, is_old)
        finally:
            os.close(handle)
        if is_done:
            self.seen = seen
        return True

    def _document(self, handle: int) -> bool:
        size = os.fstat(handle).st_size
        if size > DOCUMENT:
            say(f"{self.path}: too large to be sent whole; read it on the server")
            return True
        data = _read(handle, 0, size)
        known = self.state.files.get(self.path, {})
        if known.get("whole") != sha(data):
            self.server.send(self.path, 0, 0, data)
            self._keep({"whole": sha(data)})
        return True

    def _lines(self, handle: int, is_old: bool) -> bool:
        known = self.state.files.get(self.path)
        if not known or not self._is_same(handle, known):
            known = self._placed(handle)
        for _ in range(3):
            try:
                return self._send(handle, known, is_old)
            except OutOfStep:
                known = self._placed(handle)
        say(f"{self.path}: others send the same file; it is looked at again")
        return False

    def _is_same(self, handle: int, known: dict[str, Any]) -> bool:
        """Rewritten, shortened or replaced files do not have the ends that were sent."""
        at = known["offset"]
        if os.fstat(handle).st_size < at:
            return False
        head = _read(handle, 0, known["head_len"])
        return bool(sha(head) == known["head"] and sha(_before(handle, at)) == known["tail"])

    def _placed(self, handle: int) -> dict[str, Any]:
        """Ask the server where to go on: the newest generation that ends as this file does
        there, else the next one from the beginning."""
        size = os.fstat(handle).st_size
        told = self.server.offset(self.path)
        for each in told["generations"]:
            at, number = each["stored"], each["generation"]
            if (
                at <= size
                and self.server.offset(self.path, number, sha(_before(handle, at)))["agrees"]
            ):
                return self._known(handle, at, number)
        return self._known(handle, 0, told["generation"] + 1)

    def _known(self, handle: int, at: int, generation: int) -> dict[str, Any]:
        head = _read(handle, 0, min(at, STRETCH))
        return {
            "offset": at,
            "generation": generation,
            "head_len": len(head),
            "head": sha(head),
            "tail": sha(_before(handle, at)),
        }

    def _send(self, handle: int, known: dict[str, Any], is_old: bool) -> bool:
        while True:
            at = known["offset"]
            data = _read(handle, at, BODY)
            end = data.rfind(b"\n") + 1
            if not end and len(data) < BODY and not is_old:
                # The beginning of a line waits for its end.
                self._keep(known)
                return True
            data = data[:end] or data
            if not data:
                return True
            self.server.send(self.path, at, known["generation"], data)
            known = self._known(handle, at + len(data), known["generation"])
            self._keep(known)

    def _keep(self, known: dict[str, Any]) -> None:
        self.state.keep(self.path, known)


def _read(handle: int, at: int, size: int) -> bytes:
    out = b""
    while len(out) < size:
        data = os.pread(handle, size - len(out), at + len(out))
        if not data:
            break
        out += data
    return out


def _before(handle: int, at: int) -> bytes:
    return _read(handle, max(0, at - STRETCH), min(at, STRETCH))


class Follower:
    def __init__(self, given: list[str], server: Server, state: State) -> None:
        self.given, self.server, self.state = given, server, state
        self.logs: dict[str, Log] = {}
        self.failed = 0

    def walk(self) -> None:
        for path in logs(self.given):
            if path not in self.logs:
                self.logs[path] = Log(path, self.server, self.state)

    def once(self) -> None:
        now = time.monotonic()
        for path, log in list(self.logs.items()):
            if log.next_look > now:
                continue
            try:
                is_active = log.look()
            except FileNotFoundError:
                del self.logs[path]
                continue
            except (OSError, Stop, OutOfStep) as error:
                say(f"{path}: {error}")
                self.failed += 1
                is_active, log.next_look = False, now + 60
                continue
            log.next_look = now + (ACTIVE if is_active else self._pause(path))

    def _pause(self, path: str) -> float:
        try:
            age = time.time() - os.lstat(path).st_mtime
        except OSError:
            return ACTIVE
        return ACTIVE if age < 60 else min(IDLE, 0.5 + age / 600)

    def follow(self) -> None:
        walked = 0.0
        while True:
            if time.monotonic() - walked >= WALK or not walked:
                self.walk()
                walked = time.monotonic()
            self.once()
            self.state.save()
            self.server.wait(ACTIVE)


def token_of(file: Path) -> str:
    """From the environment or a file only its owner can read; asked for once if there is none."""
    if os.environ.get("RECOUNT_TOKEN"):
        return os.environ["RECOUNT_TOKEN"].strip()
    if not file.exists():
        if not sys.stdin.isatty():
            raise Stop(f"no token: put it into {file} (mode 0600) or into RECOUNT_TOKEN")
        text = getpass.getpass("Ingest token (rct_…), from the page Machines: ").strip()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as out:
            out.write(text + "\n")
    if file.stat().st_mode & 0o077:
        raise Stop(f"{file} can be read by others: run chmod 600 {shlex.quote(str(file))}")
    return file.read_text().strip()


def checked(url: str, *, is_insecure: bool) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Stop("--url must be like https://recount.example.org")
    if parts.scheme == "http" and parts.hostname not in LOCAL and not is_insecure:
        raise Stop("plain http would show token and logs to the network: use https or --insecure")
    return url.rstrip("/")


# As a service ---------------------------------------------------------------------------------


def service(command: list[str]) -> tuple[Path, str, list[list[str]], list[list[str]]]:
    """File, its text, how to start and how to stop it."""
    if sys.platform == "darwin":
        file = home() / "Library/LaunchAgents/recount.ship.plist"
        words = "".join(f"<string>{_escaped(word)}</string>" for word in command)
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict>'
            "<key>Label</key><string>recount.ship</string>"
            f"<key>ProgramArguments</key><array>{words}</array>"
            "<key>RunAtLoad</key><true/><key>KeepAlive</key><true/></dict></plist>\n"
        )
        load = ["launchctl", "load", "-w", str(file)]
        return file, text, [load], [["launchctl", "unload", "-w", str(file)]]
    file = home() / f".config/systemd/user/{NAME}.service"
    words = " ".join('"' + _quoted(word) + '"' for word in command)
    text = (
        "[Unit]\nDescription=Send agent logs to Recount\n\n[Service]\n"
        f"ExecStart={words}\nRestart=always\nRestartSec=10\n\n[Install]\nWantedBy=default.target\n"
    )
    systemctl = ["systemctl", "--user"]
    start = [[*systemctl, "daemon-reload"], [*systemctl, "enable", "--now", NAME]]
    return file, text, start, [[*systemctl, "disable", "--now", NAME]]


def _escaped(word: str) -> str:
    return word.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


def install(options: argparse.Namespace) -> None:
    command = [sys.executable, os.path.abspath(__file__), "--url", options.url]
    command += ["--token-file", str(options.token_file.absolute())]
    command += ["--state-dir", str(options.state_dir.absolute()), "--machine", options.machine]
    command += ["--discover"] if options.discover else []
    command += ["--insecure"] if options.insecure else []
    command += [os.path.abspath(path) for path in options.paths]
    file, text, start, stop = service(command)
    if options.dry_run:
        print(f"{file}:\n{text}")
    for step in stop if options.uninstall else start:
        if options.dry_run:
            print("would run:", " ".join(map(shlex.quote, step)))
    if options.dry_run:
        return
    if options.install:
        token_of(options.token_file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for step in stop if options.uninstall else start:
        subprocess.run(step, check=not options.uninstall)
    if options.uninstall and file.exists():
        file.unlink()


def status(options: argparse.Namespace) -> None:
    try:
        known = json.loads((options.state_dir / "state.json").read_text())["files"]
    except (OSError, ValueError, KeyError):
        known = {}
    print(f"{len(known)} files sent or followed, state in {options.state_dir}")
    file = service([])[0]
    print(f"service: {file if file.exists() else 'not installed'}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="recount_ship.py", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to send")
    parser.add_argument("--url", default="", help="address of the server")
    parser.add_argument(
        "--token-file", type=Path, default=home() / ".config" / NAME / "token", metavar="FILE"
    )
    parser.add_argument("--discover", action="store_true", help="also the folders of known agents")
    parser.add_argument("--once", action="store_true", help="send what is there, then end")
    parser.add_argument("--install", action="store_true", help="run from now on as a service")
    parser.add_argument("--uninstall", action="store_true")
    parser.add_argument("--status", action="store_true")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--insecure", action="store_true", help="allow plain http")
    parser.add_argument("--machine", default=socket.gethostname(), help="name of this machine")
    parser.add_argument(
        "--state-dir", type=Path, default=home() / ".local/state" / NAME, metavar="DIR"
    )
    return parser.parse_args()


def run(options: argparse.Namespace) -> None:
    if options.status:
        return status(options)
    if options.uninstall:
        return install(options)
    options.url = checked(options.url, is_insecure=options.insecure)
    given = options.paths + ([str(path) for path in roots()] if options.discover else [])
    if not given:
        raise Stop("name a file or folder, or use --discover")
    if options.install:
        return install(options)
    if options.dry_run:
        for path in logs(given):
            print(path)
        return None
    return ship(options, given)


def ship(options: argparse.Namespace, given: list[str]) -> None:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    token = token_of(options.token_file)
    server = Server(options.url, token, options.machine, stopping)
    follower = Follower(given, server, State(options.state_dir))
    try:
        if not options.once:
            say(f"following logs for {options.url} as {options.machine}; Ctrl-C ends")
            follower.follow()
        follower.walk()
        follower.once()
    finally:
        follower.state.save()
    say(f"{server.sent:,} new bytes sent")
    if follower.failed:
        raise Stop(f"{follower.failed} files were not sent: see above, then run it again")


def main() -> int:
    try:
        run(arguments())
    except Stop as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
