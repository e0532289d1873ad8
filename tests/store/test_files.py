"""The files of a session: found in steps, kept sealed, read from the lines that touched them."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.domain import fileindex as pure
from sessions_app.domain.fileindex import Index
from sessions_app.domain.files import Deed, Outcome
from sessions_app.domain.texts import Absent, Known, Partly, text_of
from sessions_app.models import Call, FileIndex, Session, Workspace
from sessions_app.store import chunks, fileindex, files, reproject
from sessions_app.store.files import Look
from tests import build

pytestmark = pytest.mark.django_db
WORKED_IN = "/home/ada/tally"
LOGS = [
    "claude-code/entireio__cli__25-730c662552-0.jsonl",
    "codex/EntityProcess__agentv__79-6eaddfe2f9-0-full.jsonl",
    "copilot-cli/EntityProcess__agentv__d8-8be769afd1-0-full.jsonl",
    "gemini-cli/entireio__cli__9c-53780d06b7-0-full.json",
    "pi/badlogic__pi-mono__before-compaction.jsonl",
]


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


class Log:
    """A log of one agent, written call by call."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def _record(self, kind: str, block: dict[str, Any], **more: Any) -> None:
        number = len(self.lines)
        record = {
            "type": kind,
            "sessionId": "s",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "cwd": WORKED_IN,
            "message": {"role": kind, "content": [block]},
            **more,
        }
        self.lines.append(orjson.dumps(record) + b"\n")

    def call(self, tool: str, answer: str = "ok", beside: Any = None, **arguments: Any) -> int:
        """The number of the event that answers."""
        own = f"toolu_{len(self.lines)}"
        self.ask(tool, **arguments)
        more = {} if beside is None else {"toolUseResult": beside}
        answered = {"type": "tool_result", "tool_use_id": own, "content": answer}
        if answer.startswith("<tool_use_error>"):
            answered["is_error"] = True  # type: ignore[assignment]
        self._record("user", answered, **more)
        return len(self.lines) - 1

    def ask(self, tool: str, **arguments: Any) -> None:
        own = f"toolu_{len(self.lines)}"
        self._record("assistant", {"type": "tool_use", "id": own, "name": tool, "input": arguments})

    def say(self, text: str) -> None:
        self._record("user", {"type": "text", "text": text})

    def session(self, place: Workspace) -> Session:
        return build.session(place, b"".join(self.lines))


def index_of(session: Session) -> Index:
    return fileindex.of(session, seconds=60)


def text_at(session: Session, path: str, seq: int) -> str | None:
    index = index_of(session)
    number = index.paths.index(path)
    return text_of(files.state_at(session, index.histories(), number, seq))


def test_a_file_is_followed_from_its_first_line_to_its_last(place: Workspace) -> None:
    log = Log()
    log.say("please")
    log.call("Write", file_path="src/a.py", content="one\ntwo\n")
    edited = log.call("Edit", file_path=f"{WORKED_IN}/src/a.py", old_string="two", new_string="2")
    log.call("Bash", command="cat src/a.py")
    removed = log.call("Bash", command="rm src/a.py")
    session = log.session(place)

    index = index_of(session)

    assert index.paths == (f"{WORKED_IN}/src/a.py",)
    assert [(e.deed, e.added, e.removed) for e in index.entries] == [
        (Deed.WRITE, 2, None),
        (Deed.EDIT, 1, 1),
        (Deed.READ, 0, 0),
        (Deed.DELETE, 0, 2),
    ]
    path = index.paths[0]
    assert text_at(session, path, 0) is None
    assert text_at(session, path, edited - 1) == "one\ntwo\n"
    assert text_at(session, path, edited) == "one\n2\n"
    assert text_at(session, path, removed) == ""
    assert isinstance(files.state_at(session, index.histories(), 0, removed), Absent)


def test_what_the_log_says_beside_an_answer_counts_and_a_contradiction_is_told(
    place: Workspace,
) -> None:
    log = Log()
    log.call("Write", file_path="a", content="mine\n", beside={"type": "create"})
    log.call(
        "Edit",
        file_path="a",
        old_string="theirs",
        new_string="ours",
        beside={"originalFile": "theirs\n", "filePath": "a"},
    )
    session = log.session(place)
    index = index_of(session)

    assert [(e.is_new, e.is_surprise, e.is_fresh) for e in index.entries] == [
        (True, False, True),
        (False, True, True),
    ]
    assert text_at(session, f"{WORKED_IN}/a", 99) == "ours\n"


def test_what_failed_changed_nothing_and_what_has_no_answer_leaves_doubt(place: Workspace) -> None:
    log = Log()
    log.call("Write", file_path="a", content="1\n")
    log.call("Edit", "<tool_use_error>no", file_path="a", old_string="1", new_string="2")
    log.ask("Edit", file_path="a", old_string="1", new_string="3")
    session = log.session(place)
    index = index_of(session)

    assert [entry.outcome for entry in index.entries] == [Outcome.DONE, Outcome.FAILED]
    assert [entry.outcome for entry in index.open] == [Outcome.OPEN]
    assert text_at(session, f"{WORKED_IN}/a", 3) == "1\n"
    assert text_at(session, f"{WORKED_IN}/a", 4) is None


def test_the_line_after_a_call_without_an_id_is_looked_at_for_its_answer(place: Workspace) -> None:
    log = Log()
    log.call("Write", file_path="a", content="1\n")
    log.call("Edit", "<tool_use_error>no", file_path="a", old_string="1", new_string="2")
    log.lines = [line.replace(b"toolu_", b"") for line in log.lines]
    log.lines = [re.sub(rb'"(tool_use_)?id":"\d+",', b"", line) for line in log.lines]
    session = log.session(place)

    assert not Call.objects.filter(session_id=session.id, key__isnull=False)
    assert [entry.answered for entry in index_of(session).entries] == [1, 3]
    assert text_at(session, f"{WORKED_IN}/a", 3) == "1\n"


