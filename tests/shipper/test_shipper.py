"""The shipper as a process against a running server: every byte arrives once."""

import argparse
import ast
import gzip
import http.client
import io
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import zstandard
from django.core.cache import cache
from pytest_django.live_server_helper import LiveServer

from sessions_app.actions import tokens
from sessions_app.api import ingest
from sessions_app.ingest import shipper
from sessions_app.ingest.receipts import Delivery, take
from sessions_app.ingest.roots import known_roots
from sessions_app.ingest.shipper import recount_ship
from sessions_app.ingest.uploads import Upload
from sessions_app.models import Job, Receipt, Session, Workspace
from sessions_app.models.jobs import JobState
from sessions_app.store import facts, read, sessions, verify
from tests import build, claude

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = Path(shipper.__file__).with_name("recount_ship.py")
PATIENCE = 30


class Machine:
    """Another machine: a home, a folder of logs, and the shipper."""

    def __init__(self, folder: Path, url: str, place: Workspace, text: str, name: str) -> None:
        self.home, self.logs = folder / name, folder / "logs"
        self.url, self.place, self.name = url, place, name
        self.logs.mkdir(exist_ok=True)
        self.home.mkdir()
        self.token = self.home / "token"
        self.token.write_text(text)
        self.token.chmod(0o600)

    def start(self, *more: str, **how: Any) -> "subprocess.Popen[bytes]":
        command = [sys.executable, str(SCRIPT), "--url", self.url, "--machine", self.name]
        command += ["--token-file", str(self.token), "--state-dir", str(self.home / "state")]
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return subprocess.Popen(
            [*command, *more, str(self.logs)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **how,
        )

    def once(self, *more: str, **how: Any) -> tuple[int, str]:
        process = self.start("--once", *more, **how)
        _, said = process.communicate(timeout=PATIENCE)
        return process.returncode, said.decode()

    @contextmanager
    def following(self) -> Iterator["subprocess.Popen[bytes]"]:
        process = self.start()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)

    def stored(self) -> list[bytes]:
        """The content of every session, generation by generation."""
        rows = Session.objects.select_related("key").filter(workspace=self.place)
        for row in rows:
            assert verify.session(row).problem == ""
        return [b"".join(read.stream(row)) for row in rows.order_by("generation", "id")]


@pytest.fixture
def machine(tmp_path: Path, live_server: LiveServer) -> Machine:
    cache.clear()
    place = build.workspace()
    text = tokens.create(place, name="m", user=build.member("ann", place))[1]
    return Machine(tmp_path, live_server.url, place, text, "one")


