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
import http.client
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
from typing import Any, Callable, Iterator, NamedTuple

BODY = 4 * 1024 * 1024
STRETCH = 4096
# A document is sent whole; the server takes no more than this at once unless it is told to.
DOCUMENT = 60 * 1024 * 1024
ACTIVE, IDLE, WALK = 0.25, 5.0, 10.0
LINES = {".jsonl", ".ndjson"}
AIDER = "aider.chat.history.md"
# Claude Code keeps long results of tools in folders of this name.
OUTPUTS = "tool-results"
PACKED = {".gz": "gzip", ".zst": "zstd"}
DATABASES = {".db", ".sqlite", ".sqlite3"}
# A document is written anew at each save: it is sent once it has rested.
QUIET = 5.0
A_DATABASE = "a database is not sent: read it on the server"
DAY = 24 * 3600
LONGEST_WAIT = 300.0
LOCAL = {"localhost", "127.0.0.1", "::1"}
NAME = "recount-ship"
# What moves the folders of agents; a service is told of it as well.
MOVES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "PI_CODING_AGENT_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server")
EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")


class Stop(Exception):
    """What cannot be mended by waiting; its text says what to do."""


class TooLarge(Stop):
    """It would be refused again, as long as it does not change."""


class OutOfStep(Exception):
    """The server has other bytes than the sender thought."""


def say(text: str) -> None:
    print(shown(text), file=sys.stderr, flush=True)


