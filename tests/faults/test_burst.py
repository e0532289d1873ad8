"""T14: ten times what is taken at a time: slowed down, never broken, nothing lost or doubled."""

import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import build
from tests.faults.served import Answer, Sender, Site

# Four requests are taken in at a time; these are as many senders that know no pause.
SENDERS = 40
DELIVERIES = 2
LINES = 500
SECONDS = 60
MEGABYTE = 1024 * 1024
MEMORY = 384 * MEGABYTE


def test_a_burst_is_slowed_down_and_every_line_of_it_is_stored_once_and_in_order(
    site: Site,
) -> None:
    """T14"""
    sender = site.sender("burst")
    logs = {f"/burst/{number}.jsonl": list(deliveries(number)) for number in range(SENDERS)}
    deadline = time.monotonic() + SECONDS
    with site.works.worker():
        with ThreadPoolExecutor(SENDERS) as pool:
            told = pool.map(lambda path: insisted(sender, path, logs[path], deadline), logs)
            answers = [answer for each in told for answer in each]
        site.works.wait(lambda: not site.works.states().keys() & {"queued", "running"})
    print(f"{len(answers)} answers, peak {peak(site.web.pid) / MEGABYTE:.0f} MiB")

    later = [answer for answer in answers if answer.status in (429, 503)]
    assert {answer.status for answer in answers} - {503} == {200, 202, 429}
    assert all(answer.after.isdigit() for answer in later)
    assert sum(answer.status == 200 for answer in answers) == SENDERS * DELIVERIES
    assert peak(site.web.pid) < MEMORY
    assert not site.works.states()["failed"]
    given = site.house.exported(site.house.home / "burst")
    sent = {path: b"".join(pieces) for path, pieces in logs.items()}
    assert {path: given[path] for path in given if path in sent} == sent


def deliveries(sender: int) -> Iterator[bytes]:
    """No two lines alike, so that one that is missing, doubled or moved shows."""
    rng = random.Random(sender)
    for number in range(DELIVERIES):
        texts = (f"{sender} {number} {n} {rng.randbytes(900).hex()}" for n in range(LINES))
        yield b"".join(build.line("user", text) for text in texts)


def insisted(sender: Sender, path: str, pieces: list[bytes], deadline: float) -> list[Answer]:
    """Send each again and again until it is stored, and only then the next."""
    answers, offset = [], 0
    for piece in pieces:
        while time.monotonic() < deadline:
            answers.append(sender.send(path, piece, offset))
            if answers[-1].status == 200:
                break
            time.sleep(0.3)
        offset += len(piece)
    return answers


def peak(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024
