"""Databases of agents: read without a trace, told in lines that only grow."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.errors import BadInput
from sessions_app.formats import goose
from sessions_app.ingest import stores
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import HeldFile
from sessions_app.ingest.stores import database
from tests.build import NOW, workspace
from tests.formats.reading import notes, records
from tests.ingest import stores as build


def told(path: Path) -> dict[str, bytes]:
    return {
        held.path.removeprefix(f"{path}#"): held.stream.read()
        for held in stores.sessions_in(str(path), "box")
    }


def rows(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    return [(line["table"], line["row"]) for line in map(json.loads, data.splitlines())]


def tables(data: bytes) -> list[str]:
    return [table for table, _ in rows(data)]


def left_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_session_is_told_with_its_messages_and_their_parts(tmp_path: Path) -> None:
    build.opencode(tmp_path / "opencode.db").close()

    [held] = stores.sessions_in(str(tmp_path / "opencode.db"), "box")

    data = held.stream.read()
    assert held.path == f"{tmp_path}/opencode.db#ses_1"
    assert (held.machine, held.project, held.size) == ("box", "shop", len(data))
    assert tables(data) == ["session", "message", "part", "message", "part", "session"]
    assert [json.loads(line).get("role") for line in data.splitlines()] == [
        *(None, None, "user", None, "assistant", None)
    ]
    assert rows(data)[5][1] == {"id": "ses_1", "title": "Fix it"}
    assert all(json.loads(line)["store"] == "opencode" for line in data.splitlines())


def test_what_changes_while_a_session_goes_on_is_left_out(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    before = told(tmp_path / "opencode.db")["ses_1"]

    build.opencode_turn(link, "ses_1", 2)
    link.execute("UPDATE session SET cost = 7, tokens_input = 99, time_updated = 5")
    link.close()

    after = told(tmp_path / "opencode.db")["ses_1"]
    assert after.startswith(before)
    assert tables(after[len(before) :]) == ["message", "part", "message", "part"]


def test_goose_weaves_messages_and_usage_and_only_grows(tmp_path: Path) -> None:
    link = build.goose(tmp_path / "sessions.db")
    before = told(tmp_path / "sessions.db")["20251009_1"]
    assert tables(before) == ["sessions", "messages", "messages", "sessions", "usage_ledger"]

    build.goose_turn(link, 2)
    link.execute("UPDATE sessions SET total_tokens = 7, updated_at = 'later'")
    link.close()

    after = told(tmp_path / "sessions.db")["20251009_1"]
    assert after.startswith(before)
    assert tables(after[len(before) :]) == ["messages", "messages", "usage_ledger"]


def test_goose_without_a_ledger_tells_the_totals_of_a_session_that_rests(tmp_path: Path) -> None:
    link = build.goose(tmp_path / "sessions.db")
    before = told(tmp_path / "sessions.db")["20251009_1"]
    link.execute("ALTER TABLE sessions ADD COLUMN accumulated_input_tokens INTEGER")
    link.execute("ALTER TABLE sessions ADD COLUMN accumulated_output_tokens INTEGER")
    link.execute("UPDATE sessions SET accumulated_input_tokens = 70, accumulated_output_tokens = 7")
    assert told(tmp_path / "sessions.db")["20251009_1"] == before

    link.execute("DELETE FROM usage_ledger")
    rested = told(tmp_path / "sessions.db")["20251009_1"]
    assert tables(rested) == ["sessions", "messages", "messages", "sessions", "sessions"]
    (used,) = notes(records(goose.FORMAT, rested)[-1]).usage
    assert (used.input, used.output) == (70, 7)

    link.execute("UPDATE messages SET created_timestamp = ?", (int(time.time()) - 60,))
    link.close()
    assert tables(told(tmp_path / "sessions.db")["20251009_1"])[-1] == "sessions"
    assert len(tables(told(tmp_path / "sessions.db")["20251009_1"])) == 4


def test_an_edited_row_is_another_text(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    before = told(tmp_path / "opencode.db")["ses_1"]

    link.execute("UPDATE part SET data = '{}' WHERE id = 'prt_msg_1a_0'")
    link.close()

    assert not told(tmp_path / "opencode.db")["ses_1"].startswith(before)


def test_a_turn_that_is_being_written_waits_until_it_rests(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    before = told(tmp_path / "opencode.db")["ses_1"]

    now = int(time.time() * 1000)
    build.opencode_turn(link, "ses_1", 2, now - 2 * build.MINUTE)
    assert told(tmp_path / "opencode.db")["ses_1"] == before

    link.execute("UPDATE message SET time_updated = ?", (now - build.MINUTE,))
    link.execute("UPDATE part SET time_updated = ?", (now - build.MINUTE,))
    assert tables(told(tmp_path / "opencode.db")["ses_1"]).count("message") == 4

    link.execute("""UPDATE message SET data = '{"role": "assistant"}' WHERE id = 'msg_2b'""")
    link.close()
    assert tables(told(tmp_path / "opencode.db")["ses_1"]).count("message") == 2


def test_the_newest_rows_of_a_running_program_are_read_from_its_log(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db", "WAL")
    build.opencode_turn(link, "ses_1", 2)
    before = left_in(tmp_path)

    assert tables(told(tmp_path / "opencode.db")["ses_1"]).count("message") == 4

    after = left_in(tmp_path)
    assert set(before) == {"opencode.db", "opencode.db-wal", "opencode.db-shm"}
    assert {name: data for name, data in after.items() if name[-4:] != "-shm"} == {
        name: data for name, data in before.items() if name[-4:] != "-shm"
    }
    assert set(after) == set(before)
    build.opencode_turn(link, "ses_1", 3)
    link.close()


def test_a_program_that_died_leaves_its_log_and_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "dead").mkdir()
    link = build.opencode(tmp_path / "live" / "opencode.db", "WAL")
    for path in (tmp_path / "live").iterdir():
        (tmp_path / "dead" / path.name).write_bytes(path.read_bytes())
    link.close()
    before = left_in(tmp_path / "dead")

    assert tables(told(tmp_path / "dead" / "opencode.db")["ses_1"]).count("message") == 2
    assert left_in(tmp_path / "dead") == before

    (tmp_path / "dead" / "opencode.db-shm").unlink()
    with pytest.raises(BadInput, match="without its -shm"):
        told(tmp_path / "dead" / "opencode.db")


def test_nothing_is_made_beside_a_database_at_rest(tmp_path: Path) -> None:
    build.opencode(tmp_path / "opencode.db", "WAL").close()
    before = left_in(tmp_path)
    tmp_path.chmod(0o500)

    try:
        assert "ses_1" in told(tmp_path / "opencode.db")
    finally:
        tmp_path.chmod(0o700)

    assert left_in(tmp_path) == before
    assert set(before) == {"opencode.db"}


def test_bytes_and_unbounded_numbers_survive(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    link.execute("UPDATE message SET data = x'00ff', time_updated = 9e999 WHERE id = 'msg_1a'")
    link.execute("UPDATE part SET data = CAST(x'ff41' AS TEXT) WHERE message_id = 'msg_1a'")
    link.close()

    lines = rows(told(tmp_path / "opencode.db")["ses_1"])

    assert lines[1][1]["data"] == {"base64": "AP8="}
    assert lines[1][1]["time_updated"] == {"real": "inf"}
    assert lines[2][1]["data"] == {"base64": "/0E="}


def test_two_sessions_are_two_sources_and_a_session_without_rows_is_told(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    build.opencode_session(link, "ses_2", parent="ses_1")
    build.opencode_session(link, "x" * 300)
    link.close()

    found = told(tmp_path / "opencode.db")

    assert list(found)[:2] == ["ses_1", "ses_2"]
    assert list(found)[2].startswith("sha256:")
    assert rows(found["ses_2"])[0][1]["parent_id"] == "ses_1"


def test_newer_databases_keep_messages_in_one_table(tmp_path: Path) -> None:
    link = build.made(
        tmp_path / "opencode.db",
        """CREATE TABLE session_v2 (id text PRIMARY KEY, directory text);
        CREATE TABLE session_message (id text PRIMARY KEY, session_id text, seq integer, type text,
          data text);
        INSERT INTO session_v2 VALUES ('ses_1', 'C:\\work\\shop\\');
        INSERT INTO session_message VALUES ('b', 'ses_1', 1, 'user', '{}');
        INSERT INTO session_message VALUES ('a', 'ses_1', 2, 'assistant', '{}');""",
    )
    link.close()

    [held] = stores.sessions_in(str(tmp_path / "opencode.db"), "box")

    assert held.project == "shop"
    assert [row.get("seq") for _, row in rows(held.stream.read())] == [None, 1, 2, None]


def refused(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        told(path)
    assert caught.value.message.startswith(f"{path}: ")
    return caught.value.message.removeprefix(f"{path}: ")


def test_what_is_no_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert refused(path) == "No such file or directory"

    path.write_bytes(b"")
    assert refused(path) == "not a SQLite database, or an encrypted one"

    path.write_bytes(database.MAGIC + b"\x10\x00\x01\x01" + b"\xff" * 5000)
    assert refused(path)

    path.unlink()
    path.symlink_to(tmp_path / "y.db")
    assert refused(path) == "not a regular file"


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    build.made(tmp_path / "x.db", "CREATE TABLE t (secret text)").close()

    assert refused(tmp_path / "x.db") == "a SQLite database, but of no agent that is known"


def test_a_damaged_database_is_refused_and_quotes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    link = build.opencode(path)
    for number in range(2, 60):
        build.opencode_turn(link, "ses_1", number)
    link.close()
    whole = path.read_bytes()
    for at in range(100, len(whole), 997):
        path.write_bytes(whole[:at] + b"\xff" * 64 + whole[at + 64 :])
        try:
            told(path)
        except BadInput as error:
            assert "prompt" not in error.message  # noqa: PT017 - many may be readable


def test_a_locked_database_is_told_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    link = build.opencode(tmp_path / "opencode.db")
    link.execute("BEGIN EXCLUSIVE")

    assert "in use" in refused(tmp_path / "opencode.db")
    link.close()


HOSTILE = {
    "a view that never ends": """
        CREATE VIEW part AS WITH RECURSIVE n(message_id, session_id, data, id) AS
          (SELECT 'a', 'ses_1', 'x', 1 UNION ALL SELECT message_id, session_id, data, id FROM n)
          SELECT * FROM n;""",
    "a virtual table": "CREATE VIRTUAL TABLE part USING fts5(id, message_id, session_id, data);",
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_only_tables_are_read(tmp_path: Path, schema: str) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    link.execute("DROP TABLE part")
    link.executescript(schema)
    link.close()

    assert "no agent" in refused(tmp_path / "opencode.db")


def test_a_computed_column_is_never_computed(tmp_path: Path) -> None:
    link = build.opencode(tmp_path / "opencode.db")
    link.execute("ALTER TABLE message ADD COLUMN bomb AS (hex(zeroblob(1000000))) VIRTUAL")
    link.close()

    assert "bomb" not in rows(told(tmp_path / "opencode.db")["ses_1"])[1][1]


def test_a_huge_cell_keeps_one_session_back_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database.LIMITS, sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
    link = build.opencode(tmp_path / "opencode.db")
    build.opencode_session(link, "ses_0")
    link.execute("INSERT INTO message VALUES ('m', 'ses_0', 1, 1, ?)", ("x" * 20_000,))
    link.close()

    found: list[HeldFile] = []
    with pytest.raises(BadInput, match="holds a cell above"):
        found.extend(stores.sessions_in(str(tmp_path / "opencode.db"), "box"))
    assert [held.path[-5:] for held in found] == ["ses_1"]


def test_more_than_the_file_can_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SWELL", 0)
    monkeypatch.setattr(database, "ROOM", 2_000)
    link = build.opencode(tmp_path / "opencode.db")
    link.execute("UPDATE part SET data = ?", ("x" * 1_500,))
    link.close()

    assert refused(tmp_path / "opencode.db") == "its rows hold more than the file can"


def test_a_query_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(database, "STEPS", 1)
    build.opencode(tmp_path / "opencode.db").close()

    assert refused(tmp_path / "opencode.db") == "took too long to answer"


def test_a_database_is_known_by_its_first_bytes() -> None:
    assert stores.is_database(b"SQLite format 3\x00\x10\x00")
    assert not stores.is_database(b"SQLite format 3")


@pytest.mark.django_db(transaction=True)
def test_a_session_that_went_on_is_appended_to_and_an_edited_one_is_rewritten(
    tmp_path: Path,
) -> None:
    path = tmp_path / "opencode.db"
    link = build.opencode(path)
    place = workspace()

    def take() -> list[str]:
        found = stores.sessions_in(str(path), "box")
        return [result.state for result in Ingest(place.id, now=NOW).sources(found)]

    assert take() == ["ingested"]
    assert take() == ["unchanged"]
    build.opencode_turn(link, "ses_1", 2)
    build.opencode_session(link, "ses_2")
    assert take() == ["appended", "ingested"]
    link.execute("UPDATE part SET data = '{}' WHERE id = 'prt_msg_1a_0'")
    link.close()
    assert take() == ["rewritten", "unchanged"]
