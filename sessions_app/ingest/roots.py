"""Where agents of this machine keep their logs: the folders that are there, by their own rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Editors that hold the folders of extensions, below the folder of a person's settings.
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server")
_EXTENSIONS = (("saoudrizwan.claude-dev", "Cline"), ("rooveterinaryinc.roo-cline", "Roo Code"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    path: str
    agent: str


def known_roots(environ: Mapping[str, str], home: Path) -> list[Root]:
    """Folders that exist, each once, in the order of the table."""
    found: dict[str, Root] = {}
    for path, agent in _candidates(environ, home):
        if path.is_absolute() and _is_folder(path):
            found.setdefault(str(path), Root(path=str(path), agent=agent))
    return list(found.values())


def claude_settings(environ: Mapping[str, str], home: Path) -> Path:
    """The file in which Claude Code is told how long it keeps its transcripts."""
    return _moved(environ, "CLAUDE_CONFIG_DIR", home / ".claude") / "settings.json"


def managed_settings() -> list[Path]:
    """Where an organisation says it for all accounts of a machine."""
    return [
        Path("/etc/claude-code/managed-settings.json"),
        Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ]


def _candidates(environ: Mapping[str, str], home: Path) -> Iterator[tuple[Path, str]]:
    yield claude_settings(environ, home).parent / "projects", "Claude Code"
    codex = _moved(environ, "CODEX_HOME", home / ".codex")
    yield codex / "sessions", "Codex"
    yield codex / "archived_sessions", "Codex"
    pi = _moved(environ, "PI_CODING_AGENT_DIR", home / ".pi" / "agent")
    yield pi / "sessions", "pi"
    yield home / ".openclaw" / "agents", "OpenClaw"
    yield home / ".copilot" / "session-state", "Copilot CLI"
    yield home / ".gemini" / "tmp", "Gemini CLI"
    data = _moved(environ, "XDG_DATA_HOME", home / ".local" / "share")
    yield data / "opencode", "OpenCode"
    yield data / "goose" / "sessions", "Goose"
    for storage in _storages(environ, home):
        for folder, agent in _EXTENSIONS:
            yield storage / folder / "tasks", agent


def _storages(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    settings = _moved(environ, "XDG_CONFIG_HOME", home / ".config")
    for base in (settings, home / "Library" / "Application Support"):
        for editor in _EDITORS:
            yield base / editor / "User" / "globalStorage"
    for server in _SERVERS:
        yield home / server / "data" / "User" / "globalStorage"


def _moved(environ: Mapping[str, str], name: str, usual: Path) -> Path:
    return Path(environ[name]) if environ.get(name) else usual


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
