"""What a call is about, whoever the agent is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import toolcalls
from sessions_app.domain.events import ToolCall
from sessions_app.domain.meanings import (
    Command,
    Delegate,
    Edit,
    Find,
    Meaning,
    Other,
    Patch,
    Plan,
    Replaced,
    State,
    Step,
    View,
    Web,
    Write,
)


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall(name=name, call_id="c", arguments=arguments)


ONE = (Replaced(old="a", new="b"),)
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n-a\n+b\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Bash", {"command": "ls", "description": "look"}, Command(command="ls", note="look")),
        ("exec_command", {"cmd": "ls", "workdir": "/w"}, Command(command="ls", where="/w")),
        ("shell", {"command": ["bash", "-lc", "ls -l"]}, Command(command="ls -l")),
        (
            "shell",
            {"command": ["C:\\x\\powershell.exe", "-NoProfile", "-Command", "dir"]},
            Command(command="dir", language="powershell"),
        ),
        ("shell", {"command": ["git", "log", "two words"]}, Command(command="git log 'two words'")),
        ("run_shell_command", {"command": "ls"}, Command(command="ls")),
        (
            "Edit",
            {"file_path": "/f", "old_string": "a", "new_string": "b"},
            Edit(path="/f", changes=ONE),
        ),
        ("edit", {"path": "/f", "oldText": "a", "newText": "b"}, Edit(path="/f", changes=ONE)),
        (
            "edit",
            {"filePath": "/f", "oldString": "a", "newString": "b"},
            Edit(path="/f", changes=ONE),
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "/f", "old_str": "a", "new_str": "b"},
            Edit(path="/f", changes=ONE),
        ),
        (
            "MultiEdit",
            {"file_path": "/f", "edits": [{"old_string": "a", "new_string": "b"}] * 2},
            Edit(path="/f", changes=ONE * 2),
        ),
        (
            "edit",
            {"path": "/f", "oldText": "a"},
            Edit(path="/f", changes=(Replaced(old="a", new=""),)),
        ),
        ("apply_patch", PATCH, Patch(text=PATCH)),
        ("apply_patch", {"input": PATCH}, Patch(text=PATCH)),
        ("Write", {"file_path": "/f", "content": "x"}, Write(path="/f", content="x")),
        ("create", {"path": "/f", "file_text": "x"}, Write(path="/f", content="x")),
        ("Read", {"file_path": "/f", "offset": 30, "limit": 5}, View(path="/f", first=30)),
        ("view", {"path": "/f", "view_range": [7, 9]}, View(path="/f", first=7)),
        (
            "str_replace_editor",
            {"command": "view", "path": "/f"},
            View(path="/f"),
        ),
        (
            "Grep",
            {"pattern": "x", "path": "src", "-n": True},
            Find(pattern="x", where="src", options=("-n: True",)),
        ),
        ("Glob", {"pattern": "*.py"}, Find(pattern="*.py")),
        ("ls", {"path": "/d"}, Find(pattern="/d")),
        ("WebFetch", {"url": "https://a", "prompt": "p"}, Web(url="https://a", prompt="p")),
        ("web_search", {"query": "q", "queries": ["q", "r"]}, Web(queries=("q", "r"))),
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "one", "status": "completed"},
                    {"content": "two", "status": "in_progress"},
                ]
            },
            Plan(
                steps=(Step(text="one", state=State.DONE), Step(text="two", state=State.UNDER_WAY))
            ),
        ),
        (
            "update_plan",
            {"plan": [{"step": "s", "status": "pending"}], "explanation": "why"},
            Plan(steps=(Step(text="s", state=State.OPEN),), note="why"),
        ),
        (
            "Task",
            {"description": "look", "prompt": "do it", "subagent_type": "general"},
            Delegate(title="look", prompt="do it", agent="general"),
        ),
        ("mcp__files__read_file", {"path": "/f"}, View(path="/f")),
        ("TaskUpdate", {"taskId": "1", "status": "done"}, Other(gist="taskId: 1, status: done")),
        ("anything", None, Other()),
        ("anything", [1, 2], Other()),
        ("anything", "text", Other(gist="text")),
    ],
)
def test_a_call_is_understood(name: str, arguments: object, expected: Meaning) -> None:
    assert toolcalls.meaning(call(name, arguments)) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Bash", {"command": "git status\n  --short"}, "git status --short"),
        ("Read", {"file_path": "/a/b.py"}, "/a/b.py"),
        ("apply_patch", PATCH, "src/a.py"),
        ("apply_patch", f"{PATCH}\n*** Add File: b\n+x", "src/a.py and 1 more"),
        ("Grep", {"pattern": "x", "path": "src"}, "x in src"),
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "one", "status": "completed"},
                    {"content": "two", "status": "in_progress"},
                ]
            },
            "1 of 2 done, now: two",
        ),
        ("mcp__linear__get", {"id": "MCP-1"}, "id: MCP-1"),
        ("write_stdin", {"session_id": 7, "chars": "yes\n", "yield_time_ms": 9}, "yes"),
        ("write_stdin", {"session_id": 7, "chars": ""}, "session_id: 7"),
        ("odd", {"deep": {"a": 1}}, ""),
    ],
)
def test_the_most_telling_argument_is_one_line(name: str, arguments: object, expected: str) -> None:
    made = call(name, arguments)
    assert toolcalls.gist(made, toolcalls.meaning(made)) == expected


def test_a_gist_is_short_however_long_the_argument() -> None:
    made = call("Bash", {"command": "x" * 10_000_000})
    assert len(toolcalls.gist(made, toolcalls.meaning(made))) <= toolcalls.LONGEST_GIST


def test_a_tool_from_outside_has_a_server() -> None:
    assert toolcalls.outside("mcp__linear-server__get_issue") == ("linear-server", "get_issue")
    assert toolcalls.outside("Bash") == ("", "Bash")


keys = st.sampled_from(
    [
        "command",
        "cmd",
        "path",
        "edits",
        "todos",
        "plan",
        "content",
        "old_str",
        "view_range",
        "queries",
    ]
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
names = st.sampled_from(
    ["Bash", "read", "grep", "task", "web_search", "apply_patch", "write", "x", ""]
)


@given(names, json)
def test_no_arguments_raise(name: str, arguments: object) -> None:
    made = call(name, arguments)
    toolcalls.gist(made, toolcalls.meaning(made))
