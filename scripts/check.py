"""Runs every check of the house and names the ones that failed; `--fix` formats instead."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
DJADE = str(Path(sys.executable).with_name("djade"))
# Without a database at hand, makemigrations warns that it cannot compare with one.
QUIET = ("-W", "ignore::RuntimeWarning")
# The deploy check has to pass for a server that people would really run.
PRODUCTION = {
    "RECOUNT_PRODUCTION": "1",
    "RECOUNT_BASE_URL": "https://recount.example.org",
    "RECOUNT_SECRET_KEY": "only-for-the-deploy-check-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "RECOUNT_ROOT_KEY": "b25seS1mb3ItdGhlLWRlcGxveS1jaGVjay0zMmJ5dGU=",
    "DATABASE_URL": "postgresql://recount:check@localhost/recount",
    "CELERY_BROKER_URL": "redis://localhost/0",
}


def templates() -> list[str]:
    return sorted(str(path.relative_to(PROJECT)) for path in PROJECT.glob("templates/**/*.html"))


def checks() -> dict[str, Sequence[str]]:
    imports = "from importlinter.cli import lint_imports_command as lint; lint()"
    return {
        "types": [PYTHON, "-m", "mypy", "."],
        "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
        "lint": [PYTHON, "-m", "ruff", "check", "."],
        "imports": [PYTHON, "-c", imports],
        "template format": [DJADE, "--check", *templates()],
        "template rules": [PYTHON, "scripts/lint_templates.py"],
        "migrations": [PYTHON, *QUIET, "manage.py", "makemigrations", "--check", "--dry-run"],
        "deploy": [PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
    }


def fixes() -> dict[str, Sequence[str]]:
    return {
        "lint": [PYTHON, "-m", "ruff", "check", "--fix", "--quiet", "."],
        "format": [PYTHON, "-m", "ruff", "format", "."],
        "templates": [DJADE, *templates()],
    }


def main() -> int:
    fixing = "--fix" in sys.argv[1:]
    failed = []
    # Formatters follow one another; checks only read, and the slowest takes as long as all others.
    with ThreadPoolExecutor(1 if fixing else 2) as pool:
        for name, done in pool.map(run, (fixes() if fixing else checks()).items()):
            print(f"--- {name}\n{done.stdout}", end="", flush=True)
            if done.returncode:
                failed.append(name)
    # Formatters say by their exit code that they changed something.
    if failed and not fixing:
        print(f"\nFailed: {', '.join(failed)}. `make fmt` repairs what a tool can.")
        return 1
    return 0


def run(step: tuple[str, Sequence[str]]) -> "tuple[str, subprocess.CompletedProcess[str]]":
    name, command = step
    done = subprocess.run(
        command,
        cwd=PROJECT,
        env=environment(name),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return name, done


def environment(name: str) -> Mapping[str, str]:
    return {**os.environ, **(PRODUCTION if name == "deploy" else {})}


if __name__ == "__main__":
    sys.exit(main())
