"""What a tool call is about, by its name and the shape of its arguments, whoever the agent is.

Agents name their tools and arguments each in their own way, and a person reading cares about none
of it: a command, an edit, a file that was read. What fits nothing here stays what it is.
"""

from collections.abc import Callable, Mapping

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
from sessions_app.domain.patches import is_patch

MOST_ITEMS = 100
LONGEST_GIST = 160

Fields = Mapping[str, object]


PATHS = (
    *("file_path", "path", "filePath", "filename", "notebook_path", "absolute_path"),
    *("target_file", "file", "dir_path"),
)
# How a text and what replaces it are called.
REPLACED = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText")),
    *(("oldString", "newString"), ("old_text", "new_text"), ("old", "new")),
    *(("search", "replace"), ("old_source", "new_source")),
)
CONTENT = ("content", "file_text", "contents", "new_source", "text")
COMMANDS = ("command", "cmd", "script", "commandLine")
PATTERNS = ("pattern", "query", "regex", "glob", "glob_pattern", "search_term", "globPattern")
PATCHES = ("patch", "patchText", "input", "diff", "content")
TELLING = (
    *("description", "subject", "title", "question", "query", "pattern", "url", "skill", "prompt"),
    *("message", "text", "reason", "chars"),
)
SHELLS = {"powershell": "powershell", "pwsh": "powershell", "cmd": "batch"}
ASKED_SHELLS = ("bash", "sh", "zsh", "dash", "fish", *SHELLS)
STATES = {
    **dict.fromkeys(("completed", "done", "complete", "finished"), State.DONE),
    **dict.fromkeys(("in_progress", "doing", "active", "running", "inprogress"), State.UNDER_WAY),
    **dict.fromkeys(("cancelled", "canceled", "dropped", "blocked"), State.DROPPED),
}

READ_NAMES = {
    *("read", "view", "read_file", "readfile", "cat", "open_file", "view_file", "read_many_files"),
    *("notebookread", "view_image", "fs_read", "get_file", "read_text_file", "openfile"),
}
FIND_NAMES = {
    *("grep", "glob", "search", "find", "ls", "list", "rg", "ripgrep", "search_files", "list_dir"),
    *("list_files", "list_directory", "file_search", "grep_search", "codebase_search", "find_path"),
    *("search_file_content", "glob_search", "list_code_definition_names", "find_files"),
}
WEB_NAMES = {
    *("webfetch", "web_fetch", "fetch", "websearch", "web_search", "google_web_search", "browse"),
    *("open_page", "brave_web_search", "read_url", "http_get", "google_search", "fetch_url"),
}
DELEGATE_NAMES = {
    *("task", "agent", "spawn_agent", "delegate", "subagent", "new_task", "dispatch_agent"),
    *("delegate_task", "create_subagent", "runsubagent"),
}


def meaning(call: ToolCall) -> Meaning:
    arguments = call.arguments
    name = plain_name(call.name).casefold()
    if isinstance(arguments, str):
        return _of_text(name, arguments)
    if not isinstance(arguments, Mapping):
        return Other()
    found = (read(name, arguments) for read in READERS)
    return next((each for each in found if each is not None), Other(gist=_telling(arguments)))


def outside(name: str) -> tuple[str, str]:
    """Server and tool, for a tool that comes from outside the agent; else no server."""
    if name.startswith("mcp__"):
        server, _, tool = name[5:].partition("__")
        return server, tool
    return "", name


def plain_name(name: str) -> str:
    return outside(name)[1].rpartition(".")[2] or name


def gist(call: ToolCall, told: Meaning) -> str:
    """The one thing about a call that says most, on a line."""
    return one_line(told.gist, LONGEST_GIST) or one_line(_first_text(call.arguments), 80)


def one_line(text: str, most: int) -> str:
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _telling(fields: Fields) -> str:
    one = next((text for key in TELLING if (text := _text(fields, key))), "")
    return one or ", ".join(_pairs(fields, frozenset())[:3])


def _pairs(fields: Fields, told: frozenset[str]) -> list[str]:
    return [
        f"{key[:40]}: {str(value)[:80]}"
        for key, value in list(fields.items())[:MOST_ITEMS]
        if key not in told and isinstance(value, str | int | float) and value != ""
    ]


def _first_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    values = arguments.values() if isinstance(arguments, Mapping) else ()
    return next((value for value in values if isinstance(value, str) and value), "")


# Shapes, the more particular first ---------------------------------------------------------------


def _of_text(name: str, text: str) -> Meaning:
    if is_patch(text) or name == "apply_patch":
        return Patch(text=text)
    if name in SHELL_NAMES:
        return Command(command=text)
    return Other(gist=text)


def _text(fields: Fields, *names: str) -> str:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def _whole(fields: Fields, *names: str) -> int:
    found = (fields.get(name) for name in names)
    return next((n for n in found if type(n) is int and 0 < n < 10**9), 1)


def _replaced(fields: Fields) -> Replaced | None:
    for old, new in REPLACED:
        before, after = fields.get(old), fields.get(new, "")
        if isinstance(before, str) and isinstance(after, str) and (old in fields):
            return Replaced(old=before, new=after)
    return None


