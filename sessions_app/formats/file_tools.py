"""Tools that touch files, of all agents: a call and its answer → acts on files.

No format of its own: agents share tools, or at least their shapes. A call that is not wholly
understood gives no act, or one that says only that the file changed.
Evidence: docs/formats/file_tools.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sessions_app.domain import shell
from sessions_app.domain.events import ToolCall, ToolResult
from sessions_app.domain.files import (
    Act,
    Altered,
    Deed,
    Erased,
    Inserted,
    Outcome,
    Patched,
    Reach,
    Replaced,
    Shown,
    Swap,
    Written,
    placed,
)
from sessions_app.formats import json_lines, patches, shown_files

Fields = dict[str, Any]

MOST_SWAPS = 500
PATHS = (
    *("file_path", "filePath", "path", "target_file", "notebook_path", "absolute_path"),
    *("filename", "file", "filepath", "relative_path", "uri"),
)
CONTENTS = ("content", "file_text", "contents", "fileText", "text")
OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
NEW = ("new_string", "newString", "new_str", "newText", "new_text", "replace", "replacement")
EVERY = ("replace_all", "replaceAll", "allow_multiple")
LISTS = ("edits", "replacements")
# Any of these says that only a stretch of the file was read.
RANGES = (
    *("offset", "limit", "view_range", "viewRange", "start_line", "end_line", "startLine"),
    *("endLine", "head", "tail", "pages", "line_range", "start", "end"),
)
STARTS = ("offset", "start_line", "startLine", "start")
COMMANDS = ("command", "cmd", "script")
FOLDERS = ("workdir", "cwd", "working_directory", "dir_path", "directory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a record says of a file beside the answer the model was given."""

    before: str | None = None
    is_new: bool = False
    shown: Shown | None = None
    # A person changed what the tool was told to do.
    is_changed: bool = False


NOTHING = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    fmt: str
    arguments: object
    result: ToolResult | None
    beside: Beside
    cwd: str

    @property
    def fields(self) -> Fields:
        return self.arguments if isinstance(self.arguments, dict) else {}

    @property
    def path(self) -> str:
        found = first_text(self.fields, PATHS)
        return placed(found, self.cwd) if found else ""


def acts(
    fmt: str, call: ToolCall, result: ToolResult | None, beside: Beside, cwd: str
) -> list[Act]:
    """Paths are told as one would write them in `cwd`. Never raises."""
    reader = TOOLS.get(plain_name(call.name))
    if reader is None:
        return []
    asked = _Asked(fmt=fmt, arguments=call.arguments, result=result, beside=beside, cwd=cwd)
    outcome = _outcome(fmt, result)
    return [replace(act, outcome=outcome) for act in reader(asked) if act.path]


def plain_name(name: str) -> str:
    """A tool of the well-known server for files has the same name behind the server's."""
    return name.casefold().removeprefix("mcp__filesystem__").removeprefix("developer__")


def first_text(fields: Fields, names: tuple[str, ...]) -> str:
    found = _first(fields, names)
    return found if isinstance(found, str) else ""


def _first(fields: Fields, names: tuple[str, ...]) -> object:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


# How it ended ------------------------------------------------------------------------------------

REFUSALS = ("error", "<tool_use_error>", "the user denied", "the tool execution failed")


def _outcome(fmt: str, result: ToolResult | None) -> Outcome:
    if result is None:
        return Outcome.OPEN
    said = result.text[:4000]
    if result.is_error or said.lstrip().casefold().startswith(REFUSALS):
        return Outcome.FAILED
    if fmt.startswith("cline"):
        # An answer is told in words alone.
        told = said.partition("Result:")[2].strip().casefold()
        return Outcome.FAILED if told.startswith(REFUSALS) else Outcome.DONE
    return Outcome.DONE


# Reading -----------------------------------------------------------------------------------------


def _read(asked: _Asked) -> list[Act]:
    shown = asked.beside.shown or _told(asked)
    return [Act(deed=Deed.READ, path=asked.path, change=shown)]


def _looked(asked: _Asked) -> list[Act]:
    """A picture, or a file whose text does not stand in the answer as it is."""
    return [Act(deed=Deed.READ, path=asked.path, change=Shown())]


def _read_many(asked: _Asked) -> list[Act]:
    names = _first(asked.fields, ("paths", "files", "include"))
    names = names[:MOST_SWAPS] if isinstance(names, list) else []
    found = [first_text(name, PATHS) if isinstance(name, dict) else name for name in names]
    return [
        Act(deed=Deed.READ, path=placed(name, asked.cwd), change=Shown())
        for name in found
        if isinstance(name, str) and name and not shell.PATTERN.search(name)
    ]


