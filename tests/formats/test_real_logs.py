"""Real logs of real agents, where they are at hand: every line counted, every byte given back."""

import io
from pathlib import Path

import pytest

from sessions_app.models import Session
from sessions_app.store import read, verify
from tests import build

LOGS = sorted(build.SHARED.rglob("*.jsonl")) if build.SHARED.is_dir() else []
GROUPS = sorted({path.parent.name for path in LOGS})
SAMPLES = 5


@pytest.mark.django_db
@pytest.mark.parametrize("group", GROUPS)
def test_every_real_log_is_kept_line_by_line_and_byte_by_byte(group: str) -> None:
    place = build.workspace()
    for path in (each for each in LOGS if each.parent.name == group):
        result = build.ingest_file(place, path)
        if result.state == "empty":
            assert path.stat().st_size == 0
            continue
        session = Session.objects.select_related("key").get(uid=str(result.uid))
        _is_kept(session, path)


def _is_kept(session: Session, path: Path) -> None:
    data = path.read_bytes()
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    assert session.events == count, path
    assert b"".join(read.stream(session)) == data, path
    assert verify.session(session).problem == "", path
    lines = io.BytesIO(data).readlines()
    for seq in {0, count // 2, count - 1, *range(0, count, max(1, count // SAMPLES))}:
        line = read.event(session, seq, shown=10**9)
        assert line.raw == lines[seq]
        assert line.seq == seq
