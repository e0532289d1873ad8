"""One part as a process group: started, watched, swept away as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from runtime.cluster import leashed
from runtime.output import Pump, RotatedFile, Terminal
from runtime.parts import Part

QUICK = 15.0
DEATHS = 5


class Child:
    def __init__(self, part: Part, *, folder: Path, terminal: Terminal, log: RotatedFile) -> None:
        self.part = part
        self.deaths = 0
        self.restart_at: float | None = None
        self._folder, self._terminal, self._log = folder, terminal, log
        self._process: subprocess.Popen[bytes] | None = None
        self._pump: Pump | None = None
        self._began = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, environment: Mapping[str, str], witness: int) -> None:
        """Start the part in a group of its own; it and its children keep `witness` open.

        Called from the main thread only: the kernel ends a leashed child with its *thread*.
        """
        self.restart_at = None
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            leashed(self.part.command, signal=self.part.orphaned),
            cwd=self._folder,
            env={**environment, **self.part.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
            pass_fds=(witness,),
        )
        if self._process.stdout:
            self._pump = Pump(self.part.name, self._process.stdout, self._log, self._terminal)
            self._pump.start()

    def died(self) -> int | None:
        """Return how it ended, once; afterwards there is no process to ask about."""
        code = self._process.poll() if self._process else None
        if code is None:
            return None
        quick = time.monotonic() - self._began < QUICK
        self.deaths = self.deaths + 1 if quick else 1
        self.restart_at = time.monotonic() + self.delay
        self.sweep()
        return code

    @property
    def delay(self) -> float:
        return float(min(0.5 * 2 ** (self.deaths - 1), 10.0))

    @property
    def hopeless(self) -> bool:
        return self.deaths >= DEATHS

    @property
    def due(self) -> bool:
        return self.restart_at is not None and time.monotonic() >= self.restart_at

    def ask_to_stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End it now; the rest of its group follows when it is swept."""
        if self._process and self._process.poll() is None:
            self._process.kill()

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def sweep(self) -> None:
        """Kill what is left of the group, so that nothing of an earlier life works on."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._pump:
            self._pump.join(2.0)
        if self._process.stdout and self._pump and not self._pump.is_alive():
            self._process.stdout.close()
        self._process = None

    def last_lines(self) -> list[str]:
        return list(self._pump.last) if self._pump else []


def stop_all(children: list[Child]) -> None:
    """Ask all to finish, wait for as long as each may take, sweep what remains."""
    for child in children:
        child.ask_to_stop()
    began = time.monotonic()
    for child in children:
        while child.running() and time.monotonic() - began < child.part.patience:
            time.sleep(0.05)
        child.sweep()