def _told(asked: _Asked) -> Shown:
    """The text of the file, where the way this agent shows it is known."""
    text = asked.result.text if asked.result else ""
    found = shown_files.read_back(asked.fmt, text, asked.path) if text else None
    if found is None:
        return Shown()
    is_stretch = _first(asked.fields, RANGES) is not None
    start = _first(asked.fields, STARTS)
    first = start if found.first == 1 and type(start) is int and start > 0 else found.first
    return replace(found, first=first, is_whole=found.is_whole and not is_stretch)


# Changing ----------------------------------------------------------------------------------------


def _write(asked: _Asked) -> list[Act]:
    text = _first(asked.fields, CONTENTS)
    if not isinstance(text, str):
        return _altered(asked)
    return [_changed(asked, Deed.WRITE, Written(text=text))]


def _changed(asked: _Asked, deed: Deed, change: Written | Replaced | Patched | Inserted) -> Act:
    beside = asked.beside
    return Act(
        deed=deed,
        path=asked.path,
        change=Altered() if beside.is_changed else change,
        before=beside.before,
        is_new=beside.is_new,
    )


def _altered(asked: _Asked) -> list[Act]:
    return [Act(deed=Deed.EDIT, path=asked.path, change=Altered(), before=asked.beside.before)]


def _edit(asked: _Asked) -> list[Act]:
    told = next((asked.fields[name] for name in LISTS if name in asked.fields), None)
    listed = told[:MOST_SWAPS] if isinstance(told, list) else [asked.fields]
    each = [fields for fields in listed if isinstance(fields, dict)]
    if any(first_text(fields, PATHS) for fields in each) and not first_text(asked.fields, PATHS):
        return [act for fields in each for act in _edit(replace(asked, arguments=fields))]
    swaps = [swap for fields in each if (swap := _swap(fields))]
    if not swaps or len(swaps) < len(listed) or asked.fields.get("dryRun") is True:
        return [] if asked.fields.get("dryRun") is True else _altered(asked)
    return [_changed(asked, Deed.EDIT, Replaced(swaps=tuple(swaps)))]


def _swap(fields: Fields) -> Swap | None:
    old, new = _first(fields, OLD), _first(fields, NEW)
    if not isinstance(old, str) or not isinstance(new, str) or fields.get("use_regex") is True:
        return None
    times = fields.get("expected_replacements")
    is_every = any(fields.get(name) is True for name in EVERY) or (type(times) is int and times > 1)
    return Swap(old=old, new=new, reach=Reach.EVERY if is_every else Reach.ONLY)


def _blocks(asked: _Asked) -> list[Act]:
    """Blocks to search and replace. The tools that take them may look less closely than this."""
    diff = _first(asked.fields, ("diff", "content"))
    found = patches.swaps(diff) if isinstance(diff, str) else ()
    if not found:
        return _altered(asked)
    return [_changed(asked, Deed.EDIT, Replaced(swaps=found))]


def _insert(asked: _Asked) -> list[Act]:
    text = _first(asked.fields, ("insert_text", "new_str", "content", "text"))
    line = _first(asked.fields, ("insert_line", "line", "after_line"))
    if not isinstance(text, str) or type(line) is not int or "content" in asked.fields:
        # Counted from 0 or from 1: only some tools are known.
        return _altered(asked)
    return [_changed(asked, Deed.EDIT, Inserted(text=text, after=line))]


def _patch(asked: _Asked) -> list[Act]:
    told = asked.arguments
    if isinstance(told, dict):
        told = _first(told, ("input", "patch", "patchText", "patch_text", "diff"))
    return patches.acts(told, asked.cwd) if isinstance(told, str) else []


def _delete(asked: _Asked) -> list[Act]:
    return [Act(deed=Deed.DELETE, path=asked.path, change=Erased())]


def _move(asked: _Asked) -> list[Act]:
    names = [
        first_text(asked.fields, ("source", "source_path", "old_path", "from")),
        first_text(asked.fields, ("destination", "destination_path", "new_path", "to")),
    ]
    if not all(names):
        return []
    source, target = (placed(name, asked.cwd) for name in names)
    return [
        Act(deed=Deed.RENAME, path=source, change=Erased(target=target)),
        Act(deed=Deed.RENAME, path=target, change=Patched(patches=(), source=source)),
    ]


