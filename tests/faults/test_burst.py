"""T14: ten times what is taken at a time: slowed down, never broken, nothing lost or doubled.

In CI each sender has a little to send. RECOUNT_BURST_SECONDS=300 makes them go on for so long.
"""

import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests import build
from tests.faults.served import Sender, Site

# Four requests are taken in at a time; these are as many senders that know no pause.
SENDERS = 40
DELIVERIES = 2
LINES = 500
BURST = float(os.environ.get("RECOUNT_BURST_SECONDS", "0"))
# How long one delivery may be put off.
PATIENCE = 60
MEGABYTE = 1024 * 1024
MEMORY = 384 * MEGABYTE


@dataclass(slots=True)
class Told:
    """What one sender was answered, and how much it handed over."""

    answers: Counter[int] = field(default_factory=Counter)
    deliveries: int = 0
    stored: int = 0


def test_a_burst_is_slowed_down_and_every_line_of_it_is_stored_once_and_in_order(
    site: Site,
) -> None:
    """T14"""
    sender, failed = site.sender("burst"), site.works.states()["failed"]
    begun = time.monotonic()
    with site.works.worker():
        with ThreadPoolExecutor(SENDERS) as pool:
            every = list(pool.map(lambda n: insisted(sender, n, begun + BURST), range(SENDERS)))
        spent = time.monotonic() - begun
        site.works.wait(lambda: not site.works.states().keys() & {"queued", "running"})
    answers = sum((told.answers for told in every), Counter[int]())
    stored, most = sum(told.stored for told in every), peak(site.web.pid)
    print(
        f"{spent:.0f} s, {stored / 1e6:,.0f} MB stored, {stored / spent / 1e6:.1f} MB/s,"
        f" answers {dict(answers)}, peak {most / MEGABYTE:.0f} MiB,"
        f" backlog gone {time.monotonic() - begun - spent:.1f} s after"
    )

    assert answers.keys() - {503} == {200, 202, 429}
    assert answers[200] == sum(told.deliveries for told in every)
    assert most < MEMORY
    assert site.works.states()["failed"] == failed
    out = site.house.home / "burst"
    site.house.run("export", "--all", "--to", str(out))
    for number, told in enumerate(every):
        (path,) = out.glob(f"*{path_of(number)}")
        with path.open("rb") as file:
            for count in range(told.deliveries):
                piece = delivery(number, count)
                assert file.read(len(piece)) == piece, (number, count)
            assert file.read() == b""


def path_of(sender: int) -> str:
    return f"/burst/{sender}.jsonl"


def delivery(sender: int, number: int) -> bytes:
    """No two lines alike, so that one that is missing, doubled or moved shows."""
    rng = random.Random(f"{sender} {number}")
    texts = (f"{sender} {number} {n} {rng.randbytes(900).hex()}" for n in range(LINES))
    return b"".join(build.line("user", text) for text in texts)


def insisted(sender: Sender, number: int, until: float) -> Told:
    """Send each again and again until it is stored, and only then the next."""
    told = Told()
    while told.deliveries < DELIVERIES or time.monotonic() < until:
        piece = delivery(number, told.deliveries)
        for answer in answers_to(sender, path_of(number), piece, told.stored):
            told.answers[answer] += 1
        told.deliveries += 1
        told.stored += len(piece)
    return told


def answers_to(sender: Sender, path: str, piece: bytes, offset: int) -> Iterator[int]:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = sender.send(path, piece, offset)
        assert answer.status not in (429, 503) or answer.after.isdigit()
        yield answer.status
        if answer.status == 200:
            return
        time.sleep(0.3)
    raise AssertionError(f"{path} was put off for {PATIENCE} s")


def peak(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024
