"""The tree inside a log: which record follows which."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.formats import BY_NAME, lineage


@pytest.mark.parametrize(
    ("fmt", "line", "ids"),
    [
        ("claude-code", b'{"uuid": "b", "parentUuid": "a"}', ("b", "a")),
        ("claude-code", b'{"uuid": "b", "parentUuid": null}\n', ("b", "")),
        ("claude-code", b'{"uuid": "b", "parentUuid": "a", "isSidechain": true}', None),
        ("claude-code", b'{"type": "summary", "leafUuid": "x"}', None),
        ("pi", b'{"id": "b", "parentId": "a"}', ("b", "a")),
        ("openclaw", b'{"id": "b", "parentId": 7}', ("b", "")),
        ("pi", b"no json", None),
        ("pi", b'{"id": ["b"]}', None),
    ],
)
def test_a_record_names_itself_and_the_one_it_follows(
    fmt: str, line: bytes, ids: tuple[str, str] | None
) -> None:
    assert lineage.of(fmt, line) == ids


def test_only_formats_there_are_have_trees() -> None:
    assert {*lineage.TREES, *lineage.VERSIONS} <= set(BY_NAME)
    assert not lineage.has_tree("codex")


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_no_line_is_too_strange(line: bytes) -> None:
    for fmt in lineage.TREES:
        lineage.of(fmt, line)
    for fmt in lineage.VERSIONS:
        lineage.version_of(fmt, line)


def test_versions_of_a_message_share_its_id() -> None:
    first, second = b'{"id": "a", "type": "gemini"}', b'{"id": "a", "type": "gemini", "tokens": {}}'

    assert lineage.version_of("gemini-log", first) == "a"
    assert lineage.version_of("gemini-log", second) == "a"
    assert not lineage.version_of("gemini-log", b'{"$rewindTo": "a"}')
    assert not lineage.version_of("pi", first)
