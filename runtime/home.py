"""The home folder: where everything lives that must survive a restart."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import Trouble

PROJECT = Path(__file__).resolve().parent.parent
FOLDERS = ("keys", "secrets", "broker", "run", "log", "static", "staging")


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Names every path below the home once."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def password_file(self) -> Path:
        return self.root / "secrets" / "postgres.password"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def postgres_id(self) -> Path:
        """Holds the name of the folder outside the home when the database had to live there."""
        return self.root / "postgres.id"

    @property
    def postgres_state(self) -> Path:
        return self.run / "postgres.json"


def locate(environment: Mapping[str, str] = os.environ) -> Home:
    """Find the home that this environment speaks of."""
    named = environment.get("RECOUNT_HOME", "").strip()
    root = Path(named).expanduser() if named else PROJECT / "var"
    return Home(root=root.resolve())


def prepare(home: Home) -> None:
    """Create what is missing; a folder that exists keeps its owner and mode."""
    try:
        home.root.parent.mkdir(parents=True, exist_ok=True)
        # As root the database runs under another account, which has to pass through the home.
        create_folder(home.root, 0o711 if os.geteuid() == 0 else 0o700)
        for name in FOLDERS:
            create_folder(home.root / name, 0o700)
    except OSError as error:
        raise Trouble(
            f"The home folder {home.root} cannot be used: {error.strerror}.\n"
            "Set RECOUNT_HOME to a folder that you may write to."
        ) from error
    if not os.access(home.run, os.R_OK | os.W_OK | os.X_OK):
        raise Trouble(
            f"The home folder {home.root} belongs to another account "
            f"(uid {home.run.stat().st_uid}).\n"
            "Run this command under that account, or set RECOUNT_HOME to a folder of your own."
        )


def create_folder(path: Path, mode: int) -> bool:
    """Create one folder with exactly this mode whatever the umask is; say whether it was new."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        if not path.is_dir():
            raise
        return False
    path.chmod(mode)
    return True


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner only, on disk before it is visible."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def read_text(path: Path) -> str | None:
    """Return the file's text without outer blanks, or None when there is nothing to read."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
