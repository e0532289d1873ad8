"""Databases as the agents make them, small."""

import json
import sqlite3
from pathlib import Path

MINUTE = 60_000
# Milliseconds; long ago, so that nothing is still being written.
THEN = 1_760_000_000_000

OPENCODE = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL,
  cost real NOT NULL DEFAULT 0, tokens_input integer NOT NULL DEFAULT 0,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX part_session_idx ON part (session_id);
"""

GOOSE = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
  session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
  created_at TIMESTAMP, updated_at TIMESTAMP, total_tokens INTEGER,
  accumulated_total_tokens INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
  session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
  created_timestamp INTEGER, model TEXT, provider TEXT, input_tokens INTEGER,
  output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER,
  cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER);
"""


def made(path: Path, schema: str, mode: str = "DELETE") -> sqlite3.Connection:
    link = sqlite3.connect(path, isolation_level=None)
    link.execute(f"PRAGMA journal_mode = {mode}")
    link.executescript(schema)
    return link


def opencode(path: Path, mode: str = "DELETE") -> sqlite3.Connection:
    """One session with a prompt and an answer."""
    link = made(path, OPENCODE, mode)
    opencode_session(link, "ses_1")
    opencode_turn(link, "ses_1", 1)
    return link


def opencode_session(link: sqlite3.Connection, name: str, parent: str | None = None) -> None:
    link.execute(
        "INSERT INTO session VALUES (?, 'p', ?, 'slug', '/home/ann/shop', 'Fix it', '1.3.17', 0, 0,"
        " ?, ?)",
        (name, parent, THEN, THEN),
    )


def opencode_message(
    link: sqlite3.Connection,
    session: str,
    name: str,
    data: dict[str, object],
    parts: list[dict[str, object]],
    at: int = THEN,
) -> None:
    link.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, at, at, _json(data)))
    for number, part in enumerate(parts):
        row = (f"prt_{name}_{number}", name, session, at, at, _json(part))
        link.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)


def opencode_turn(link: sqlite3.Connection, session: str, number: int, at: int = THEN) -> None:
    at += number * MINUTE
    opencode_message(
        link,
        session,
        f"msg_{number}a",
        {"role": "user", "time": {"created": at}},
        [{"type": "text", "text": f"prompt {number}"}],
        at,
    )
    opencode_message(
        link,
        session,
        f"msg_{number}b",
        {
            "role": "assistant",
            "time": {"created": at, "completed": at + 1},
            "modelID": "gpt-5",
            "providerID": "openai",
            "cost": 0.01,
            "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}},
            "finish": "stop",
        },
        [{"type": "text", "text": f"answer {number}"}],
        at,
    )


def goose(path: Path, mode: str = "DELETE") -> sqlite3.Connection:
    link = made(path, GOOSE, mode)
    link.execute(
        "INSERT INTO sessions VALUES ('20251009_1', 'Fix it', '', 0, 'user', '/home/ann/shop',"
        " '2025-10-09 08:53:20', '2025-10-09 08:55:00', 99, 990)"
    )
    goose_turn(link, 1)
    return link


def goose_turn(link: sqlite3.Connection, number: int) -> None:
    at = THEN // 1000 + number * 60
    for role, text in (("user", f"prompt {number}"), ("assistant", f"answer {number}")):
        content = _json([{"type": "text", "text": text}])
        link.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)"
            " VALUES (?, '20251009_1', ?, ?, ?)",
            (f"msg_{number}_{role}", role, content, at),
        )
    link.execute(
        "INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens,"
        " output_tokens, total_tokens, cost, cost_source)"
        " VALUES ('20251009_1', ?, 'gpt-5', 100, 20, 120, 0.02, 'reported')",
        (at,),
    )


def _json(value: object) -> str:
    return json.dumps(value)
