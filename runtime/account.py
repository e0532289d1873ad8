"""Which account the embedded Postgres runs under, and what that account can reach."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import Trouble

CANDIDATES = ("recount", "postgres", "nobody")
VARIABLE = "RECOUNT_POSTGRES_USER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    name: str
    uid: int
    gid: int


def choose(environment: Mapping[str, str] = os.environ) -> Account | None:
    """Name the account for a new database; None means this process's own."""
    if os.geteuid() != 0:
        return None
    wanted = environment.get(VARIABLE)
    for name in (wanted,) if wanted else CANDIDATES:
        found = _by_name(name)
        if found:
            return found
    if wanted:
        raise Trouble(f"{VARIABLE}={wanted}: there is no such account, or it is root.")
    raise Trouble(
        "Postgres does not run as root, and none of the accounts "
        f"{', '.join(CANDIDATES)} exists.\nName an unprivileged account in {VARIABLE}."
    )


def owner_of(path: Path) -> Account | None:
    """Name the account that an existing database belongs to; None means this process's own."""
    uid = path.stat().st_uid
    if uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise Trouble(
            f"The database in {path} belongs to another account (uid {uid}).\n"
            "Run this command under that account or as root."
        )
    try:
        return _by_name(pwd.getpwuid(uid).pw_name)
    except KeyError:
        raise Trouble(
            f"The database in {path} belongs to uid {uid}, which has no account here."
        ) from None


def give(path: Path, account: Account | None) -> None:
    """Hand a folder that was just created to the account."""
    if account:
        os.chown(path, account.uid, account.gid)


def reaches(account: Account | None, folder: Path) -> bool:
    """Ask the system itself, as the account: it knows modes, groups and access lists."""
    return run_as(account, ["/bin/sh", "-c", 'test -x "$1"', "sh", str(folder)]) is not None


def run_as(account: Account | None, command: Sequence[str]) -> str | None:
    """Run a short command as the account; return what it printed, or None when it failed."""
    uid, gid, groups = (account.uid, account.gid, _groups(account)) if account else (None,) * 3
    try:
        done = subprocess.run(
            command,
            user=uid,
            group=gid,
            extra_groups=groups,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    except PermissionError:
        return None
    return done.stdout if done.returncode == 0 else None


def _groups(account: Account) -> list[int]:
    return os.getgrouplist(account.name, account.gid)


def _by_name(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    if entry.pw_uid == 0:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