def _editor(asked: _Asked) -> list[Act]:
    """One tool for all: the command says what it does."""
    reader = EDITOR.get(json_lines.word(asked.fields.get("command")))
    return reader(asked) if reader else []


EDITOR: dict[str, Callable[[_Asked], list[Act]]] = {
    "view": _looked,
    "create": _write,
    "write": _write,
    "str_replace": _edit,
    "insert": _insert,
    "undo_edit": _altered,
}


def _shell(asked: _Asked) -> list[Act]:
    command = _first(asked.fields, COMMANDS)
    if isinstance(command, list):
        # A shell and what it is told, or a command in words.
        words = [word for word in command if isinstance(word, str)]
        command = words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else ""
    if not isinstance(command, str) or len(command) > shell.LONGEST_HEREDOC:
        return []
    folder = first_text(asked.fields, FOLDERS)
    cwd = placed(folder, asked.cwd) if folder else asked.cwd
    if patches.BEGIN in command:
        return patches.in_shell(command, cwd)
    return shell.acts(command, cwd)


TOOLS: dict[str, Callable[[_Asked], list[Act]]] = {
    **dict.fromkeys(("read", "read_file", "readfile", "read_text_file", "view"), _read),
    **dict.fromkeys(
        ("view_image", "read_media_file", "notebookread", "readnotebook", "open_file"), _looked
    ),
    **dict.fromkeys(("read_many_files", "read_multiple_files", "read_files"), _read_many),
    **dict.fromkeys(
        ("write", "write_file", "create", "create_file", "write_to_file", "newfilecreated"), _write
    ),
    **dict.fromkeys(
        (
            *("edit", "multiedit", "multi_edit", "edit_file", "replace", "search_replace"),
            *("replace_string_in_file", "multi_replace_string_in_file", "search_and_replace"),
            "str_replace",
        ),
        _edit,
    ),
    **dict.fromkeys(("replace_in_file", "apply_diff"), _blocks),
    **dict.fromkeys(("insert", "insert_content", "insert_text"), _insert),
    **dict.fromkeys(
        (
            *("notebookedit", "edit_notebook", "edit_notebook_file", "insert_edit_into_file"),
            *("editedexistingfile", "undo_edit"),
        ),
        _altered,
    ),
    **dict.fromkeys(("apply_patch", "patch", "applypatch"), _patch),
    **dict.fromkeys(("delete_file", "remove_file", "deletefile", "delete"), _delete),
    **dict.fromkeys(("move_file", "rename_file", "movefile"), _move),
    **dict.fromkeys(
        (
            *("str_replace_editor", "str_replace_based_edit_tool", "text_editor"),
            "text_editor_20250124",
        ),
        _editor,
    ),
    **dict.fromkeys(
        (
            *("bash", "shell", "exec_command", "local_shell", "run_shell_command", "shell_exec"),
            *("execute_command", "run_terminal", "run_terminal_cmd", "run_command"),
            *("run_in_terminal", "execute_bash", "shell_command"),
        ),
        _shell,
    ),
}
# As they stand in a log; the same tool of a server for files included.
NAMES = tuple(
    sorted(
        {
            *TOOLS,
            *(
                f"{server}{name}"
                for server in ("mcp__filesystem__", "developer__")
                for name in TOOLS
            ),
        }
    )
)


# Beside the answer -------------------------------------------------------------------------------


def beside(fmt: str, raw: bytes) -> Beside:
    """Of a record that answers a call. Never raises."""
    if fmt != "claude-code" or b'"toolUseResult"' not in raw:
        return NOTHING
    record = json_lines.parse(raw)
    told = record.get("toolUseResult") if isinstance(record, dict) else None
    if not isinstance(told, dict):
        return NOTHING
    file = told.get("file")
    if isinstance(file, dict):
        return Beside(shown=_file(file))
    before = _first(told, ("originalFile", "originalFileContents", "original_file"))
    return Beside(
        before=before if isinstance(before, str) else None,
        is_new=told.get("type") == "create" and before is None,
        is_changed=told.get("userModified") is True,
    )


def _file(file: Fields) -> Shown | None:
    text, first = file.get("content"), file.get("startLine", 1)
    if not isinstance(text, str) or type(first) is not int or first < 1:
        return None
    shown, whole = file.get("numLines"), file.get("totalLines")
    is_whole = type(shown) is int and type(whole) is int and first == 1 and shown >= whole
    return Shown(text=text, first=first, is_whole=is_whole)
