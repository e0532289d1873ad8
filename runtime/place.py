"""Where a home's database lives: in the home, or outside when its account cannot reach the home."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runtime import account as accounts
from runtime import binaries
from runtime.account import Account
from runtime.errors import Trouble
from runtime.home import Home, create_folder, read_text, write_private

# A socket's path has 103 usable bytes on macOS and 107 on Linux; Postgres adds "/.s.PGSQL.5432".
LONGEST_SOCKET_FOLDER = 103 - len("/.s.PGSQL.5432.lock")
# libpq splits a host at commas and reads a leading @ as an abstract socket.
PLAIN = re.compile(r"/[A-Za-z0-9_./ +-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Everything needed to run one database; `account` None means this process's own."""

    data: Path
    socket: Path
    programs: Path
    account: Account | None


def find(home: Home) -> Place:
    """Decide once where the database lives; afterwards it is wherever it already is."""
    if (home.postgres / "PG_VERSION").exists():
        return _inside(home, accounts.owner_of(home.postgres))
    if home.postgres_id.exists():
        return _outside(home)
    chosen = accounts.choose()
    if chosen is None or accounts.reaches(chosen, home.root):
        return _inside(home, chosen)
    write_private(home.postgres_id, secrets.token_hex(8))
    return _outside(home)


def _inside(home: Home, account: Account | None) -> Place:
    if account and not accounts.reaches(account, home.root):
        raise Trouble(
            f"The database in {home.postgres} belongs to the account {account.name}, which can no "
            "longer reach it.\nMove the home back, or to a folder that this account can reach."
        )
    return _complete(home, home.postgres, home.root / "socket", account)


def _outside(home: Home) -> Place:
    name = read_text(home.postgres_id) or ""
    if not re.fullmatch(r"[0-9a-f]{16}", name):
        raise Trouble(f"{home.postgres_id} is damaged: it names no database.")
    if accounts.choose() is None:
        raise Trouble(
            f"The database of {home.root} was created by root and lives outside that folder.\n"
            "Run this command as root."
        )
    folder = binaries.shared_folder() / name
    create_folder(folder, 0o711)
    _claim(folder / "home", home)
    data = folder / "data"
    account = accounts.owner_of(data) if data.exists() else accounts.choose()
    return _complete(home, data, folder / "socket", account)


def _claim(stamp: Path, home: Home) -> None:
    """Refuse a copied home: it would run a second server on the data of the first."""
    other = read_text(stamp)
    if other == str(home.root):
        return
    if other and read_text(Path(other) / home.postgres_id.name) == read_text(home.postgres_id):
        raise Trouble(
            f"{home.root} is a copy of {other}, whose database lives in {stamp.parent}.\n"
            f"Remove {home.postgres_id} from the copy to start it with a database of its own."
        )
    write_private(stamp, str(home.root))


def _complete(home: Home, data: Path, socket: Path, account: Account | None) -> Place:
    return Place(
        data=data,
        socket=socket_folder(socket, home.run / "socket", account),
        programs=binaries.programs_for(account),
        account=account,
    )


def socket_folder(wanted: Path, note: Path, account: Account | None) -> Path:
    """Return a folder of the account's own for the socket, elsewhere if this path cannot serve."""
    if usable_for_socket(wanted):
        if create_folder(wanted, 0o700):
            accounts.give(wanted, account)
        return wanted
    # The same folder again after a crash, so that running parts can reconnect.
    noted = read_text(note)
    if noted and _is_ours(Path(noted), account):
        return Path(noted)
    made = short_folder(account)
    write_private(note, str(made))
    return made


def usable_for_socket(folder: Path) -> bool:
    text = str(folder)
    return len(text.encode()) <= LONGEST_SOCKET_FOLDER and bool(PLAIN.fullmatch(text))


def short_folder(account: Account | None) -> Path:
    made = Path(tempfile.mkdtemp(prefix="recount-", dir="/tmp"))
    accounts.give(made, account)
    return made


def discard_socket_folder(home: Home) -> None:
    """Remove a folder that was made elsewhere for the socket; one inside the home stays."""
    note = home.run / "socket"
    noted = read_text(note)
    if noted:
        shutil.rmtree(noted, ignore_errors=True)
        note.unlink(missing_ok=True)


def _is_ours(folder: Path, account: Account | None) -> bool:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    owner = account.uid if account else os.geteuid()
    private = stat.S_IMODE(found.st_mode) == 0o700
    return stat.S_ISDIR(found.st_mode) and private and found.st_uid == owner
