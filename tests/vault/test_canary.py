"""The canary: a wrong or missing root key is refused before anything is written."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from sessions_app.domain.errors import KeyUnavailable
from sessions_app.models import Canary
from sessions_app.store import keys
from sessions_app.vault import root
from tests import build
from tests.faults import dump

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A key file of its own, and no key remembered from other tests."""
    settings.ROOT_KEY_FILE = tmp_path / "keys" / "root.key"
    settings.ROOT_KEY = ""
    keys.forget()
    yield tmp_path
    keys.forget()


def another_key(settings: Settings, folder: Path) -> None:
    settings.ROOT_KEY_FILE = folder / "other" / "root.key"
    root.create_file(settings.ROOT_KEY_FILE)
    keys.forget()


def test_a_fresh_database_gets_key_and_canary(settings: Settings) -> None:
    health = keys.prepare()

    assert settings.ROOT_KEY_FILE.exists()
    assert Canary.objects.get().key_id in health
    assert keys.check() == health == keys.prepare()


def test_a_wrong_key_is_refused_by_a_message_that_names_both(
    home: Path, settings: Settings
) -> None:
    keys.prepare()
    right = Canary.objects.get().key_id
    another_key(settings, home)

    with pytest.raises(KeyUnavailable) as caught:
        keys.prepare()
    assert right in caught.value.message
    assert keys.provider().key_id() in caught.value.message
    assert "Nothing was written" in caught.value.message


@pytest.mark.parametrize("command", ["check_keys", "signin_link", "verify", "reproject", "ingest"])
def test_under_a_wrong_key_no_command_writes_anything(
    home: Path, settings: Settings, command: str
) -> None:
    place = build.workspace()
    build.member("alice", place)
    build.session(place)
    (home / "log.jsonl").write_bytes(build.log(9))
    before = dump.tables()
    another_key(settings, home)
    arguments = {"ingest": [str(home / "log.jsonl")], "reproject": ["--all"]}.get(command, [])

    with pytest.raises(CommandError, match="not the one this database was written under"):
        call_command(command, *arguments)
    assert dump.tables() == before


def test_a_wrong_key_in_the_environment_is_refused_too(settings: Settings) -> None:
    keys.prepare()
    before = dump.tables()
    settings.ROOT_KEY = base64.b64encode(os.urandom(32)).decode()
    keys.forget()

    with pytest.raises(KeyUnavailable, match="Put the right key back"):
        keys.prepare()
    assert dump.tables() == before


def test_a_missing_key_file_is_never_silently_replaced(settings: Settings) -> None:
    build.session(build.workspace())
    before = dump.tables()
    settings.ROOT_KEY_FILE.unlink()
    keys.forget()

    with pytest.raises(KeyUnavailable, match="is missing: restore it from its backup"):
        keys.prepare()
    assert not settings.ROOT_KEY_FILE.exists()
    assert dump.tables() == before


def test_without_its_canary_a_database_with_workspaces_takes_no_key(
    home: Path, settings: Settings
) -> None:
    build.workspace()
    Canary.objects.all().delete()
    before = dump.tables()
    another_key(settings, home)

    with pytest.raises(KeyUnavailable, match="canary"):
        keys.prepare()
    assert dump.tables() == before


def test_a_damaged_canary_is_named(settings: Settings) -> None:
    keys.prepare()
    row = Canary.objects.get()
    Canary.objects.update(wrapped=bytes(row.wrapped)[:-1] + b"\0")

    with pytest.raises(KeyUnavailable, match="canary of the root key"):
        keys.prepare()


def test_a_canary_of_a_later_version_says_which_version_is_absent() -> None:
    keys.prepare()
    Canary.objects.update(version=2)

    with pytest.raises(KeyUnavailable, match="root key version 2, which is absent"):
        keys.check()


def test_without_a_canary_the_check_says_what_to_run() -> None:
    with pytest.raises(KeyUnavailable, match="check_keys"):
        keys.check()
