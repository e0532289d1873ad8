"""What the beginning of a source tells of it, before any format is asked."""

from typing import Any

import pytest

from sessions_app import formats
from sessions_app.domain.events import Unreadable
from sessions_app.formats import json_lines
from sessions_app.formats.shape import head_of

LINE = b'{"type":"user","sessionId":"s","message":{"role":"user","content":"hello"}}\n'
# The lines inside it are objects too.
DOCUMENT = b'{"agentType":"helper","tools":[\n{"name":"Bash"}\n],"more":[\n{"name":"Read"}\n]}\n'


def test_a_document_with_objects_on_lines_of_their_own_is_still_one_document() -> None:
    assert not head_of(DOCUMENT).is_lines
    assert formats.recognise(DOCUMENT) is formats.BY_NAME["claude-code-subagent"]


def test_a_single_line_may_be_a_document() -> None:
    assert not head_of(LINE).is_lines


def test_lines_are_not_read_once_more_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = LINE * 30
    read: list[int] = []
    parse = json_lines.parse

    def counted(line: bytes) -> dict[str, Any] | Unreadable:
        read.append(len(line))
        return parse(line)

    monkeypatch.setattr(json_lines, "parse", counted)

    assert formats.recognise(raw) is formats.BY_NAME["claude-code"]
    assert sum(read) <= len(raw)
