"""Makes a database cluster so that a crash at any moment leaves either none or a whole one."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime import account as accounts
from runtime.account import Account
from runtime.errors import Trouble
from runtime.home import create_folder
from runtime.place import Place

ROLE = DATABASE = "recount"
LEASH = Path(__file__).with_name("leash.py")
PREPARING = ".preparing-"


def leashed(command: Sequence[str], *, signal: str, account: Account | None = None) -> list[str]:
    """Wrap a command so that it dies with this process and runs as the account."""
    name = account.name if account else ""
    return [sys.executable, "-I", "-S", str(LEASH), signal, name, *command]


def environment() -> dict[str, str]:
    """Keep secrets of this process out of a server that other processes of its account can see."""
    kept = {"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}
    # Names the owner of a stray process to whoever finds it.
    if "RECOUNT_HOME" in os.environ:
        kept["RECOUNT_HOME"] = os.environ["RECOUNT_HOME"]
    return kept


def create(place: Place, password: str, *, sync: bool = True) -> None:
    """Initialise beside the final folder and rename: the data folder appears complete."""
    for leftover in place.data.parent.glob(f"{PREPARING}*"):
        shutil.rmtree(leftover)
    workshop = place.data.parent / f"{PREPARING}{secrets.token_hex(4)}"
    create_folder(workshop, 0o700)
    accounts.give(workshop, place.account)
    try:
        _initialise(place, workshop, password, sync=sync)
        if place.data.exists():
            place.data.rmdir()
        (workshop / "data").rename(place.data)
    except OSError as error:
        raise Trouble(f"The database folder {place.data} cannot be created: {error}.") from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _initialise(place: Place, workshop: Path, password: str, *, sync: bool) -> None:
    password_file = workshop / "password"
    password_file.touch(mode=0o600)
    accounts.give(password_file, place.account)
    password_file.write_text(password, encoding="utf-8")
    # The built-in locale sorts by code point everywhere, so no system upgrade can spoil an index.
    _run(
        place,
        "initdb",
        f"--pgdata={workshop / 'data'}",
        f"--username={ROLE}",
        f"--pwfile={password_file}",
        "--auth-local=scram-sha-256",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        *([] if sync else ["--no-sync"]),
    )
    statement(place, workshop / "data", f"CREATE DATABASE {DATABASE}")


def set_password(place: Place, password: str) -> None:
    """Give the role a new password while no server runs."""
    statement(place, place.data, f"ALTER ROLE {ROLE} PASSWORD '{password}'")


def statement(place: Place, data: Path, sql: str) -> None:
    """Run one statement in a server that lives only for it and opens no socket."""
    _run(place, "postgres", "--single", "-D", str(data), "postgres", text=sql + "\n")


def _run(place: Place, program: str, *arguments: str, text: str = "") -> None:
    command = [str(place.programs / program), *arguments]
    done = subprocess.run(
        leashed(command, signal="SIGTERM", account=place.account),
        cwd="/",
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
    )
    # A single-user server answers a failed statement with exit code 0.
    if done.returncode or "ERROR:" in done.stderr:
        raise Trouble(f"{program} failed in {place.data.parent}:\n{_tail(done)}")


def _tail(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join((done.stderr or done.stdout).strip().splitlines()[-12:])
