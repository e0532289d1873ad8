"""T01: dead at every failpoint in turn, then run again: the record is that of the source."""

import gzip
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import build
from tests.faults import databases, forks, oracle
from tests.faults.databases import House
from tests.faults.forks import Stem

# Above the number of hits of a run: a loop that never ends would otherwise look like patience.
MOST = 200
RECORD = "tests.faults.oracle:record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A house, and files that its record does not yet hold."""

    stem: Stem
    before: House
    files: Path

    def sources(self) -> list[Path]:
        return sorted(self.files.rglob("*.jsonl*"))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Scene]:
    """Nothing taken yet: small files that are written together, one of several batches, a line in
    pieces, a line without an end, a packed log that unfolds to several batches."""
    files = tmp_path / "logs"
    files.mkdir()
    for number in range(3):
        (files / f"small{number}.jsonl").write_bytes(_answers(4, f"s{number}"))
    (files / "large.jsonl").write_bytes(_answers(300, "large") + b'{"cut')
    (files / "long.jsonl").write_bytes(
        build.log(40) + build.line("user", "long words " * 4_000) + build.log(3)
    )
    (files / "packed.jsonl.gz").write_bytes(gzip.compress(_answers(250, "packed")))
    with databases.house(tmp_path / "home") as house, forks.stem(house, tmp_path / "f") as stem:
        yield Scene(stem=stem, before=house, files=files)


@pytest.fixture
def grown(empty: Scene) -> Scene:
    """All of it taken; then one file grew, one was only touched, and the cut line was ended."""
    empty.stem.run(empty.before, "ingest", str(empty.files))
    with (empty.files / "large.jsonl").open("ab") as out:
        out.write(b' off"}\n' + _answers(170, "more") + b"\xf0\x9f")
    with (empty.files / "small1.jsonl").open("ab") as out:
        out.write(_answers(2, "later"))
    os.utime(empty.files / "small2.jsonl", (1, 1))
    return empty


def test_an_ingest_that_dies_at_any_point_is_made_good_by_the_next(empty: Scene) -> None:
    """T01"""
    assert _every_death(empty) >= 15


def test_a_second_ingest_that_dies_at_any_point_is_made_good_by_the_next(grown: Scene) -> None:
    """T01"""
    assert _every_death(grown) >= 10


def _answers(count: int, name: str) -> bytes:
    """Claude Code's lines, with ids, tokens and calls: every table a line can reach gets rows."""
    return b"".join(json.dumps(_record(n, name)).encode() + b"\n" for n in range(count))


def _record(number: int, name: str) -> dict[str, object]:
    shared = {
        "uuid": f"{name}-{number}",
        "parentUuid": f"{name}-{number - 1}" if number else None,
        "sessionId": name,
        "timestamp": f"2026-11-0{1 + number % 9}T10:00:00Z",
    }
    if number % 2:
        result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "fine"}
        return {"type": "user", "message": {"role": "user", "content": [result]}, **shared}
    call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"path": name}}
    usage = {"input_tokens": 3, "output_tokens": number}
    answer = {"role": "assistant", "id": f"{name}m{number}", "model": "m", "usage": usage}
    return {"type": "assistant", "message": {**answer, "content": [call]}, **shared}


def _every_death(scene: Scene) -> int:
    """Let a run die at its first hit, its second, and so on until it ends alive; says how many."""
    whole = _quiet(scene)
    assert whole["lines"] == oracle.expected(scene.sources())
    for number in range(1, MOST):
        with databases.clone(scene.before.url) as url:
            if _is_alive(scene, replace(scene.before, url=url), number, whole):
                return number - 1
    raise AssertionError("the run never ended")


def _quiet(scene: Scene) -> dict[str, Any]:
    with databases.clone(scene.before.url) as url:
        house = replace(scene.before, url=url)
        scene.stem.run(house, "ingest", str(scene.files))
        record: dict[str, Any] = scene.stem.asked(house, RECORD)
        return record


def _is_alive(scene: Scene, house: House, number: int, whole: dict[str, Any]) -> bool:
    """Did the run end by itself? A dead one leaves a sound beginning, and the next the rest."""
    code = scene.stem.start(house, "ingest", str(scene.files), dies=("*", number)).wait()
    assert code in (0, -signal.SIGKILL)
    for path, found in scene.stem.asked(house, RECORD)["lines"].items():
        # An incomplete line at the end is replaced when it is whole.
        assert found[:-1] == whole["lines"][path][: len(found) - 1], (number, path)
    scene.stem.run(house, "ingest", str(scene.files))
    assert scene.stem.asked(house, RECORD) == whole, number
    return code == 0
