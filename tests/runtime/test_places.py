"""Every kind of path and account: spaces, long names, root in a closed folder, a plain user."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime import attach, binaries, place, postgres
from runtime.account import Account
from runtime.home import Home
from tests.runtime.conftest import as_root, clear
from tests.runtime.house import (
    PROJECT,
    STAND_IN,
    House,
    environment,
    eventually,
    free_port,
    processes,
    stand_in,
)

READY = "Ctrl-C stops everything"
ATTACHER = Path(__file__).with_name("attacher.py")


def modes(*roots: Path) -> dict[str, tuple[int, int, int]]:
    """Return mode and owner of every parent of these folders and of what is beside them."""
    seen = {}
    for root in roots:
        for path in [root, *root.parents, *root.parent.iterdir()]:
            found = path.lstat()
            seen[str(path)] = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)
    return seen


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that only its owner can enter, like a home folder of root."""
    folder = Path(tempfile.mkdtemp(prefix="closed-", dir="/tmp"))
    yield folder
    for home in folder.iterdir():
        clear(home)
    shutil.rmtree(folder, ignore_errors=True)


def run_once(home: Path) -> str:
    house = stand_in(home)
    try:
        house.says(READY)
        with psycopg.connect(_address(home)) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
        assert house.stop(signal.SIGTERM) == 0
        assert eventually(lambda: not processes(home), 5), processes(home)
    finally:
        house.end()
    return str(row[0]) if row else ""


def _address(home: Path) -> str:
    return attach.address(Home(root=home)) or ""


def test_a_path_with_spaces_quotes_and_commas_works(ground: Path) -> None:
    home = ground / 'it\'s, so "to" say' / "home"
    assert run_once(home) == str(home / "postgres")


def test_a_path_too_long_for_a_socket_works_and_leaves_nothing_in_tmp(ground: Path) -> None:
    home = ground / ("long-" * 30) / "home"
    before = set(Path("/tmp").glob("recount-????????"))
    assert run_once(home) == str(home / "postgres")
    assert not (home / "run" / "socket").exists()
    left = set(Path("/tmp").glob("recount-????????")) - before
    assert not [folder for folder in left if any(folder.glob(".s.PGSQL*"))]


def test_a_short_plain_path_holds_its_own_socket() -> None:
    assert place.usable_for_socket(Path("/srv/re count/socket"))
    assert not place.usable_for_socket(Path("/srv/a,b/socket"))
    assert not place.usable_for_socket(Path("/" + "x" * 100))


@as_root
def test_root_in_a_closed_folder_changes_no_permission_and_keeps_its_data(closed: Path) -> None:
    home = closed / "home"
    before = modes(closed, Path(sys.prefix), PROJECT)
    data = run_once(home)
    assert data.startswith("/var/lib/recount/")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    after = modes(closed, Path(sys.prefix), PROJECT)
    # Other tests come and go beside this one; what is there both times must be the same.
    both = before.keys() & after.keys()
    assert str(closed) in both
    assert {path: after[path] for path in both} == {path: before[path] for path in both}
    assert run_once(home) == data


@as_root
def test_a_home_that_was_deleted_does_not_find_its_old_database(closed: Path) -> None:
    home = closed / "home"
    first = run_once(home)
    clear(home)
    shutil.rmtree(home)
    assert run_once(home) != first


@as_root
def test_a_copied_home_is_refused_and_a_moved_one_goes_on(closed: Path) -> None:
    data = run_once(closed / "home")
    shutil.copytree(closed / "home", closed / "copy", symlinks=True)
    house = stand_in(closed / "copy")
    assert house.wait() == 1
    house.end()
    assert f"is a copy of {closed / 'home'}" in house.text
    shutil.rmtree(closed / "copy")
    (closed / "home").rename(closed / "moved")
    assert run_once(closed / "moved") == data


@as_root
def test_root_keeps_the_database_in_a_home_that_its_account_can_reach(ground: Path) -> None:
    home = ground / "home"
    data = Path(run_once(home))
    assert data == home / "postgres"
    assert data.stat().st_uid != 0
    assert home.stat().st_uid == 0


@as_root
def test_programs_in_a_closed_folder_are_copied_once_for_the_account(
    closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = closed.parent / f"{closed.name}-shared"
    site = closed / "site"
    source = binaries._site_packages()
    for name in (binaries.PACKAGE, f"{binaries.PACKAGE}.libs"):
        subprocess.run(["cp", "-a", "--parents", name, str(site)], cwd=_made(site, source))
    monkeypatch.setattr(binaries, "SHARED", shared)
    monkeypatch.setattr(binaries, "_site_packages", lambda: site)
    nobody = Account(name="nobody", uid=65534, gid=65534)
    try:
        programs = binaries.programs_for(nobody)
        assert programs.is_relative_to(shared)
        assert binaries.programs_for(nobody) == programs
        assert [path.name for path in shared.iterdir()] == [programs.parts[len(shared.parts)]]
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def _made(site: Path, source: Path) -> Path:
    site.mkdir(exist_ok=True)
    return source


@as_root
def test_a_plain_user_runs_everything_under_its_own_account(ground: Path) -> None:
    home = ground / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", _python()]
    port = str(free_port())
    env = {**environment(home), "PYTHONPATH": f"{PROJECT}:{_site_packages()}"}
    house = House(home, [*command, "-B", str(STAND_IN), port], env)
    try:
        house.says(READY)
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in processes(home)}
        assert owners == {65534}
        assert house.stop(signal.SIGINT) == 0
        assert not processes(home)
        assert (home / "postgres").stat().st_uid == 65534
    finally:
        house.end()
    # Root may look after that database too, still under the account it belongs to.
    assert run_once(home) == str(home / "postgres")
    assert (home / "postgres" / "PG_VERSION").stat().st_uid == 65534


def _python() -> str:
    """A Python that every account can run: the one of this venv may lie in a closed folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = shutil.which(version, path="/usr/local/bin:/usr/bin")
    if found is None:
        pytest.skip(f"no {version} outside of home folders")
    return found


def _site_packages() -> Path:
    return binaries._site_packages()


@as_root
def test_a_home_of_another_account_is_refused_with_the_reason(ground: Path) -> None:
    home = ground / "home"
    run_once(home)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", _python(), str(ATTACHER)],
        cwd=PROJECT,
        env={**environment(home), "PYTHONPATH": f"{PROJECT}:{_site_packages()}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "belongs to another account" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_throwaway_server_works_in_any_folder_and_leaves_nothing(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with postgres.temporary(folder) as address, psycopg.connect(address) as connection:
            row = connection.execute(
                "SELECT current_user, current_database(), getdatabaseencoding(), lower('Ä'),"
                " current_setting('data_checksums'), current_setting('listen_addresses'),"
                " current_setting('fsync')"
            ).fetchone()
            assert row == ("recount", "recount", "UTF8", "ä", "on", "", "off")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(address)


def test_a_server_demands_its_password_and_logs_no_content(fresh_home: Path) -> None:
    house = stand_in(fresh_home)
    try:
        house.says(READY)
        address = _address(fresh_home)
        password = (fresh_home / "secrets" / "postgres.password").read_text()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(address.replace(password, "wrong"))
        with psycopg.connect(address) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            with pytest.raises(psycopg.DataError):
                connection.execute("SELECT 'a secret word'::int")
    finally:
        house.end()
    assert "secret word" not in (fresh_home / "log" / "postgres.log").read_text()