def shown(text: str) -> str:
    """A name may hold anything, also what would steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def home() -> Path:
    return Path(os.path.expanduser("~"))


class Root(NamedTuple):
    """A folder to look below. Where an agent keeps more than logs, its documents are left alone:
    they may be settings, or passwords."""

    path: str
    has_documents: bool = True


class Found(NamedTuple):
    path: str
    is_named: bool


def roots() -> list[Root]:
    """Where the agents that are known keep their logs on this machine."""
    env, user = os.environ.get, home()
    data = Path(env("XDG_DATA_HOME") or user / ".local/share")
    codex = Path(env("CODEX_HOME") or user / ".codex")
    pi = Path(env("PI_CODING_AGENT_DIR") or user / ".pi/agent")
    whole = [
        Path(env("CLAUDE_CONFIG_DIR") or user / ".claude") / "projects",
        codex / "sessions",
        codex / "archived_sessions",
        pi / "sessions",
        user / ".gemini/tmp",
        *(storage / name / "tasks" for storage in storages() for name in EXTENSIONS),
    ]
    logs_only = [
        user / ".openclaw/agents",
        user / ".copilot/session-state",
        data / "opencode",
        data / "goose/sessions",
    ]
    found = [Root(str(path)) for path in whole]
    return found + [Root(str(path), has_documents=False) for path in logs_only]


def storages() -> list[Path]:
    """Where editors keep what belongs to their extensions."""
    user = home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or user / ".config")
    bases = [settings, user / "Library/Application Support"]
    found = [base / name / "User/globalStorage" for base in bases for name in EDITORS]
    return found + [user / name / "data/User/globalStorage" for name in SERVERS]


def logs(given: list[Root], trouble: Callable[[str, str], None]) -> Iterator[Found]:
    """Regular files below these folders, and files that were named; links are not followed. What
    is not sent although it may hold sessions is told."""
    for root in given:
        path = os.path.realpath(root.path)
        if os.path.isfile(path):
            yield Found(path, is_named=True)
            continue
        for folder, folders, files in os.walk(path, onerror=lambda e: _unreadable(e, trouble)):
            folders.sort()
            for name in sorted(files):
                file = os.path.join(folder, name)
                if is_log(file, root):
                    yield Found(file, is_named=False)
                elif os.path.splitext(name)[1] in DATABASES:
                    trouble(file, A_DATABASE)


def _unreadable(error: OSError, trouble: Callable[[str, str], None]) -> None:
    if not isinstance(error, FileNotFoundError):
        trouble(str(error.filename), error.strerror or "cannot be listed")


def is_log(path: str, root: Root) -> bool:
    """May it be one? What it is the server tells by its content."""
    plain = plain_name(path)
    if _suffix(plain) in LINES or plain.endswith(AIDER):
        return True
    if os.path.basename(os.path.dirname(path)) == OUTPUTS:
        return True
    return root.has_documents and _suffix(plain) == ".json"


def is_document(path: str) -> bool:
    """Sent whole, because it is written anew or packed; others grow at their end."""
    is_output = os.path.basename(os.path.dirname(path)) == OUTPUTS
    return is_output or _suffix(path) in {".json", ".md", *PACKED}


def plain_name(path: str) -> str:
    """The name of what is inside a packed file."""
    base, suffix = os.path.splitext(path)
    return base if suffix in PACKED else path


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1]


def opened(path: str) -> int:
    """Never a link, a pipe or a device, also when the path was swapped after the walk."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("not a regular file")
    return handle


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Direct(urllib.request.HTTPRedirectHandler):
    """Followed elsewhere, a delivery would lose its body and show its token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Piece(NamedTuple):
    """Bytes of a log on their way to the server."""

    path: str
    data: bytes
    offset: int = 0
    generation: int = 0
    # How the bytes are packed already; empty: they are not.
    packing: str = ""
    # Come upon below a folder: kept only if it is a log.
    is_found: bool = False


class Server:
    def __init__(
        self, url: str, token: Callable[[], str], machine: str, stopping: threading.Event
    ) -> None:
        self.url, self.machine, self.stopping = url, machine, stopping
        self.ask_token, self.token = token, token()
        self.opener = urllib.request.build_opener(Direct)
        self.sent = 0

    def offset(self, path: str, generation: int = 0, digest: str = "") -> dict[str, Any]:
        query = {"machine": self.machine, "path": os.fsencode(path)}
        if digest:
            query.update(generation=str(generation), sha256=digest)
        return self._patiently("GET", "offset?" + urllib.parse.urlencode(query))

    def send(self, piece: Piece) -> None:
        path, digest = piece.path, sha(piece.data)
        name = [self.machine, path, piece.generation, piece.offset, digest]
        headers = {
            "X-Recount-Machine": urllib.parse.quote(self.machine),
            "X-Recount-Path": urllib.parse.quote(os.fsencode(path)),
            "X-Recount-Offset": str(piece.offset),
            "Idempotency-Key": sha(json.dumps(name).encode()),
            "Content-Type": "application/x-ndjson",
            "Content-Encoding": piece.packing or "gzip",
        }
        if piece.generation:
            headers["X-Recount-Generation"] = str(piece.generation)
        if piece.is_found:
            headers["X-Recount-Found"] = "1"
        if not piece.packing:
            headers["X-Recount-Sha256"] = digest
        body = piece.data if piece.packing else gzip.compress(piece.data, 3)
        told = self._patiently("POST", "", body, headers)
        while told["state"] == "staged":
            self.wait(0.5)
            told = self._patiently("GET", "receipts/" + told["id"])
        if told["state"] == "refused":
            raise OutOfStep(told["message"])
        if told["state"] != "taken":
            raise Stop(f"{told['state']}: {told['message']}")
        self.sent += len(piece.data)

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
                asked = self._judged(error, _text(error))
            except (OSError, ValueError, http.client.HTTPException) as error:
                asked = 0.0
                say(f"{self.url} does not answer ({type(error).__name__}): trying again")
            self.wait(max(asked, pause * random.uniform(0.5, 1.5)))
            pause = min(pause * 2, LONGEST_WAIT)

    def _judged(self, error: urllib.error.HTTPError, text: str) -> float:
        if error.code == 409:
            raise OutOfStep(text)
        if error.code in (301, 302, 303, 307, 308):
            where = error.headers.get("Location", "")
            raise Stop(f"the server has another address, see --url: {where}")
        if error.code in (400, 404, 405, 413, 422):
            kind = TooLarge if error.code == 413 else Stop
            raise kind(f"the server refuses this ({error.code}): {text}")
        say(f"the server answers {error.code}: {text}")
        if error.code in (401, 403):
            return self._renewed()
        after = error.headers.get("Retry-After", "")
        return float(after) if after.isdigit() else 0.0

    def _renewed(self) -> float:
        """Somebody may have put another token in its place meanwhile."""
        before, self.token = self.token, self.ask_token()
        return LONGEST_WAIT if self.token == before else 0.0

    def _once(
        self, method: str, where: str, body: bytes | None, more: dict[str, str] | None
    ) -> dict[str, Any]:
        address = f"{self.url}/api/v1/ingest" + (f"/{where}" if where else "")
        headers = {"Authorization": f"Bearer {self.token}", **(more or {})}
        request = urllib.request.Request(address, data=body, headers=headers, method=method)
        with self.opener.open(request, timeout=120) as answer:
            told = json.load(answer)
        if not isinstance(told, dict) or "stored" not in told:
            raise ValueError("not an answer of Recount")
        return told


def _text(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(2000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


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
        self.saved, self.is_changed, self.is_failing = 0.0, False, False

    def keep(self, path: str, known: dict[str, Any]) -> None:
        """Written at most once a second: what a crash loses, the server knows."""
        if self.files.get(path) != known:
            self.files[path] = known
            self.is_changed = True
        if time.monotonic() - self.saved > 1:
            self.save()

    def save(self) -> None:
        """Where there is no room for it, the next one is tried: it only saves questions."""
        if not self.is_changed:
            return
        try:
            self._write()
        except OSError as error:
            if not self.is_failing:
                say(f"{self.file}: {error.strerror or error}: the server will be asked instead")
            self.is_failing, self.saved = True, time.monotonic()
            return
        self.saved, self.is_changed, self.is_failing = time.monotonic(), False, False

    def _write(self) -> None:
        draft = self.file.with_name(".state.json.new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as out:
            json.dump({"files": self.files}, out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(draft, self.file)


class Log:
    """One file that is followed."""

    def __init__(self, found: Found, server: Server, state: State, quiet: float) -> None:
        self.path, self.server, self.state = found.path, server, state
        self.is_document = is_document(self.path)
        is_lines = _suffix(plain_name(self.path)) in LINES
        self.is_found = not found.is_named and not is_lines
        self.quiet = quiet
        self.seen: tuple[int, int, int, bool] = (0, 0, 0, False)
        self.next_look = 0.0

    def look(self) -> bool:
        """Send what is new. Says whether there was something."""
        facts = os.lstat(self.path)
        if not stat.S_ISREG(facts.st_mode):
            return False
        is_old = time.time() - facts.st_mtime > DAY
        seen = (facts.st_ino, facts.st_size, facts.st_mtime_ns, is_old)
        if seen == self.seen or not facts.st_size or self._is_unrested(facts):
            return False
        handle = opened(self.path)
        try:
            is_done = self._document(handle) if self.is_document else self._lines(handle, is_old)
        except TooLarge:
            self.seen = seen
            raise
        finally:
            os.close(handle)
        if is_done:
            self.seen = seen
        return True

    def _is_unrested(self, facts: os.stat_result) -> bool:
        return self.is_document and 0 <= time.time() - facts.st_mtime < self.quiet

    def _document(self, handle: int) -> bool:
        size = os.fstat(handle).st_size
        if size > DOCUMENT:
            raise TooLarge("too large to be sent whole; read it on the server")
        data = _read(handle, 0, size)
        known = self.state.files.get(self.path, {})
        if known.get("whole") != sha(data):
            packing = PACKED.get(_suffix(self.path), "")
            path = plain_name(self.path) if packing else self.path
            self.server.send(Piece(path, data, packing=packing, is_found=self.is_found))
            self._keep({"whole": sha(data)})
        return True

    def _lines(self, handle: int, is_old: bool) -> bool:
        known = self.state.files.get(self.path, {})
        if "offset" not in known or not self._is_same(handle, known):
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
            self.server.send(Piece(self.path, data, at, known["generation"]))
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
    def __init__(
        self, given: list[Root], server: Server, state: State, *, quiet: float = QUIET
    ) -> None:
        self.given, self.server, self.state, self.quiet = given, server, state, quiet
        self.logs: dict[str, Log] = {}
        self.told: set[str] = set()
        self.failed = 0

    def walk(self) -> None:
        for found in logs(self.given, self.trouble):
            if found.path not in self.logs:
                self.logs[found.path] = Log(found, self.server, self.state, self.quiet)

    def trouble(self, path: str, reason: str) -> None:
        """Said once, not at every walk."""
        if path not in self.told:
            self.told.add(path)
            self.failed += reason != A_DATABASE
            say(f"{path}: {reason}")

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
        keep_token(file, getpass.getpass("Ingest token (rct_…), from the page Machines: ").strip())
    if file.stat().st_mode & 0o077:
        raise Stop(f"{file} can be read by others: run chmod 600 {shlex.quote(str(file))}")
    return file.read_text().strip()


def keep_token(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text + "\n")
    os.replace(draft, file)


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
        told = "".join(
            f"<key>{name}</key><string>{_escaped(value)}</string>" for name, value in moved()
        )
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict>'
            "<key>Label</key><string>recount.ship</string>"
            f"<key>ProgramArguments</key><array>{words}</array>"
            f"<key>EnvironmentVariables</key><dict>{told}</dict>"
            "<key>RunAtLoad</key><true/><key>KeepAlive</key><true/></dict></plist>\n"
        )
        load = ["launchctl", "load", "-w", str(file)]
        return file, text, [load], [["launchctl", "unload", "-w", str(file)]]
    file = home() / f".config/systemd/user/{NAME}.service"
    words = " ".join('"' + _quoted(word).replace("$", "$$") + '"' for word in command)
    told = "".join(f'Environment="{name}={_quoted(value)}"\n' for name, value in moved())
    text = (
        "[Unit]\nDescription=Send agent logs to Recount\n\n[Service]\n"
        f"{told}ExecStart={words}\nRestart=always\nRestartSec=10\n\n[Install]\nWantedBy=default.target\n"
    )
    systemctl = ["systemctl", "--user"]
    start = [[*systemctl, "daemon-reload"], [*systemctl, "enable", "--now", NAME]]
    return file, text, start, [[*systemctl, "disable", "--now", NAME]]


def _escaped(word: str) -> str:
    return word.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def moved() -> list[tuple[str, str]]:
    """A service does not have the environment of the shell it was installed from."""
    return [(name, os.environ[name]) for name in MOVES if os.environ.get(name)]


def command_of(options: argparse.Namespace) -> list[str]:
    command = [sys.executable, os.path.abspath(__file__), "--url", options.url]
    command += ["--token-file", str(options.token_file.absolute())]
    command += ["--state-dir", str(options.state_dir.absolute()), "--machine", options.machine]
    command += ["--discover"] if options.discover else []
    command += ["--insecure"] if options.insecure else []
    return command + [os.path.abspath(path) for path in options.paths]


def install(options: argparse.Namespace) -> None:
    file, text, start, stop = service(command_of(options))
    steps = stop if options.uninstall else start
    if options.dry_run:
        print(f"{file}:\n{text}")
        for step in steps:
            print("would run:", " ".join(map(shlex.quote, step)))
        return
    if options.install:
        # A service has no terminal to ask at, nor the variable of this shell.
        token = token_of(options.token_file)
        if os.environ.get("RECOUNT_TOKEN"):
            keep_token(options.token_file, token)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for step in steps:
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
    given = [Root(path) for path in options.paths] + (roots() if options.discover else [])
    if not given:
        raise Stop("name a file or folder, or use --discover")
    if options.install:
        return install(options)
    if options.dry_run:
        for found in logs(given, lambda path, reason: say(f"{path}: {reason}")):
            print(shown(found.path))
        return None
    return ship(options, given)


def ship(options: argparse.Namespace, given: list[Root]) -> None:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    server = Server(options.url, lambda: token_of(options.token_file), options.machine, stopping)
    quiet = 0.0 if options.once else QUIET
    follower = Follower(given, server, State(options.state_dir), quiet=quiet)
    for path in options.paths:
        if not os.path.exists(path):
            follower.trouble(path, "there is no such file or folder")
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
        raise Stop(f"{follower.failed} files or folders were not sent: see above")


def main() -> int:
    try:
        run(arguments())
    except Stop as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"{error.filename or 'this machine'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
