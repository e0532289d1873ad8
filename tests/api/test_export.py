"""Out again: one tar, the same paths and bytes, nothing of others."""

import io
import tarfile
from pathlib import Path

import pytest
from django.core.management import call_command

from tests import build
from tests.people import browser

pytestmark = pytest.mark.django_db

TREE = {
    ".claude/projects/-srv-app/one.jsonl": b'{"type":"user","sessionId":"a","uuid":"1"}\n',
    ".claude/projects/-srv-app/one/subagents/agent-2.jsonl": b'{"type":"user","uuid":"2"}\n',
    ".pi/agent/sessions/--srv-app--/2026_x.jsonl": b'{"type":"session","version":3,"id":"p"}\n',
    ".codex/sessions/2026/11/18/rollout-1.jsonl": b'{"type":"session_meta","payload":{}}\n',
}


def test_a_tar_gives_paths_and_bytes_back_and_nothing_of_others() -> None:
    place, other = build.workspace(), build.workspace("Other")
    client = browser(build.member("ann", place))
    long = "/srv/" + "ü" * 90 + "/x/" * 30 + "日本.jsonl"
    ours = build.session(place, build.log(700), long)
    theirs = build.session(other, build.log(3))

    body = client.get(f"/api/v1/export?workspace={place.id}")
    raw = client.get(f"/api/v1/sessions/{ours.uid}/raw")

    with tarfile.open(fileobj=io.BytesIO(b"".join(body.streaming_content))) as book:  # type: ignore[attr-defined]
        assert {m.name: book.extractfile(m).read() for m in book} == {  # type: ignore[union-attr]
            "box/" + "/".join(part for part in long.split("/") if part): build.log(700)
        }
    assert b"".join(raw.streaming_content) == build.log(700)  # type: ignore[attr-defined]
    for address in (
        f"/api/v1/export?ids={ours.uid},{theirs.uid}",
        f"/api/v1/export?workspace={other.id}",
        f"/api/v1/sessions/{theirs.uid}/raw",
    ):
        assert client.get(address).status_code == 404
    for address in (
        "/api/v1/export",
        "/api/v1/export?ids=x",
        f"/api/v1/export?ids={ours.uid}&layout=x",
    ):
        assert client.get(address).status_code == 400


def test_the_layout_of_agents_is_the_tree_they_were_taken_from(tmp_path: Path) -> None:
    place = build.workspace()
    for path, data in TREE.items():
        build.session(place, data, f"/home/bob/{path}")

    call_command("export", "--all", "--layout", "agent", "--to", str(tmp_path / "home"))

    found = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert {str(p.relative_to(tmp_path / "home")): p.read_bytes() for p in found} == TREE