def soon(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_folder_is_sent_once_and_again_nothing(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(50))
    (machine.logs / "link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(machine.logs / "pipe.jsonl")
    assert machine.once() == (0, f"{len(build.log(50)):,} new bytes sent\n")
    assert machine.once() == (0, "0 new bytes sent\n")
    assert machine.stored() == [build.log(50)]


def test_what_the_server_refuses_is_said_and_ends_with_one(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(3))
    code, said = machine.once("--machine", "m" * 300)
    assert code == 1
    assert "the server refuses this (400)" in said
    assert said.endswith("1 files or folders were not sent: see above\n")
    assert machine.stored() == []


def test_a_lost_state_asks_the_server(machine: Machine) -> None:
    data = build.log(80)
    (machine.logs / "a.jsonl").write_bytes(data[:2000])
    machine.once()
    (machine.home / "state" / "state.json").unlink()
    (machine.logs / "a.jsonl").write_bytes(data)
    machine.once()
    assert machine.stored() == [data]


def test_on_a_full_disk_the_server_is_asked_instead_of_the_state(machine: Machine) -> None:
    """T15"""
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
    data = build.log(50)
    (machine.logs / "a.jsonl").write_bytes(data[:2000])
    code, said = machine.once(**full)
    assert (code, said.count("the server will be asked instead")) == (0, 1)
    (machine.logs / "a.jsonl").write_bytes(data)
    code, said = machine.once(**full)
    assert code == 0
    whole = data.rindex(b"\n", 0, 2000) + 1
    assert said.endswith(f"{len(data) - whole:,} new bytes sent\n")
    assert machine.stored() == [data]


def test_a_state_that_cannot_be_made_is_said_in_a_sentence(machine: Machine) -> None:
    (machine.home / "state").write_bytes(b"a file where a folder should be")
    code, said = machine.once()
    assert code == 1
    assert said == f"{machine.home}/state: File exists\n"


def test_a_file_is_followed_and_half_a_line_waits(machine: Machine) -> None:
    data = build.log(30)
    path = machine.logs / "a.jsonl"
    path.write_bytes(data[:100])
    with machine.following():
        for cut in (500, 1000, len(data)):
            path.write_bytes(data[:cut])
            whole = data[: data.rfind(b"\n", 0, cut) + 1]
            soon(lambda whole=whole: machine.stored() == [whole])  # type: ignore[misc]
    assert machine.stored() == [data]


def test_a_long_log_that_was_uploaded_before_stays_one_session_and_grows(
    machine: Machine,
) -> None:
    data = build.log(80_000)
    assert len(data) > recount_ship.BODY
    upload = Upload(machine.place.id, now=build.NOW, limit=2**30)
    (sent,) = upload.file(io.BytesIO(data), "a.jsonl")
    assert sent.result.state == "ingested"
    (machine.logs / "a.jsonl").write_bytes(data + build.log(7))

    assert machine.once()[0] == 0

    assert machine.stored() == [data + build.log(7)]


def test_a_rewritten_file_becomes_a_generation(machine: Machine) -> None:
    path = machine.logs / "a.jsonl"
    first, second = build.log(200), build.log(150) + build.line("user", "x") + build.log(90)
    path.write_bytes(first)
    machine.once()
    path.write_bytes(second)
    machine.once()
    assert machine.stored() == [first, second]


def test_the_same_logs_of_two_machines_stay_two_sessions(machine: Machine, tmp_path: Path) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    text = machine.token.read_text()
    other = Machine(tmp_path, machine.url, machine.place, text, "two")
    machine.once()
    other.once()
    assert machine.stored() == [build.log(5)] * 2


def test_killed_at_any_moment_it_ends_with_every_byte_once(machine: Machine) -> None:
    rng = random.Random(7)
    data = build.log(40_000)
    path = machine.logs / "a.jsonl"
    at = 0
    for _ in range(6):
        at = min(len(data), at + rng.randrange(1, len(data) // 5))
        path.write_bytes(data[:at])
        process = machine.start()
        time.sleep(rng.uniform(0.05, 0.6))
        process.kill()
        process.communicate()
    path.write_bytes(data)
    machine.once()
    assert machine.stored() == [data]


def test_an_outage_of_the_server_is_survived(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    right, machine.url = machine.url, "http://127.0.0.1:9"
    with machine.following() as process:
        time.sleep(1.5)
        assert process.poll() is None
    machine.url = right
    machine.once()
    assert machine.stored() == [build.log(5)]


def test_it_refuses_what_is_unsafe(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    with machine.following():
        soon(lambda: (machine.home / "state" / "state.json").exists())
        code, said = machine.once()
        assert (code, "another shipper" in said) == (1, True)
    machine.token.chmod(0o644)
    assert "chmod 600" in machine.once()[1]
    machine.url = "http://recount.example.org"
    assert "plain http" in machine.once()[1]


def test_installing_can_be_looked_at_first(machine: Machine) -> None:
    process = machine.start("--install", "--dry-run")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert not (machine.home / ".config").exists()


def test_a_log_that_is_put_aside_by_the_server_holds_up_no_other(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T13"""

    def killed(delivery: Delivery, body: BinaryIO, *, now: datetime) -> Receipt | None:
        return None if delivery.path.endswith("a.jsonl") else take(delivery, body, now=now)

    monkeypatch.setattr(ingest, "take", killed)
    monkeypatch.setattr(ingest, "announce", lambda: None)
    for name in ("a.jsonl", "b.jsonl"):
        (machine.logs / name).write_bytes(build.log(5))
    process = machine.start("--once")
    soon(lambda: Job.objects.update(state=JobState.QUARANTINED) == 1)
    _, said = process.communicate(timeout=PATIENCE)

    assert "a.jsonl: quarantined: Put aside: its worker died every time" in said.decode()
    assert machine.stored() == [build.log(5)]


def told_of(machine: Machine) -> dict[str, Session]:
    """Sessions by the name of their log."""
    rows = sessions.in_workspace(machine.place.id)
    return {Path(sessions.facts_of(row).path).name: row for row in rows}


def test_a_session_belongs_to_the_project_its_log_names_and_not_to_its_folder(
    machine: Machine,
) -> None:
    folder = machine.logs / "2026" / "18"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(claude.Log().prompt("hello").data)
    assert machine.once()[0] == 0
    assert facts.project_of(sessions.facts_of(told_of(machine)["a.jsonl"])) == "tally"


def test_a_log_whose_name_is_no_text_is_found_again_when_the_state_is_lost(
    machine: Machine,
) -> None:
    data = build.log(80)
    path = os.fsencode(machine.logs) + b"/caf\xe9 \n.jsonl"
    Path(os.fsdecode(path)).write_bytes(data[:2000])
    assert machine.once()[0] == 0
    (machine.home / "state" / "state.json").unlink()
    Path(os.fsdecode(path)).write_bytes(data)
    assert machine.once()[0] == 0
    assert machine.stored() == [data]

    process = machine.start("--dry-run")
    listed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"caf\\udce9 " in listed


def test_below_a_folder_only_logs_are_kept_and_a_named_file_whatever_it_is(
    machine: Machine,
) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    (machine.logs / "settings.json").write_text('{"apiKey": "secret"}')
    (machine.logs / "README.md").write_text("# Notes")
    assert machine.once()[0] == 0
    assert set(told_of(machine)) == {"a.jsonl"}
    assert machine.once(str(machine.logs / "README.md"))[0] == 0
    assert set(told_of(machine)) == {"a.jsonl", "README.md"}


def test_settings_beside_the_logs_of_agents_are_not_sent(machine: Machine) -> None:
    agents = machine.home / ".openclaw" / "agents" / "main"
    (agents / "agent").mkdir(parents=True)
    (agents / "sessions").mkdir()
    (agents / "agent" / "auth-profiles.json").write_text('{"key": "secret"}')
    (machine.home / ".openclaw" / "openclaw.json").write_text("{}")
    (agents / "sessions" / "s.jsonl").write_bytes(build.log(2))
    (machine.home / ".local" / "share" / "opencode").mkdir(parents=True)
    (machine.home / ".local" / "share" / "opencode" / "opencode.db").write_bytes(b"x")

    process = machine.start("--dry-run", "--discover")
    listed, said = process.communicate(timeout=PATIENCE)

    assert listed.decode().split() == [str(agents / "sessions" / "s.jsonl")]
    assert "opencode.db: a database is not sent: read it on the server" in said.decode()


def test_it_knows_the_folders_that_the_server_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recount_ship, "home", lambda: tmp_path)
    for name in recount_ship.MOVES:
        monkeypatch.delenv(name, raising=False)
    for root in recount_ship.roots():
        Path(root.path).mkdir(parents=True)
    known = {root.path for root in known_roots({}, tmp_path)}
    assert known == {root.path for root in recount_ship.roots()}


def test_packed_logs_are_sent_and_one_that_is_packed_later_stays_the_same_session(
    machine: Machine,
) -> None:
    data, other = build.log(50), build.log(30)
    path = machine.logs / "a.jsonl"
    path.write_bytes(data)
    assert machine.once()[0] == 0
    path.unlink()
    (machine.logs / "a.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(data))
    (machine.logs / "b.jsonl.gz").write_bytes(gzip.compress(other))
    assert machine.once()[0] == 0
    assert machine.once() == (0, "0 new bytes sent\n")
    assert sorted(machine.stored()) == sorted([data, other])
    assert set(told_of(machine)) == {"a.jsonl", "b.jsonl"}


def test_long_results_of_tools_are_sent_with_their_session(machine: Machine) -> None:
    folder = machine.logs / "p" / "session" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "x1.txt").write_text("a long result")
    assert machine.once()[0] == 0
    assert told_of(machine)["x1.txt"].format == "claude-code-output"


def test_a_document_is_sent_once_it_has_rested(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    nobody: Any = None
    found = recount_ship.Found(str(path), is_named=False)
    log = recount_ship.Log(found, nobody, nobody, recount_ship.QUIET)
    assert log._is_unrested(path.stat())
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert not log._is_unrested(path.stat())


def test_what_cannot_be_found_or_read_is_said_once(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = machine.once(str(machine.logs / "typo"))
    assert code == 1
    assert said.count("typo: there is no such file or folder") == 1

    nobody: Any = None
    follower = recount_ship.Follower([], nobody, nobody)
    for _ in range(2):
        recount_ship._unreadable(PermissionError(13, "Permission denied", "/x"), follower.trouble)
    assert capsys.readouterr().err == "/x: Permission denied\n"
    assert follower.failed == 1


def server_with(monkeypatch: pytest.MonkeyPatch, *tokens: str) -> recount_ship.Server:
    left = list(tokens)
    stopping = threading.Event()
    server = recount_ship.Server("http://localhost", lambda: left.pop(0), "m", stopping)
    monkeypatch.setattr(server, "wait", lambda _: None)
    return server


def test_an_answer_that_breaks_off_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = server_with(monkeypatch, "t")
    answers: list[Any] = [http.client.IncompleteRead(b"{"), http.client.BadStatusLine("?")]

    def once(*_: object) -> dict[str, Any]:
        if answers:
            raise answers.pop()
        return {"stored": 0}

    monkeypatch.setattr(server, "_once", once)
    assert server.offset("/a") == {"stored": 0}


def test_a_new_token_in_the_old_place_is_used_after_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = server_with(monkeypatch, "old", "new", "new")
    assert server._renewed() == 0.0
    assert server.token == "new"
    assert server._renewed() == recount_ship.LONGEST_WAIT


class _Elsewhere(BaseHTTPRequestHandler):
    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(301)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_redirect_is_told_and_not_followed_with_the_token(machine: Machine) -> None:
    (machine.logs / "a.jsonl").write_bytes(build.log(5))
    with HTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        machine.url = f"http://127.0.0.1:{server.server_port}"
        code, said = machine.once()
        server.shutdown()
        thread.join()
    assert code == 1
    assert "the server has another address, see --url: http://127.0.0.1" in said
    assert not [path for path in _Elsewhere.seen if "other" in path]


def test_a_service_has_the_token_and_the_folders_of_the_shell_it_was_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recount_ship, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("RECOUNT_TOKEN", "rct_new")
    monkeypatch.setenv("CODEX_HOME", '/data/50% "x"')
    ran: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda step, **_: ran.append(step))
    token = tmp_path / "token"
    token.write_text("rct_old\n")
    token.chmod(0o600)
    options = argparse.Namespace(
        url="http://localhost",
        token_file=token,
        state_dir=tmp_path / "state",
        machine="m",
        discover=True,
        insecure=False,
        paths=[],
        dry_run=False,
        install=True,
        uninstall=False,
    )

    recount_ship.install(options)

    assert token.read_text() == "rct_new\n"
    assert token.stat().st_mode & 0o777 == 0o600
    unit = (tmp_path / ".config/systemd/user/recount-ship.service").read_text()
    assert 'Environment="CODEX_HOME=/data/50%% \\"x\\""\n' in unit
    assert "rct_" not in unit
    assert ran[-1][-2:] == ["--now", "recount-ship"]


def test_it_is_written_for_python_3_8_and_the_standard_library_alone() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 8))
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    } | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names
