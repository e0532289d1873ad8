"""Folders of small files: one source per session, and the same files again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app import formats
from sessions_app.domain.events import Message, Role, TieKind
from sessions_app.formats import bundled, opencode
from sessions_app.ingest import bundles, discover, sources
from sessions_app.ingest.bundles import Bundle
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import DiskFile, Skipped
from tests import build
from tests.formats.reading import records

SESSION = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/home/ann/shop",
    "title": "Fix",
    "time": {},
}


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=2).encode())


def newer(folder: Path) -> Path:
    """The layout with a folder per message."""
    storage = folder / "opencode" / "storage"
    put(storage / "session" / "p" / "ses_1.json", SESSION)
    for number, role in enumerate(("user", "assistant"), 1):
        about = {"id": f"msg_{number}", "sessionID": "ses_1", "role": role, "time": {"created": 1}}
        put(storage / "message" / "ses_1" / f"msg_{number}.json", about)
        for part in "ab":
            said = {"id": f"prt_{number}{part}", "type": "text", "text": f"{role} {part}"}
            put(storage / "part" / f"msg_{number}" / f"prt_{number}{part}.json", said)
    return storage


def older(folder: Path) -> Path:
    storage = folder / "project" / "slug" / "storage"
    put(storage / "session" / "info" / "ses_1.json", SESSION)
    about = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}
    put(storage / "session" / "message" / "ses_1" / "msg_1.json", about)
    said = {"id": "prt_1", "type": "text", "text": "hello"}
    put(storage / "session" / "part" / "ses_1" / "msg_1" / "prt_1.json", said)
    return storage


def gathered(folder: Path) -> list[DiskFile | Bundle | Skipped]:
    return list(bundles.gather(sources.walk([str(folder)])))


def bundle(folder: Path) -> Bundle:
    [found] = gathered(folder)
    assert isinstance(found, Bundle)
    return found


def lines(found: Bundle) -> list[bytes]:
    with found.open() as stream:
        data = stream.read()
        assert found.length(stream) == len(data)
    return data.splitlines(keepends=True)


def test_a_session_is_told_in_its_order(tmp_path: Path) -> None:
    storage = newer(tmp_path)

    found = bundle(tmp_path)

    assert found.path == f"{storage}#ses_1"
    told = [json.loads(line) for line in lines(found)]
    assert [line["file"].removeprefix("storage/") for line in told] == [
        "session/p/ses_1.json",
        "message/ses_1/msg_1.json",
        "part/msg_1/prt_1a.json",
        "part/msg_1/prt_1b.json",
        "message/ses_1/msg_2.json",
        "part/msg_2/prt_2a.json",
        "part/msg_2/prt_2b.json",
    ]
    assert [line.get("role") for line in told][2:5] == ["user", "user", None]
    assert told[0]["text"] == (storage / "session" / "p" / "ses_1.json").read_text()


def test_what_is_told_is_recognised_and_read(tmp_path: Path) -> None:
    newer(tmp_path)
    raw = b"".join(lines(bundle(tmp_path)))

    assert formats.recognise(raw) is opencode.LINES
    readings = records(opencode.LINES, raw)

    said = [reading.body for reading in readings if isinstance(reading.body, Message)]
    assert [each.role for each in said] == [Role.USER] * 2 + [Role.ASSISTANT] * 2
    assert readings[0].notes is not None
    assert readings[0].notes.ties[0] == (TieKind.SELF, "ses_1")


def test_the_older_layout_is_told_too(tmp_path: Path) -> None:
    storage = older(tmp_path)

    found = bundle(tmp_path)

    assert found.path == f"{storage}#ses_1"
    assert len(lines(found)) == 3


def test_one_file_stands_for_its_session(tmp_path: Path) -> None:
    storage = newer(tmp_path)
    whole = bundle(tmp_path)
    put(storage / "session" / "p" / "ses_2.json", {**SESSION, "id": "ses_2"})
    part = str(storage / "part" / "msg_2" / "prt_2b.json")

    assert list(bundles.gather(sources.walk([part]))) == [whole]
    assert len(gathered(tmp_path)) == 2


def test_everything_else_passes_through_in_order(tmp_path: Path) -> None:
    newer(tmp_path)
    other = tmp_path / "other" / "storage" / "message" / "x" / "y.json"
    put(other, {"id": 1})
    put(tmp_path / "a.jsonl", b"{}\n")
    put(tmp_path / "z.jsonl", b"{}\n")
    (tmp_path / "link").symlink_to(tmp_path)

    *rest, last = gathered(tmp_path)

    assert rest == [
        item
        for item in sources.walk([str(tmp_path)])
        if "/opencode/" not in item.path or isinstance(item, Skipped)
    ]
    assert str(other) in [item.path for item in rest]
    assert isinstance(last, Bundle)


def test_parts_without_their_message_are_kept(tmp_path: Path) -> None:
    storage = newer(tmp_path)
    (storage / "message" / "ses_1" / "msg_1.json").unlink()

    names = {item.path.rpartition("#")[2]: item for item in gathered(tmp_path)}

    assert list(names) == ["ses_1", "msg_1"]
    alone = names["msg_1"]
    assert isinstance(alone, Bundle)
    assert len(lines(alone)) == 2


@pytest.mark.django_db(transaction=True)
def test_a_session_is_taken_once_and_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = newer(tmp_path)
    place = build.workspace()

    def take() -> list[str]:
        found = [item for item in discover.found([str(tmp_path)]) if not isinstance(item, Skipped)]
        return [result.state for result in Ingest(place.id, now=build.NOW).sources(found)]

    assert take() == ["ingested"]
    with monkeypatch.context() as patch:
        patch.setattr(Bundle, "open", None)
        assert take() == ["unchanged"]
    put(storage / "part" / "msg_2" / "prt_2c.json", {"id": "prt_2c", "type": "text", "text": "c"})
    assert take() == ["appended"]
    put(storage / "session" / "p" / "ses_1.json", {**SESSION, "title": "Another"})
    assert take() == ["rewritten"]


def test_files_come_out_byte_for_byte(tmp_path: Path) -> None:
    storage = newer(tmp_path)
    put(storage / "part" / "msg_2" / "prt_2c.json", b'{"broken": "\xff\xfe"')
    put(storage / "part" / "msg_2" / "prt_2d.json", b"\xef\xbb\xbf{}\r\n\n")

    for path, data in bundled.unpack(lines(bundle(tmp_path))):
        put(tmp_path / "out" / path, data)

    there = {p.relative_to(storage): p.read_bytes() for p in storage.rglob("*.json")}
    again = tmp_path / "out" / "storage"
    assert {p.relative_to(again): p.read_bytes() for p in again.rglob("*.json")} == there


HARMFUL = [
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\x\\..\\y",
    "a/./../b",
    "",
    "..",
    "a\0b",
    "A",
    "a",
]


def test_paths_that_come_out_are_harmless() -> None:
    told = [json.dumps({"store": "opencode", "file": name, "text": ""}) for name in HARMFUL]

    paths = [path for path, _ in bundled.unpack(line.encode() for line in told)]

    assert paths == [
        *("etc/passwd", "etc/passwd~", "C_/x/y", "a/b", "file-4", "file-5", "a_b", "A", "a~"),
    ]


@given(st.text(max_size=40), st.binary(max_size=20))
def test_any_path_stays_below(name: str, line: bytes) -> None:
    told = [json.dumps({"file": name, "text": "x"}).encode(), line]
    for path, _ in bundled.unpack(told):
        assert path
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert "\\" not in path
