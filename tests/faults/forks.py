"""Commands of the house as children of one prepared process: a start costs milliseconds instead of
a second, so that a test can afford to kill hundreds.

The stem (`python -m tests.faults.forks`) has loaded everything and holds no connection. Each line
it reads asks for a child or waits for one.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.faults.databases import ROOT, House

# Sizes at which a log of a few hundred kilobytes is as many batches, chunks and pieces as one of
# a hundred megabytes is in earnest.
SMALL = 16 * 1024
SMALL_BATCH = 3 * SMALL


@dataclass(slots=True, kw_only=True)
class Child:
    """A command on its way."""

    stem: "subprocess.Popen[str]"
    pid: int
    out: Path

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def is_over(self) -> bool:
        """Whether it has ended, waited for or not."""
        status = Path(f"/proc/{self.pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] == "Z"

    def wait(self) -> int:
        """Its exit code; the number of a signal is negative."""
        return int(_asked(self.stem, {"wait": self.pid})["code"])

    @property
    def said(self) -> str:
        return self.out.read_text(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stem:
    process: "subprocess.Popen[str]"
    folder: Path

    def start(self, house: House, *words: str, dies: tuple[str, int | str] | None = None) -> Child:
        """A command of manage.py; `dies` names a failpoint and which hit."""
        return self._child(house, words=words, dies=dies)

    def run(self, house: House, *words: str) -> str:
        child = self.start(house, *words)
        code = child.wait()
        assert code == 0, child.said[-4000:]
        return child.said

    def asked(self, house: House, place: str) -> Any:
        """What a function of no arguments, named `module:function`, answers in a child."""
        child = self._child(house, call=place)
        code = child.wait()
        assert code == 0, child.said[-4000:]
        return json.loads(child.said)

    def _child(self, house: House, **what: Any) -> Child:
        handle, out = tempfile.mkstemp(dir=self.folder)
        os.close(handle)
        told = _asked(self.process, {"url": house.url, "out": out, **what})
        return Child(stem=self.process, pid=told["pid"], out=Path(out))


def _asked(process: "subprocess.Popen[str]", request: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


@contextlib.contextmanager
def stem(house: House, folder: Path, *, sizes: str = "small") -> Iterator[Stem]:
    """Batches, chunks and pieces are small, or as large as in earnest."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forks", sizes],
        cwd=ROOT,
        env={**house.environment, "DJANGO_SETTINGS_MODULE": "config.settings"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Stem(process=process, folder=folder)
    finally:
        process.communicate()


# In the stem -----------------------------------------------------------------------------------


def _serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            pid = os.fork()
            if not pid:
                _live(request)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


def _live(request: dict[str, Any]) -> NoReturn:
    code = 70
    try:
        handle = os.open(request["out"], os.O_WRONLY)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        _settle_in(request)
        code = _work(request)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        importlib.import_module("traceback").print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _settle_in(request: dict[str, Any]) -> None:
    from django.db import connections

    from config import database
    from sessions_app.domain import failpoints
    from sessions_app.ingest import lines, parallel, pipeline
    from sessions_app.store import chunks

    connections.settings["default"].update(database.entry(request["url"], pool=False))
    if sys.argv[1] == "small":
        lines.LONG_LINE = lines.READ_BYTES = chunks.CHUNK_BYTES = SMALL
        pipeline.BATCH_BYTES = SMALL_BATCH
    # A run after a death reads by a process of its own: with the same sizes, and as cheap.
    parallel.START = "fork"
    if request.get("dies"):
        failpoints.arm(*request["dies"])


def _work(request: dict[str, Any]) -> int:
    if place := request.get("call"):
        module, _, name = place.partition(":")
        print(json.dumps(getattr(importlib.import_module(module), name)()))
        return 0
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *request["words"]])
    return 0


def _load() -> None:
    import django

    django.setup()
    for name in ("ingest", "export", "verify"):
        importlib.import_module(f"sessions_app.management.commands.{name}")
    importlib.import_module("tests.faults.oracle")


if __name__ == "__main__":
    _load()
    _serve()
