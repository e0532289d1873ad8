"""The folders in which agents of this machine keep their logs."""

from pathlib import Path

from sessions_app.ingest.roots import Root, claude_settings, known_roots

USUAL = {
    ".claude/projects": "Claude Code",
    ".codex/sessions": "Codex",
    ".codex/archived_sessions": "Codex",
    ".pi/agent/sessions": "pi",
    ".openclaw/agents": "OpenClaw",
    ".copilot/session-state": "Copilot CLI",
    ".gemini/tmp": "Gemini CLI",
    ".local/share/opencode": "OpenCode",
    ".local/share/goose/sessions": "Goose",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks": "Cline",
    ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks": "Roo Code",
}


def test_a_machine_without_agents_has_no_roots(tmp_path: Path) -> None:
    assert known_roots({}, tmp_path) == []


def test_every_usual_folder_is_found_with_its_agent(tmp_path: Path) -> None:
    for name in USUAL:
        (tmp_path / name).mkdir(parents=True)
    found = {root.path: root.agent for root in known_roots({}, tmp_path)}
    assert found == {str(tmp_path / name): agent for name, agent in USUAL.items()}


def test_variables_move_the_roots(tmp_path: Path) -> None:
    moved = {
        "CLAUDE_CONFIG_DIR": ("c", "projects"),
        "CODEX_HOME": ("x", "sessions"),
        "PI_CODING_AGENT_DIR": ("p", "sessions"),
        "XDG_DATA_HOME": ("d", "opencode"),
    }
    for folder, below in moved.values():
        (tmp_path / folder / below).mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "projects").mkdir(parents=True)
    environ = {name: str(tmp_path / folder) for name, (folder, _) in moved.items()}
    found = [root.path for root in known_roots(environ, tmp_path / "home")]
    assert found == [str(tmp_path / folder / below) for folder, below in moved.values()]
    assert claude_settings(environ, tmp_path) == tmp_path / "c" / "settings.json"


def test_a_file_in_place_of_a_folder_is_no_root(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "projects").write_text("")
    environ = {"CODEX_HOME": "relative", "PI_CODING_AGENT_DIR": "/nul\0byte"}
    assert known_roots(environ, tmp_path) == []


def test_a_folder_named_twice_is_listed_once(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path / ".codex")}
    assert known_roots(environ, tmp_path) == [Root(path=str(folder), agent="Codex")]
