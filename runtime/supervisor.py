"""What `make run` runs: brings every part up, keeps it up, and takes all down together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType

from runtime import attach, health, output, parts, port, strays
from runtime.child import Child, stop_all
from runtime.errors import Trouble
from runtime.home import PROJECT, Home, locate, prepare, read_text, write_private
from runtime.keeper import explain
from runtime.locks import Lock
from runtime.parts import Part

TICK = 0.1
LOOK_AT_KEEPER = 1.0
HEALTH_PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run; tests put their own parts here."""

    home: Home
    host: str
    port: int
    base_url: str
    # One stage after the other; the commands of a stage run side by side.
    stages: tuple[tuple[tuple[str, ...], ...], ...]
    parts: tuple[Part, ...]
    link: tuple[str, ...] | None
    embedded: bool


class Stopped(Exception):
    """Somebody asked to stop while the start was still under way."""


class Supervisor:
    def __init__(self, plan: Plan, terminal: output.Terminal) -> None:
        self.plan, self.terminal = plan, terminal
        self.home = plan.home
        self.log = output.RotatedFile(self.home.log / "recount.log")
        self.signals = 0
        self.children: list[Child] = []
        self.asked: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1", **_root_without_warning()}
        self._files: dict[str, output.RotatedFile] = {}
        self._keeper_deaths = 0
        self._keeper_seen = self._keeper_asked = time.monotonic()

    def run(self) -> int:
        """Return the exit code."""
        with self._claim(), contextlib.ExitStack() as cleanup:
            self._listen()
            self.witness = cleanup.enter_context(self._witness())
            self.postgres_log = output.Follower(self.home.log / "postgres.log")
            cleanup.callback(self._finish)
            try:
                self._start()
                return self._watch()
            except (Stopped, attach.GaveUp):
                return 0
            except Trouble as error:
                self.complain(str(error))
                return 1

    # Start -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _claim(self) -> Iterator[None]:
        note = self.home.run / "supervisor.json"
        with Lock(self.home.run / "supervisor.lock") as lock:
            if not lock.try_take_for(0.3):
                raise Trouble(_who_runs(self.home, read_text(note)))
            port.claim(self.plan.host, self.plan.port)
            about = {"pid": os.getpid(), "started": output.stamp(), "url": self.plan.base_url}
            write_private(note, json.dumps(about))
            try:
                yield
            finally:
                note.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _witness(self) -> Iterator[int]:
        """Hold the lock that every part inherits: free again only when the last of them is gone."""
        path = self.home.run / "parts.lock"
        with Lock(path) as lock:
            if not lock.try_take():
                self.say("Ending what an earlier run left behind.")
                strays.end_holders(path)
                if not lock.try_take_for(5.0):
                    raise Trouble(f"Processes of an earlier run still hold {path}.")
            yield lock.descriptor

    def _start(self) -> None:
        if self.plan.embedded:
            self.say("Starting Postgres …")
            self.environment["DATABASE_URL"] = attach.hold(self.home, lambda: self.signals > 0)
        for stage in self.plan.stages:
            self._run(stage)
        self._bring_up(self.plan.parts)
        self._greet()

    def _run(self, stage: tuple[tuple[str, ...], ...]) -> None:
        """Run commands to their end, their output shown like a part's."""
        self._bring_up(tuple(Part(name="setup", command=command) for command in stage))
        while self.children:
            self._pause()
            for child in list(self.children):
                code = child.died()
                if code:
                    words = " ".join(child.part.command[1:])
                    raise Trouble(f"Stopped: `{words}` ended with {explain(code)}.")
                if code == 0:
                    self.children.remove(child)

    def _bring_up(self, wanted: tuple[Part, ...]) -> None:
        for part in wanted:
            file = self._log_file(part.name)
            child = Child(part, folder=PROJECT, terminal=self.terminal, log=file)
            self.children.append(child)
            child.start(self.environment, self.witness)

    def _log_file(self, name: str) -> output.RotatedFile:
        if name not in self._files:
            self._files[name] = output.RotatedFile(self.home.log / f"{name}.log")
        return self._files[name]

    def _greet(self) -> None:
        self.asked = self._ask_for_link(self.plan.link) if self.plan.link else None
        deadline = time.monotonic() + HEALTH_PATIENCE
        state = self._health()
        while not state.ok and time.monotonic() < deadline:
            self._look_after()
            self._pause()
            state = self._health()
        if not state.ok:
            unwell = ", ".join(f"{name}: {word}" for name, word in state.checks.items())
            self.complain(f"Not all is well after {HEALTH_PATIENCE:g} s ({unwell or 'no answer'}).")
        self.say(f"Recount runs at {self.plan.base_url}")
        self._show_link(self.asked)
        self.say(f"Data and logs: {self.home.root}. Ctrl-C stops everything.")

    def _health(self) -> health.Health:
        return health.ask(self.plan.host, self.plan.port, self.plan.base_url)

    def _ask_for_link(self, command: tuple[str, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=PROJECT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def _show_link(self, asked: subprocess.Popen[str] | None) -> None:
        """Print the sign-in link on the terminal only: a log file is no place for a key."""
        if asked is None:
            return
        told, problem = asked.communicate(timeout=60)
        try:
            link = json.loads(told)["url"]
        except (ValueError, KeyError, TypeError):
            self.complain(f"No sign-in link could be made.\n{problem.strip()}")
            return
        self.terminal.say(f"Sign in once with this link: {link}")

    # Run ---------------------------------------------------------------------------------

    def _watch(self) -> int:
        while True:
            self._pause()
            self._look_after()

    def _pause(self) -> None:
        if self.signals:
            raise Stopped
        for line in self.postgres_log.lines():
            if " LOG:  checkpoint " not in line:
                self.terminal.line("postgres", line)
        time.sleep(TICK)

    def _look_after(self) -> None:
        for child in self.children:
            self._look_after_child(child)
        if self.plan.embedded and time.monotonic() - self._keeper_asked > LOOK_AT_KEEPER:
            self._keeper_asked = time.monotonic()
            if not attach.keeper_runs(self.home):
                self._replace_keeper()

    def _look_after_child(self, child: Child) -> None:
        code = child.died()
        if code is not None:
            self._mourn(child, code)
        elif child.due:
            child.start(self.environment, self.witness)
            self.say(f"{child.part.name} runs again (pid {child.pid})")

    def _mourn(self, child: Child, code: int) -> None:
        name = child.part.name
        if child.hopeless:
            last = "\n".join(child.last_lines())
            raise Trouble(
                f"{name} ended {child.deaths} times in a row ({explain(code)}); giving up. "
                f"Its last lines:\n{last}\nThe whole log: {self.home.log / (name + '.log')}"
            )
        self.complain(f"{name} ended ({explain(code)}); starting it again in {child.delay:g} s")

    def _replace_keeper(self) -> None:
        now = time.monotonic()
        self._keeper_deaths = self._keeper_deaths + 1 if now - self._keeper_seen < 30 else 1
        self._keeper_seen = now
        if self._keeper_deaths >= 5:
            raise Trouble("The keeper of Postgres ended 5 times in a row; giving up.")
        self.complain("the keeper of Postgres is gone; starting it again")
        address = attach.hold(self.home, lambda: self.signals > 0)
        if address != self.environment["DATABASE_URL"]:
            self.environment["DATABASE_URL"] = address
            self._restart_parts()

    def _restart_parts(self) -> None:
        stop_all(self.children)
        for child in self.children:
            child.start(self.environment, self.witness)

    # Stop --------------------------------------------------------------------------------

    def _listen(self) -> None:
        wanted = [signal.SIGINT, signal.SIGTERM]
        # nohup asks to survive the end of the terminal.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            wanted.append(signal.SIGHUP)
        for number in wanted:
            signal.signal(number, self._heard)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.signals += 1
        if self.signals > 1:
            for child in self.children:
                child.kill()

    def _finish(self) -> None:
        self.say("Stopping …")
        if self.asked:
            self.asked.kill()
        stop_all(self.children)
        if self.plan.embedded and not attach.depart(self.home):
            self.say("Postgres stays up: another command of this home still uses it.")
        self.say("Stopped.")

    # Words -------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.log.write(f"{output.stamp()} {text}")
        self.terminal.say(text)

    def complain(self, text: str) -> None:
        self.log.write(f"{output.stamp()} {text}")
        self.terminal.complain(text)


def _root_without_warning() -> dict[str, str]:
    # Running as root is supported here, so Celery's long warning would only frighten.
    if os.geteuid() != 0:
        return {}
    known = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:You're running the worker with superuser privileges:UserWarning"
    return {"PYTHONWARNINGS": f"{known},{quiet}" if known else quiet}


def _who_runs(home: Home, note: str | None) -> str:
    if note is None:
        return f"Recount is already starting or stopping in {home.root}."
    about = json.loads(note)
    return (
        f"Recount already runs in {home.root}:\n"
        f"pid {about['pid']}, since {about['started']}, at {about['url']}\n"
        f"Stop it with Ctrl-C in its terminal or with: kill {about['pid']}"
    )


def plan(environment: Mapping[str, str] = os.environ) -> Plan:
    """Read the environment into the plan of the real thing."""
    number = port.read(environment.get("PORT", "").strip() or "8000")
    host = environment.get("RECOUNT_HOST", "").strip() or "127.0.0.1"
    python = sys.executable
    return Plan(
        home=locate(environment),
        host=host,
        port=number,
        base_url=environment.get("RECOUNT_BASE_URL", "").strip() or _address(host, number),
        stages=tuple(tuple((python, *step) for step in stage) for stage in parts.STAGES),
        parts=parts.every(python, host=host, port=number),
        link=(python, *parts.LINK),
        embedded=not environment.get("DATABASE_URL", "").strip(),
    )


def _address(host: str, number: int) -> str:
    # An address that means "all of them" is no address to open in a browser.
    shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104
    return f"http://[{shown}]:{number}" if ":" in shown else f"http://{shown}:{number}"


def supervise(chosen: Plan) -> int:
    """Run a plan until it is stopped; return the exit code."""
    terminal = output.standard()
    try:
        prepare(chosen.home)
        os.environ["RECOUNT_HOME"] = str(chosen.home.root)
        return Supervisor(chosen, terminal).run()
    except Trouble as error:
        terminal.complain(str(error))
        return 1


def main() -> int:
    try:
        chosen = plan()
    except Trouble as error:
        output.standard().complain(str(error))
        return 1
    os.environ.update(
        PORT=str(chosen.port), RECOUNT_HOST=chosen.host, RECOUNT_BASE_URL=chosen.base_url
    )
    return supervise(chosen)


if __name__ == "__main__":
    sys.exit(main())
