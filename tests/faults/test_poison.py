"""T13: what kills its reader every time is put aside and shown; everything else goes on."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.ingest import parallel
from tests import build
from tests.faults import forks, served
from tests.faults.databases import PATIENCE, ROOT, House
from tests.faults.forks import Child
from tests.faults.served import Admin, Sender, Shown, Site
from tests.jobs.test_workers import end
from tests.runtime.house import eventually, free_port

NAME = "poison.jsonl"
# Whoever opens a log of that name is gone.
POISON = ("pipeline.source", NAME)
DEADLY = {"RECOUNT_FAILPOINT": ":".join(POISON)}
# Lines of the logs: by these numbers their sessions are known.
BEFORE, POISONED, BEHIND = 21, 33, 45
SENT_POISON, SENT = 57, 69


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """One before it and one behind it in their order."""
    made = tmp_path / "logs"
    made.mkdir()
    for name, count in (("a.jsonl", BEFORE), (NAME, POISONED), ("z.jsonl", BEHIND)):
        (made / name).write_bytes(build.log(count))
    return made


def lines(house: House) -> set[int]:
    return {row[0] for row in house.rows("SELECT events FROM sessions_app_session")}


def test_a_delivery_that_kills_its_worker_is_quarantined_and_the_others_are_taken(
    site: Site,
) -> None:
    """T13"""
    sender = site.sender("poison")
    # Above what is taken in the request itself.
    large = build.line("user", "many words " * 400_000) * 2
    works = site.with_settings(**DEADLY, RECOUNT_JOB_LEASE_SECONDS="2", RECOUNT_JOB_ATTEMPTS="2")
    with works.worker():
        first = [sender.send(f"/sent/{name}", large).told["id"] for name in ("a.jsonl", NAME)]
        works.wait(lambda: states(sender, first) == ["taken", "quarantined"])
        later = [sender.send("/sent/z.jsonl", large).told["id"]]
        works.wait(lambda: states(sender, later) == ["taken"])

    again = sender.send(f"/sent/{NAME}", large)
    assert (again.status, again.told["id"]) == (202, first[1])
    poison = sender.receipt(first[1])
    assert (poison["state"], poison["stored"]) == ("quarantined", None)
    assert "An admin can try again on the page Jobs" in poison["message"]
    page = site.admin.page("/jobs/")
    assert "Its worker died every time it was tried" in page
    assert "Retry Take in a delivery" in page

    # It takes nothing from the others, and goes when an admin says so.
    staged = site.house.home / "staging" / first[1]
    assert staged.is_file()
    (job,) = site.house.rows("SELECT id FROM sessions_app_job WHERE state = 'quarantined'")
    site.admin.post("/jobs/", f"/jobs/{job[0]}/discard")
    assert not staged.exists()
    discarded = sender.receipt(first[1])
    assert (discarded["state"], discarded["stored"]) == ("refused", None)
    assert "An admin discarded it" in discarded["message"]
    assert "Discard the delivery" not in site.admin.page("/jobs/")


def test_what_is_sent_to_the_pages_kills_them_once_and_then_only_a_reader_of_its_own(
    site: Site,
) -> None:
    """T13"""
    house, admin = site.with_settings(**DEADLY).house, site.admin
    token, port = admin.token("spans"), free_port()
    poison, sound = build.log(SENT_POISON), build.log(SENT)

    def spans(to: Admin, conversation: str) -> Shown:
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        return to.asked("/v1/traces", _export(conversation), **sent)

    for deadly in (lambda to: to.upload(NAME, poison), lambda to: spans(to, NAME)):
        with served.web(house, port) as web:
            with pytest.raises((OSError, HTTPException)):
                deadly(Admin(house, port))
            assert web.wait(PATIENCE) == -signal.SIGKILL

    with served.web(house, port) as web:
        visitor = Admin(house, port)
        (told,) = visitor.upload(NAME, poison)
        assert (told["state"], told["message"]) == ("refused", parallel.DIED_OF_IT)
        refused = spans(visitor, NAME)
        assert (refused.status, refused.after) == (400, "")
        assert "its reader died every time" in refused.text
        (told,) = visitor.upload("sound.jsonl", sound)
        assert told["state"] == "ingested"
        assert spans(visitor, "sound").status == 200
        page = visitor.page("/sources/")
        assert f"upload: {NAME}" in page
        assert "its reader died every time" in page
        assert web.poll() is None
    assert SENT in lines(site.house)
    assert SENT_POISON not in lines(site.house)
    # Mended, or with more memory: the same bytes are taken.
    assert admin.upload(NAME, poison)[0]["state"] == "ingested"
    admin.post("/sources/", action="settle", finding="all")
    assert _findings(site.house) == []


def _export(conversation: str) -> bytes:
    attribute = {"key": "gen_ai.conversation.id", "value": {"stringValue": conversation}}
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "attributes": [attribute]}
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


def soon(is_so: Callable[[], bool]) -> bool:
    return eventually(is_so, PATIENCE)


def states(sender: Sender, receipts: list[str]) -> list[object]:
    return [sender.receipt(each)["state"] for each in receipts]


@contextmanager
def watching(house: House) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        house.command("watch"), cwd=ROOT, env=house.environment, start_new_session=True
    )
    try:
        yield process
    finally:
        end(process)


def test_a_watched_log_that_kills_its_reader_is_put_aside_until_somebody_asks(
    site: Site, logs: Path
) -> None:
    """T13"""
    admin, house = site.admin, site.with_settings(**DEADLY).house
    admin.post("/sources/", action="add", path=str(logs), agent="", project="")
    with watching(house) as first:
        assert first.wait(PATIENCE) == -signal.SIGKILL

    with watching(house) as second:
        assert soon(lambda: "Put aside: kills its reader" in admin.page("/sources/"))
        assert {BEFORE, BEHIND} <= lines(house)
        for name in (NAME, "z.jsonl"):
            with (logs / name).open("ab") as out:
                out.write(build.log(2))
        assert soon(lambda: BEHIND + 2 in lines(house))
        assert "1 path is not read: see the findings" in admin.page("/sources/")
        assert not {POISONED, POISONED + 2} & lines(house)
        second.terminate()
        assert second.wait(PATIENCE) == 0

    with watching(site.house):
        assert soon(lambda: _pulses(house) == [("watcher",)])
        (root,) = house.rows("SELECT id FROM sessions_app_watchedroot")
        admin.post("/sources/", action="retry", root=str(root[0]))
        assert soon(lambda: POISONED + 2 in lines(house))
        assert soon(lambda: "see the findings" not in admin.page("/sources/"))
    assert "Put aside" not in admin.page("/sources/")


def _pulses(house: House) -> list[tuple[Any, ...]]:
    return house.rows("SELECT name FROM sessions_app_pulse WHERE name = 'watcher'")


def test_a_file_that_kills_a_command_is_named_by_the_next_run_and_the_others_are_taken(
    site: Site, logs: Path, tmp_path: Path
) -> None:
    """T13"""
    with forks.stem(site.house, tmp_path / "f") as stem:
        command = (site.house, "ingest", str(logs), "--json")
        assert stem.start(*command, dies=POISON).wait() == -signal.SIGKILL

        first, second = (_states(stem.start(*command, dies=POISON)) for _ in range(2))
        assert first["z.jsonl"] == "ingested"
        # Known from the last time, so that it is the only one that is read with care.
        assert second == {"a.jsonl": "unchanged", NAME: "died", "z.jsonl": "unchanged"}
        several = stem.start(*command, "--processes", "2", dies=POISON)
        assert _states(several) == second
        assert _findings(site.house) == [("aside",)]

        assert stem.run(*command)
        assert POISONED in lines(site.house)
        assert _findings(site.house) == []


def _states(child: Child) -> dict[str, str]:
    assert child.wait() == 1, child.said
    told = json.loads(child.said.splitlines()[-1])
    return {Path(each["path"]).name: each["state"] for each in told["files"]}


def _findings(house: House) -> list[tuple[Any, ...]]:
    return house.rows("SELECT kind FROM sessions_app_finding WHERE settled_at IS NULL")
