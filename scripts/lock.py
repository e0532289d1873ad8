"""Compiles requirements*.txt from pyproject.toml with hashes and without naming a package host."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
OPTIONS = [
    *("--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-emit-find-links", "--quiet"),
]
# The second lock holds the versions of the first.
LOCKS: dict[str, list[str]] = {
    "requirements.txt": [],
    "requirements-dev.txt": ["--extra", "dev", "--constraint", "requirements.txt"],
}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        for target, extra in LOCKS.items():
            wanted = [*OPTIONS, *extra, *sys.argv[1:], "pyproject.toml", "-o", target]
            command = [python, "-m", "uv", "pip", "compile", *wanted]
            subprocess.run(command, cwd=PROJECT, env=environment(), check=True)
    return 0


def environment() -> dict[str, str]:
    # The header of a lock names this command instead of the options of one run.
    return {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"}


if __name__ == "__main__":
    sys.exit(main())
