"""Regular expressions, run in a process of their own that is ended when one takes too long."""

import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import orjson

from sessions_app.domain import patternworker
from sessions_app.domain.errors import BadInput
from sessions_app.store.checked import Checked, Work

PROGRAM = str(Path(patternworker.__file__).resolve())
# Texts are handed over together, and one by one when that was too much.
TOGETHER_SECONDS = 2.0
ALONE_SECONDS = 0.25
TOGETHER_BYTES = 2 * 1024 * 1024
# What is looked at of one text.
LONGEST_TEXT = 256 * 1024
# Events that may be skipped before the expression is given up.
MOST_SKIPPED = 5
GRACE_SECONDS = 2.0
# From starting an interpreter to its first answer.
START_SECONDS = 10.0


class TooSlow(BadInput):
    def __init__(self) -> None:
        super().__init__(
            "This regular expression takes too long on the text it meets. Repetitions inside "
            "repetitions, like (a+)+, are the usual reason: write it without them."
        )


# For every source and text, where it was found.
_Places = list[list[list[tuple[int, int]]]]


class Patterns:
    """Holds the process while a search runs. Use it as a context."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        self._sources = sources
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Patterns":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def agreed(self, found: list[Checked], work: Work) -> Iterator[Checked]:
        """Those of the events that the expressions agree with."""
        yield from (each for each in found if not each.match.undecided)
        for some in _batches([each for each in found if each.match.undecided]):
            answers = self._ask([t for each in some for t in _texts(each)], TOGETHER_SECONDS)
            if answers is None:
                yield from self._one_by_one(some, work)
                continue
            at = 0
            for each in some:
                size = len(each.match.passages)
                yield from _decided(each, [places[at : at + size] for places in answers])
                at += size

    def _one_by_one(self, some: list[Checked], work: Work) -> Iterator[Checked]:
        for each in some:
            answers = self._ask(_texts(each), ALONE_SECONDS)
            if answers is not None:
                yield from _decided(each, answers)
                continue
            work.skipped += 1
            if work.skipped > MOST_SKIPPED:
                raise TooSlow

    # The process ------------------------------------------------------------------------------

    def _ask(self, texts: list[str], seconds: float) -> _Places | None:
        """None if it took too long."""
        process = self._process or self._start()
        try:
            _tell(process, [seconds, texts])
        except BrokenPipeError:
            self._end()
            return None
        line = _heard(process, seconds + GRACE_SECONDS + START_SECONDS)
        if line is None:
            self._end()
            return None
        answer: _Places = orjson.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        )
        self._process = process
        _tell(process, self._sources)
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _tell(process: subprocess.Popen[bytes], value: object) -> None:
    if process.stdin is not None:
        process.stdin.write(orjson.dumps(value) + b"\n")
        process.stdin.flush()


def _heard(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """One line; nothing if the process ended or stays silent."""
    if process.stdout is None or not select.select([process.stdout], [], [], seconds)[0]:
        return None
    line = process.stdout.readline()
    return line if line.endswith(b"\n") else None


def _texts(each: Checked) -> list[str]:
    return [passage.text[:LONGEST_TEXT] for passage in each.match.passages]


def _batches(found: list[Checked]) -> Iterator[list[Checked]]:
    some: list[Checked] = []
    size = 0
    for each in found:
        some.append(each)
        size += sum(map(len, _texts(each)))
        if size >= TOGETHER_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _decided(each: Checked, answers: _Places) -> Iterator[Checked]:
    match = each.match
    hits = {
        number: {
            no: [(match.passages[no].offset(lo), match.passages[no].offset(hi)) for lo, hi in spans]
            for no, spans in enumerate(places)
            if spans
        }
        for number, places in enumerate(answers)
    }
    decided = match.decided(hits)
    if decided is not None:
        yield each.with_match(decided)
