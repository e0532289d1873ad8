"""Tools of all agents that touch files: what a call and its answer say of a file."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain.events import Message, Role, ToolCall, ToolResult
from sessions_app.domain.files import (
    Act,
    Altered,
    Change,
    Deed,
    Erased,
    Inserted,
    Outcome,
    Patch,
    Patched,
    Reach,
    Replaced,
    Shown,
    Swap,
    Written,
)
from sessions_app.formats import file_tools, patches, shown_files
from sessions_app.formats.file_deals import Reader
from sessions_app.formats.file_tools import NOTHING, Beside

READ, WRITE, EDIT, DELETE, RENAME = Deed.READ, Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.RENAME
ONE = Replaced(swaps=(Swap(old="a", new="b"),))


def acts(
    name: str,
    arguments: object,
    answer: str | None = "ok",
    fmt: str = "claude-code",
    beside: Beside = NOTHING,
    is_error: bool = False,
) -> list[Act]:
    call = ToolCall(name=name, call_id="c", arguments=arguments)
    result = None if answer is None else ToolResult(call_id="c", text=answer, is_error=is_error)
    return file_tools.acts(fmt, call, result, beside, "/w")


@pytest.mark.parametrize(
    ("name", "arguments", "deed", "change"),
    [
        ("Write", {"file_path": "f", "content": "x"}, WRITE, Written(text="x")),
        ("write_file", {"file_path": "f", "content": "x"}, WRITE, Written(text="x")),
        ("create", {"path": "f", "file_text": "x"}, WRITE, Written(text="x")),
        ("write", {"filePath": "f", "content": "x"}, WRITE, Written(text="x")),
        ("mcp__filesystem__write_file", {"path": "f", "content": "x"}, WRITE, Written(text="x")),
        ("Edit", {"file_path": "f", "old_string": "a", "new_string": "b"}, EDIT, ONE),
        ("edit", {"path": "f", "oldText": "a", "newText": "b"}, EDIT, ONE),
        ("edit", {"path": "f", "old_str": "a", "new_str": "b"}, EDIT, ONE),
        ("edit", {"filePath": "f", "oldString": "a", "newString": "b"}, EDIT, ONE),
        ("replace", {"file_path": "f", "old_string": "a", "new_string": "b"}, EDIT, ONE),
        (
            "Edit",
            {"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": True},
            EDIT,
            Replaced(swaps=(Swap(old="a", new="b", reach=Reach.EVERY),)),
        ),
        (
            "MultiEdit",
            {"file_path": "f", "edits": [{"old_string": "a", "new_string": "b"}]},
            EDIT,
            ONE,
        ),
        ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "a"}]}, EDIT, Altered()),
        ("NotebookEdit", {"notebook_path": "f", "new_source": "x"}, EDIT, Altered()),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "f", "old_str": "a", "new_str": "b"},
            EDIT,
            ONE,
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "f", "file_text": "x"},
            WRITE,
            Written(text="x"),
        ),
        (
            "text_editor",
            {"command": "insert", "path": "f", "insert_line": 2, "new_str": "x"},
            EDIT,
            Inserted(text="x", after=2),
        ),
        ("developer__text_editor", {"command": "view", "path": "f"}, READ, Shown()),
        ("text_editor", {"command": "undo_edit", "path": "f"}, EDIT, Altered()),
        ("write_to_file", {"path": "f", "content": "x"}, WRITE, Written(text="x")),
        (
            "replace_in_file",
            {"path": "f", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"},
            EDIT,
            Replaced(swaps=(Swap(old="a\n", new="b\n", reach=Reach.FIRST),)),
        ),
        ("replace_in_file", {"path": "f", "diff": "nothing like it"}, EDIT, Altered()),
        ("edit_file", {"target_file": "f", "code_edit": "…"}, EDIT, Altered()),
        ("delete_file", {"path": "f"}, DELETE, Erased()),
        ("view_image", {"path": "f"}, READ, Shown()),
        ("bash", {"command": "cat > f <<'E'\nx\nE"}, WRITE, Written(text="x\n")),
        ("shell", {"command": ["bash", "-lc", "cat f"]}, READ, Shown()),
        ("exec_command", {"cmd": "cat f", "workdir": "/w"}, READ, Shown()),
    ],
)
def test_a_tool_is_known_by_its_shape(
    name: str, arguments: dict[str, Any], deed: Deed, change: Change
) -> None:
    (act,) = acts(name, arguments, fmt="other")

    assert (act.deed, act.path, act.change, act.outcome) == (deed, "/w/f", change, Outcome.DONE)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"command": "ls"}),
        ("TodoWrite", {"todos": []}),
        ("Edit", {}),
        ("Edit", None),
        ("Edit", "text"),
        ("Write", {"file_path": 7, "content": "x"}),
        ("apply_patch", "no patch"),
        ("str_replace_editor", {"command": "what", "path": "f"}),
        ("edit_file", {"path": "f", "edits": [], "dryRun": True}),
        ("", {}),
    ],
)
def test_other_calls_touch_no_file(name: str, arguments: object) -> None:
    assert acts(name, arguments) == []


@pytest.mark.parametrize(
    ("answer", "is_error", "fmt", "outcome"),
    [
        ("ok", False, "claude-code", Outcome.DONE),
        ("ok", True, "claude-code", Outcome.FAILED),
        ("Error: no such file", False, "plain", Outcome.FAILED),
        ("<tool_use_error>no", False, "claude-code", Outcome.FAILED),
        (None, False, "claude-code", Outcome.OPEN),
        ("[write_to_file for 'f'] Result:\nThe user denied it", False, "cline", Outcome.FAILED),
        ("[write_to_file for 'f'] Result:\nsaved", False, "cline", Outcome.DONE),
    ],
)
def test_an_answer_says_how_it_ended(
    answer: str | None, is_error: bool, fmt: str, outcome: Outcome
) -> None:
    (act,) = acts("Write", {"path": "f", "content": "x"}, answer, fmt=fmt, is_error=is_error)

    assert act.outcome is outcome


@pytest.mark.parametrize(
    ("fmt", "arguments", "answer", "shown"),
    [
        ("claude-code", {}, "     1→a\n     2→b\n     3→", Shown(text="a\nb\n", is_whole=True)),
        ("claude-code", {}, "1\ta\n2\tb", Shown(text="a\nb", is_whole=True)),
        (
            "claude-code",
            {"offset": 30, "limit": 2},
            "    30→a\n    31→b\n\n<system-reminder>x</system-reminder>",
            Shown(text="a\nb", first=30),
        ),
        ("claude-code", {}, "     1→a\n     3→c", Shown()),
        ("claude-code", {}, "Wasted call", Shown()),
        ("copilot-cli", {}, "1. a\n2. b\n3. ", Shown(text="a\nb\n", is_whole=True)),
        ("copilot-cli", {"view_range": [5, 6]}, "5. a\n6. b", Shown(text="a\nb", first=5)),
        (
            "opencode",
            {},
            "<file>\n00001| a\n00002| b\n\n(End of file)\n</file>",
            Shown(text="a\nb"),
        ),
        ("pi", {}, "a\nb\n", Shown(text="a\nb\n", is_whole=True)),
        ("pi", {"offset": 7, "limit": 2}, "a\nb", Shown(text="a\nb", first=7)),
        (
            "pi",
            {},
            "a\nb\n\n[88 more lines in file. Use offset=3 to continue]",
            Shown(text="a\nb"),
        ),
        (
            "pi",
            {},
            "a\n\n... (11 more lines not shown. Use offset=2 to continue reading)",
            Shown(text="a"),
        ),
        ("gemini", {}, "a", Shown(text="a", is_whole=True)),
        ("gemini", {}, "a" * 9_000, Shown()),
        ("plain", {}, "a", Shown()),
    ],
)
def test_a_file_is_read_back_from_the_way_an_agent_shows_it(
    fmt: str, arguments: dict[str, Any], answer: str, shown: Shown
) -> None:
    (act,) = acts("read", {"path": "f", **arguments}, answer, fmt=fmt)

    assert act.change == shown


def test_a_picture_has_no_text() -> None:
    assert shown_files.read_back("pi", "Read image file [image/png]", "a.txt") is None
    assert shown_files.read_back("pi", "anything", "A.PNG") is None


PATCH = """*** Begin Patch
*** Add File: new.txt
+one
+
+two
*** Update File: old.txt
@@ def f():
 same