def _edit(_name: str, fields: Fields) -> Meaning | None:
    path = _text(fields, *PATHS)
    several = fields.get("edits") or fields.get("replacements")
    if isinstance(several, list):
        found = [_replaced(each) for each in several[:MOST_ITEMS] if isinstance(each, Mapping)]
        changes = tuple(each for each in found if each is not None)
        if changes:
            return Edit(path=path or _text(_mapping(several[0]), *PATHS), changes=changes)
    one = _replaced(fields) if path else None
    return Edit(path=path, changes=(one,)) if one else None


def _mapping(value: object) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _patch(name: str, fields: Fields) -> Meaning | None:
    text = _text(fields, *PATCHES)
    if text and (is_patch(text) or name in ("apply_patch", "apply_diff")):
        return Patch(text=text, path=_text(fields, *PATHS))
    return None


def _write(name: str, fields: Fields) -> Meaning | None:
    path = _text(fields, *PATHS)
    content = next((fields[key] for key in CONTENT if isinstance(fields.get(key), str)), None)
    if not path or not isinstance(content, str) or name in READ_NAMES | FIND_NAMES:
        return None
    return Write(path=path, content=content)


def _command(name: str, fields: Fields) -> Meaning | None:
    if _text(fields, *PATHS) and name not in SHELL_NAMES:
        # Some editors call what they do a command, too.
        return _view(name, fields) if fields.get("command") == "view" else None
    for key in COMMANDS:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return _run(value, fields, "bash")
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _of_words(value, fields)
    return None


def _run(command: str, fields: Fields, language: str) -> Command:
    return Command(
        command=command,
        where=_text(fields, "workdir", "cwd", "directory", "dir", "dir_path"),
        note=_text(fields, "description", "justification", "explanation"),
        language=language,
    )


def _of_words(words: list[str], fields: Fields) -> Command:
    """`bash -lc "…"` is about what the shell is asked, not about the shell."""
    program = words[0].replace("\\", "/").rpartition("/")[2].casefold().removesuffix(".exe")
    if program in ASKED_SHELLS and len(words) > 2:
        return _run(words[-1], fields, SHELLS.get(program, "bash"))
    quoted = (
        word if word and not set(word) & set(" \t\n\"'$`\\") else repr(word) for word in words
    )
    return _run(" ".join(quoted), fields, "bash")


def _plan(_name: str, fields: Fields) -> Meaning | None:
    for key in ("todos", "plan", "todo_list", "items", "tasks"):
        items = fields.get(key)
        if not isinstance(items, list) or not items:
            continue
        steps = [_step(item) for item in items[:MOST_ITEMS]]
        if all(step is not None for step in steps):
            kept = tuple(step for step in steps if step is not None)
            return Plan(steps=kept, note=_text(fields, "explanation"))
    return None


def _step(item: object) -> Step | None:
    fields = _mapping(item)
    text = _text(fields, "content", "step", "title", "text", "description", "subject")
    state = fields.get("status", fields.get("state"))
    if not text or not isinstance(state, str):
        return None
    return Step(text=text, state=STATES.get(state.casefold(), State.OPEN))


def _view(name: str, fields: Fields) -> Meaning | None:
    path = _text(fields, *PATHS)
    if not path or (name not in READ_NAMES and fields.get("command") != "view"):
        return None
    lines = fields.get("view_range")
    if isinstance(lines, list) and lines and type(lines[0]) is int:
        return View(path=path, first=max(lines[0], 1))
    return View(path=path, first=_whole(fields, "offset", "start_line", "startLine", "line_start"))


def _find(name: str, fields: Fields) -> Meaning | None:
    if name not in FIND_NAMES:
        return None
    pattern, where = _text(fields, *PATTERNS), _text(fields, *PATHS, "include", "directory")
    options = tuple(_pairs(fields, frozenset({*PATTERNS, *PATHS})))
    return Find(pattern=pattern or where, where=where if pattern else "", options=options)


def _web(name: str, fields: Fields) -> Meaning | None:
    if name not in WEB_NAMES:
        return None
    queries = fields.get("queries")
    several = (
        [text for text in queries if isinstance(text, str)] if isinstance(queries, list) else []
    )
    one = _text(fields, "query", "q", "search_query")
    asked = tuple(dict.fromkeys([*([one] if one else []), *several]))[:MOST_ITEMS]
    return Web(queries=asked, url=_text(fields, "url", "uri"), prompt=_text(fields, "prompt"))


def _delegate(name: str, fields: Fields) -> Meaning | None:
    prompt = _text(fields, "prompt", "task", "instructions", "message")
    if name not in DELEGATE_NAMES or not prompt:
        return None
    return Delegate(
        title=_text(fields, "description", "title", "name"),
        prompt=prompt,
        agent=_text(fields, "subagent_type", "agent_type", "agent", "agentType"),
    )


SHELL_NAMES = {
    *("bash", "shell", "exec_command", "run_shell_command", "local_shell", "run_terminal", "exec"),
    *("shell_exec", "execute_command", "run_terminal_cmd", "terminal", "run_command", "powershell"),
    *("sh", "zsh", "run", "command", "execute_bash", "bash_tool", "run_in_terminal"),
}
READERS: tuple[Callable[[str, Fields], Meaning | None], ...] = (
    *(_edit, _patch, _plan, _command, _delegate, _view, _find, _web, _write),
)
