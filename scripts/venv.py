"""Makes .venv match a lock file: built once, repaired when broken, left alone otherwise."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "recount-locks"
OPTIONS = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes"]
# The second lock holds everything of the first.
INCLUDES = {"requirements-dev.txt": ["requirements.txt"]}


def main() -> int:
    lock = PROJECT / sys.argv[1]
    # Two makes at once take turns; the folder itself is the lock file.
    turn = os.open(PROJECT, os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    if installed(lock):
        return 0
    if not works():
        build()
    return install(lock)


def installed(lock: Path) -> bool:
    stamp = STAMPS / lock.name
    return stamp.exists() and PYTHON.exists() and stamp.read_text() == fingerprint(lock)


def fingerprint(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def works() -> bool:
    """An interrupted first run leaves a folder without a Python, or a Python without pip."""
    if not PYTHON.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", check], capture_output=True).returncode == 0


def build() -> None:
    print(f"Building .venv with Python {sys.version.split()[0]} ...", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)


def install(lock: Path) -> int:
    # No stamp while packages change: whatever interrupts this, the next run does it again.
    shutil.rmtree(STAMPS, ignore_errors=True)
    print(f"Installing {lock.name} (the first time takes a minute) ...", flush=True)
    done = subprocess.run(
        [PYTHON, "-m", "pip", "install", *OPTIONS, "--requirement", lock],
        cwd=PROJECT,
        env=environment(),
    )
    if done.returncode:
        print("\nThe packages could not be installed; the reason stands above.", file=sys.stderr)
        return 1
    STAMPS.mkdir()
    for name in [lock.name, *INCLUDES.get(lock.name, [])]:
        (STAMPS / name).write_text(fingerprint(PROJECT / name))
    return 0


def environment() -> dict[str, str]:
    """Personal settings that would send the packages elsewhere do not apply to a venv of ours."""
    unwanted = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PYTHONHOME", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PIP_USER": "0"}


if __name__ == "__main__":
    sys.exit(main())