def test_an_answer_that_comes_later_is_joined_to_its_call(place: Workspace) -> None:
    log = Log()
    log.ask("Write", file_path="a", content="1\n")
    data = b"".join(log.lines)
    session = build.session(place, data)
    assert len(index_of(session).open) == 1

    answer = {"type": "tool_result", "tool_use_id": "toolu_0", "content": "ok"}
    log._record("user", answer)
    session = build.session(place, b"".join(log.lines))
    index = index_of(session)

    assert (len(index.entries), index.open) == (1, ())
    assert index.entries[0].answered == 1


def many(count: int) -> Log:
    log = Log()
    for number in range(count):
        name = f"f{number % 7}"
        log.say("word " * 200)
        if number < 7:
            log.call("Write", file_path=name, content=f"start {number}\n")
        else:
            state = f"{'x' * (number // 7)}"
            log.call("Edit", file_path=name, old_string="start", new_string=f"{state} start")
    return log


def test_an_index_made_in_steps_is_the_one_made_at_once(place: Workspace) -> None:
    log = many(40)
    session = log.session(place)
    stepwise = fileindex.of(session, seconds=0)
    assert 0 < stepwise.upto < session.events
    rounds = 0
    while stepwise.upto < session.events:
        stepwise = fileindex.of(session, seconds=0)
        rounds += 1
    fileindex.drop(session.id)

    assert rounds > 10
    assert index_of(session) == stepwise


def test_the_index_is_kept_and_what_is_kept_tells_no_path(place: Workspace) -> None:
    log = Log()
    log.call("Write", file_path="very-secret-name.txt", content="1\n")
    session = log.session(place)
    index = index_of(session)
    row = FileIndex.objects.get()

    assert (row.upto, row.session_id) == (2, session.id)
    assert b"secret" not in bytes(row.sealed)
    assert index_of(session) == index


def test_a_kept_index_is_not_made_again_and_one_file_opens_only_its_chunks(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = many(2000)
    session = log.session(place)
    index = index_of(session)
    opened: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, where: chunks.Place, sealed: bytes) -> bytes:
        opened.append(where.no)
        return real(owner, where, sealed)

    monkeypatch.setattr(chunks, "opened", counting)

    assert index_of(session) == index
    assert opened == []
    assert session.chunks > 8
    state = files.state_at(session, index.histories(), 0, 20)
    assert isinstance(state, Known)
    assert opened == [0]


def test_making_the_index_opens_a_chunk_once(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = many(1000).session(place)
    opened: list[int] = []
    real = chunks.opened

    def counting(owner: chunks.Owner, where: chunks.Place, sealed: bytes) -> bytes:
        opened.append(where.no)
        return real(owner, where, sealed)

    monkeypatch.setattr(chunks, "opened", counting)
    index_of(session)

    assert len(opened) == len(set(opened)) <= session.chunks


def test_reading_the_record_anew_drops_the_index(place: Workspace) -> None:
    session = many(10).session(place)
    index_of(session)
    reproject.session(session.id, now=build.NOW)

    assert not FileIndex.objects.exists()


def test_an_index_of_an_erased_session_is_gone_with_it(place: Workspace) -> None:
    session = many(10).session(place)
    index_of(session)
    session.delete()

    assert not FileIndex.objects.exists()


def test_a_renamed_file_keeps_its_text(place: Workspace) -> None:
    log = Log()
    log.call("Write", file_path="old.txt", content="a\nb\n")
    moved = "*** Update File: old.txt\n*** Move to: new.txt\n@@\n a\n-b\n+c"
    patch = f"*** Begin Patch\n{moved}\n*** End Patch"
    log.call("apply_patch", input=patch)
    session = log.session(place)
    index = index_of(session)

    assert index.entries[2].source == 0
    assert text_at(session, f"{WORKED_IN}/new.txt", 99) == "a\nc\n"
    assert text_at(session, f"{WORKED_IN}/old.txt", 99) == ""


def test_too_many_files_are_cut_and_told(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pure, "MOST_PATHS", 3)
    log = Log()
    for number in range(5):
        log.call("Write", file_path=f"f{number}", content="1")

    index = index_of(log.session(place))

    assert index.is_cut
    assert len(index.paths) == 3


def test_steps_far_from_anything_known_say_so(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_STEPS", 3)
    log = Log()
    for number in range(9):
        log.call("Edit", file_path="f", old_string=f"{number}", new_string=f"{number + 1}")
    session = log.session(place)

    found = files.steps(session, index_of(session).histories(), Look(path=0, lo=8, hi=9))

    assert isinstance(found[0].before, Partly)
    assert found[0].deal.asked == 16


@pytest.mark.skipif(not build.SHARED.is_dir(), reason="real logs are not here")
@pytest.mark.parametrize("name", LOGS)
def test_real_logs_give_files_whose_last_state_can_be_read(place: Workspace, name: str) -> None:
    result = build.ingest_file(place, Path(build.SHARED / name))
    session = Session.objects.select_related("key", "workspace").get(uid=str(result.uid))
    index = index_of(session)
    acts = index.histories()
    listed = pure.files(index, "")

    assert index.upto == fileindex.whole(session)
    assert any(file.changes for file in listed)
    for file in listed:
        entries = acts.of(file.number)
        steps = files.steps(session, acts, Look(path=file.number, lo=0, hi=len(entries)))
        assert [step.deal.asked for step in steps] == [entry.asked for entry in entries]
        again = files.state_at(session, acts, file.number, session.events)
        assert again == steps[-1].after