-gone
+come
@@
+at the end
*** End of File
*** Delete File: dead.txt
*** Update File: a.txt
*** Move to: b.txt
@@
-x
+y
*** End Patch
"""


def test_a_patch_tells_of_many_files() -> None:
    found = acts("apply_patch", PATCH, fmt="codex")

    assert [(act.deed, act.path) for act in found] == [
        (WRITE, "/w/new.txt"),
        (EDIT, "/w/old.txt"),
        (DELETE, "/w/dead.txt"),
        (RENAME, "/w/a.txt"),
        (RENAME, "/w/b.txt"),
    ]
    assert found[0].change == Written(text="one\n\ntwo\n")
    assert found[0].is_new
    assert found[1].change == Patched(
        patches=(
            Patch(old=("same", "gone"), new=("same", "come"), anchors=("def f():",)),
            Patch(old=(), new=("at the end",), is_at_end=True),
        )
    )
    assert found[3].change == Erased(target="/w/b.txt")
    assert found[4].change == Patched(patches=(Patch(old=("x",), new=("y",)),), source="/w/a.txt")


@pytest.mark.parametrize(
    "text",
    [
        "*** Begin Patch\nhello\n*** End Patch",
        "*** Begin Patch\n*** Add File: f\nno sign\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n@@\n?what\n*** End Patch",
        "*** End Patch *** Begin Patch",
        "*** Begin Patch",
    ],
)
def test_a_patch_that_is_not_wholly_understood_says_nothing(text: str) -> None:
    assert patches.acts(text, "/w") == []


def test_a_patch_may_come_through_a_shell() -> None:
    command = f"cd /x && apply_patch <<'PATCH'\n{PATCH}PATCH"
    (first, *_) = acts("shell", {"command": ["bash", "-lc", command]}, fmt="codex")

    assert first.path == "/x/new.txt"
    assert acts("shell", {"command": ["bash", "-lc", f"echo; {command}"]}, fmt="codex") == []


def test_blocks_to_search_and_replace_may_carry_numbers() -> None:
    diff = (
        "<<<<<<< SEARCH\n:start_line:4\n-------\na\n=======\n>>>>>>> REPLACE\n"
        "words\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE"
    )

    assert patches.swaps(diff) == (
        Swap(old="a\n", new="", reach=Reach.FIRST),
        Swap(old="", new="b\n", reach=Reach.FIRST),
    )
    assert patches.swaps("<<<<<<< SEARCH\n" * 100_000) == ()


def test_what_stands_beside_an_answer_says_more() -> None:
    whole = (
        b'{"toolUseResult": {"type": "text", "file": {"filePath": "f", "content": "a\\nb",'
        b' "numLines": 2, "startLine": 1, "totalLines": 2}}}'
    )
    assert file_tools.beside("claude-code", whole).shown == Shown(text="a\nb", is_whole=True)
    part = whole.replace(b'"startLine": 1', b'"startLine": 5')
    assert file_tools.beside("claude-code", part).shown == Shown(text="a\nb", first=5)
    edit = b'{"toolUseResult": {"originalFile": "old", "userModified": true}}'
    assert file_tools.beside("claude-code", edit) == Beside(before="old", is_changed=True)
    new = b'{"toolUseResult": {"type": "create", "originalFile": null}}'
    assert file_tools.beside("claude-code", new) == Beside(is_new=True)
    assert file_tools.beside("codex", edit) == NOTHING
    for odd in (
        b'{"toolUseResult": 7}',
        b"[]",
        b'"toolUseResult"',
        b'{"toolUseResult": {"file": 1}}',
    ):
        assert file_tools.beside("claude-code", odd) == NOTHING


def test_an_edit_that_a_person_changed_is_not_what_was_asked_for() -> None:
    (act,) = acts(
        "Edit",
        {"file_path": "f", "old_string": "a", "new_string": "b"},
        beside=Beside(before="a", is_changed=True),
    )

    assert act.change == Altered()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
FIELDS = sorted(
    {
        *(*file_tools.PATHS, *file_tools.CONTENTS, *file_tools.OLD, *file_tools.NEW),
        *(*file_tools.LISTS, *file_tools.RANGES, *file_tools.COMMANDS, "diff", "input", "paths"),
        *("insert_line", "source", "destination", "replace_all", "expected_replacements"),
    }
)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(file_tools.NAMES),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6) | JSON,
    st.text(max_size=50),
    st.sampled_from(["claude-code", "codex", "pi", "copilot-cli", "opencode", "gemini", "cline"]),
)
def test_no_arguments_are_too_strange(name: str, arguments: Any, answer: str, fmt: str) -> None:
    for act in acts(name, arguments, answer, fmt=fmt):
        assert act.path


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_beside_an_answer_are_too_strange(raw: bytes) -> None:
    file_tools.beside("claude-code", raw + b'"toolUseResult"')


# Calls and answers brought together --------------------------------------------------------------


def message(*parts: ToolCall | ToolResult) -> Message:
    return Message(role=Role.ASSISTANT, parts=parts)


def call(own: str, path: str = "f") -> ToolCall:
    return ToolCall(name="Write", call_id=own, arguments={"path": path, "content": "x"})


def answer(own: str) -> ToolResult:
    return ToolResult(call_id=own, text="ok", is_error=False)


def test_an_answer_is_found_by_its_id_in_any_order() -> None:
    reader = Reader("pi", "/w")
    assert list(reader.line(0, message(call("1", "a"), call("2", "b")), b"")) == []
    second = list(reader.line(1, message(answer("2")), b""))
    first = list(reader.line(2, message(answer("1")), b""))

    assert [(d.act.path, d.asked, d.answered) for d in second + first] == [
        ("/w/b", 0, 1),
        ("/w/a", 0, 2),
    ]
    assert list(reader.open()) == []


def test_without_ids_the_oldest_call_is_answered_first() -> None:
    reader = Reader("cline", "/w")
    list(reader.line(0, message(call("", "a")), b""))
    list(reader.line(2, message(call("", "b")), b""))
    (deal,) = reader.line(3, message(answer("")), b"")

    assert deal.act.path == "/w/a"
    assert [deal.act.path for deal in reader.open()] == ["/w/b"]


def test_a_line_written_again_is_one_act() -> None:
    reader = Reader("gemini-log", "/w")
    found = [
        deal
        for seq in range(4)
        for deal in reader.line(seq, message(call("1"), *([answer("1")] if seq > 1 else [])), b"")
    ]

    assert [(deal.asked, deal.answered) for deal in found] == [(0, 2)]


def test_calls_without_end_do_not_pile_up() -> None:
    reader = Reader("pi", "/w")
    for seq in range(5_000):
        list(reader.line(seq, message(call(f"{seq}")), b""))

    assert len(list(reader.open())) == 2_000
