"""From nothing to a .venv that matches its lock: which Python, what is repaired, what is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.house import PROJECT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without any package in its locks, in a path with spaces."""
    folder = tmp_path / "my project"
    folder.mkdir()
    shutil.copy(PROJECT / "Makefile", folder)
    shutil.copytree(PROJECT / "scripts", folder / "scripts")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (folder / name).write_text("# nothing\n")
    return folder


def make(project: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    # Without what an outer make tells its children: it would announce the folders it enters.
    kept = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    environment = {**kept, "RECOUNT_PYTHON": sys.executable, **more}
    return subprocess.run(
        ["make", *arguments], cwd=project, env=environment, capture_output=True, text=True
    )


def test_the_venv_is_built_once_and_installs_again_only_for_a_new_lock(project: Path) -> None:
    first = make(project, "venv-dev")
    assert first.returncode == 0, first.stderr
    assert "Building .venv" in first.stdout
    assert "Installing requirements-dev.txt" in first.stdout
    # The larger lock holds the smaller one: nothing is left to do for it.
    assert make(project, "venv").stdout == ""
    (project / "requirements.txt").write_text("# something else\n")
    changed = make(project, "venv")
    assert "Installing requirements.txt" in changed.stdout
    assert "Building" not in changed.stdout


def test_a_venv_that_an_interrupted_run_left_half_built_is_built_again(project: Path) -> None:
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    (project / ".venv" / "recount-locks").mkdir()
    repaired = make(project, "venv")
    assert repaired.returncode == 0, repaired.stderr
    assert "Building .venv" in repaired.stdout
    python = project / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "import pip"]).returncode == 0


def test_a_failed_install_is_said_and_tried_again(project: Path) -> None:
    (project / "requirements.txt").write_text("no-such-package==1.0 --hash=sha256:" + "0" * 64)
    (project / "pip.conf").write_text("[global]\nno-index = true\n")
    failed = make(project, "venv", PIP_CONFIG_FILE=str(project / "pip.conf"))
    assert failed.returncode != 0
    assert "could not be installed" in failed.stderr
    (project / "requirements.txt").write_text("# nothing\n")
    assert "Installing" in make(project, "venv").stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with nothing on it but a shell's needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


def fake_python(
    folder: Path, name: str, version: tuple[int, int], *, is_optimised: bool = True
) -> None:
    """An interpreter that answers the questions it is asked: for its version, and how it was
    built."""
    suits = (3, 11) <= version <= (3, 14)
    script = (
        f'#!/bin/sh\n[ "$1" = --version ] && echo Python {version[0]}.{version[1]}\n'
        f'case "$2" in *CONFIG_ARGS*) exit {int(not is_optimised)} ;; esac\nexit {int(not suits)}\n'
    )
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def choose(path: Path, *others: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(path / "sh"), str(PROJECT / "scripts" / "python.sh")],
        env={"PATH": ":".join(map(str, [path, *others])), **env},
        capture_output=True,
        text=True,
    )


def test_the_newest_suitable_python_is_taken(path: Path) -> None:
    fake_python(path, "python3", (3, 9))
    fake_python(path, "python3.11", (3, 11))
    fake_python(path, "python3.13", (3, 13))
    fake_python(path, "python3.15", (3, 15))
    assert choose(path).stdout.strip() == str(path / "python3.13")


def test_of_two_of_one_name_an_optimised_build_is_taken(path: Path, tmp_path: Path) -> None:
    later = tmp_path / "a folder"
    later.mkdir()
    fake_python(path, "python3.12", (3, 12), is_optimised=False)
    assert choose(path, later).stdout.strip() == str(path / "python3.12")
    fake_python(later, "python3.11", (3, 11))
    assert choose(path, later).stdout.strip() == str(path / "python3.12")
    fake_python(later, "python3.12", (3, 12))
    assert choose(path, later).stdout.strip() == str(later / "python3.12")
    # One that cannot make a venv suits as little as an old one.
    fake_python(later, "python3.12", (3, 10))
    assert choose(path, later).stdout.strip() == str(path / "python3.12")


def test_a_python_that_is_named_is_taken(path: Path) -> None:
    fake_python(path, "python3.13", (3, 13))
    fake_python(path, "mine", (3, 12), is_optimised=False)
    named = choose(path, RECOUNT_PYTHON=str(path / "mine"))
    assert named.stdout.strip() == str(path / "mine")


def test_a_name_that_does_not_run_is_passed_over(path: Path) -> None:
    (path / "python3.14").write_text("#!/bin/sh\nexit 127\n")
    (path / "python3.14").chmod(0o755)
    fake_python(path, "python3", (3, 12))
    assert choose(path).stdout.strip() == str(path / "python3")


def test_without_a_suitable_python_the_message_says_what_to_install(path: Path) -> None:
    fake_python(path, "python3", (3, 9))
    refused = choose(path)
    assert refused.returncode == 1
    assert "needs Python 3.11" in refused.stderr
    assert "Python 3.9" in refused.stderr
    assert "python3-venv" in refused.stderr
