"""A line of 100 MB: taken, kept to the byte, given back, in bounded memory."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import build
from tests.faults import databases
from tests.faults.databases import ROOT, House

SIZE = 100_000_000
GIGABYTE = 1_000_000_000
LIMIT = 512 * 1024 * 1024


def _noise() -> bytes:
    return random.Random(1).randbytes(SIZE).replace(b"\n", b" ") + b"\n"


def _json() -> bytes:
    words = " ".join(f"word{n} thing_{n % 977}" for n in range(50_000))
    return build.line("user", (words * (SIZE // len(words) + 1))[:SIZE])


def _endless() -> bytes:
    return b"no end here " * (SIZE // 12)


def _nested() -> bytes:
    """Below the limit of what is parsed, and many times its size once it is."""
    return b'{"role":"user","content":[' + b"[]," * 10_000_000 + b"[]]}\n"


LINES: dict[str, Callable[[], bytes]] = {
    "random bytes": _noise,
    "JSON": _json,
    "no line end": _endless,
    "30 MB of empty lists": _nested,
}


@pytest.mark.parametrize("make", LINES.values(), ids=LINES)
def test_a_giant_line_is_kept_in_bounded_memory_and_so_are_its_neighbours(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    """T07"""
    line = make()
    after = build.log(30) if line.endswith(b"\n") else b""
    path = tmp_path / "giant.jsonl"
    path.write_bytes(build.log(20) + line + after)
    with databases.house(tmp_path / "home") as house:
        taken = _peak(house, "ingest", str(path), out=tmp_path / "said")
        uid = str(house.rows("SELECT uid FROM sessions_app_session")[0][0])
        given = _peak(house, "export", uid, out=tmp_path / "given")

        assert (tmp_path / "given").read_bytes() == path.read_bytes()
        lengths = [
            row[0] for row in house.rows("SELECT length FROM sessions_app_event ORDER BY seq")
        ]
        assert lengths == [len(each) for each in path.read_bytes().splitlines(True)] or (
            lengths[20] == len(line) and len(lengths) == 21 + after.count(b"\n")
        )
        assert house.told("verify")["sound"] == 1
    print(f"peak: ingest {taken / 2**20:.0f} MiB, export {given / 2**20:.0f} MiB")
    assert taken < LIMIT
    assert given < LIMIT


def test_a_line_of_a_gigabyte_is_kept_in_bounded_memory(tmp_path: Path) -> None:
    """T07"""
    path = tmp_path / "giant.jsonl"
    with path.open("wb") as out:
        out.write(build.log(20))
        # A hole: it is read as zeros and takes no room on the disk.
        out.seek(GIGABYTE, os.SEEK_CUR)
        out.write(b"\n" + build.log(30))
    with databases.house(tmp_path / "home") as house:
        taken = _peak(house, "ingest", str(path), out=tmp_path / "said")

        lengths = house.rows("SELECT length FROM sessions_app_event ORDER BY seq")
        assert (len(lengths), lengths[20]) == (51, (GIGABYTE + 1,))
        assert house.told("verify")["sound"] == 1
    assert taken < LIMIT


# A small process between: the kernel counts the parent's memory into what a child had at most.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
sys.stderr.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _peak(house: House, *words: str, out: Path) -> int:
    """Run a command and return the most memory it ever had, in bytes."""
    measured = [sys.executable, "-c", MEASURE, *house.command(*words)]
    with out.open("wb") as sink:
        done = subprocess.run(
            measured, cwd=ROOT, env=house.environment, stdout=sink, stderr=subprocess.PIPE
        )
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stderr.split()[-1]) * 1024
