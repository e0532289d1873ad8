"""The root key file: made once, private, never replaced, refused with advice when not right."""

import os
import stat
import threading
from pathlib import Path

import pytest

from sessions_app.domain.errors import KeyUnavailable
from sessions_app.vault import root
from sessions_app.vault.root import FILE_MARK, EnvironmentRoot, FileRoot

GOOD = "A" * 43 + "="


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "root.key"


def test_a_new_file_and_its_folder_are_its_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        root.create_file(path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    root.create_file(path)
    first = path.read_bytes()

    root.create_file(path)

    assert path.read_bytes() == first


def test_even_a_damaged_file_is_never_overwritten(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("what is left of a key")

    root.create_file(path)

    assert path.read_text() == "what is left of a key"


def test_many_creators_at_once_agree_on_one_key(path: Path) -> None:
    path.parent.mkdir()
    together = threading.Barrier(8)
    seen: list[str] = []

    def create() -> None:
        together.wait()
        root.create_file(path)
        seen.append(FileRoot(path).key_id())

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666])
def test_a_file_others_can_reach_is_refused_with_advice(path: Path, mode: int) -> None:
    root.create_file(path)
    path.chmod(mode)

    with pytest.raises(KeyUnavailable, match="chmod 600") as caught:
        FileRoot(path)
    assert str(path) in caught.value.message


def test_a_missing_file_is_refused_with_advice(path: Path) -> None:
    with pytest.raises(KeyUnavailable, match="missing: restore it from its backup") as caught:
        FileRoot(path)
    assert str(path) in caught.value.message
    assert not path.exists()


DAMAGED = {
    "empty": b"",
    "blank lines": b"\n \n",
    "no mark": f"1 {GOOD}\n".encode(),
    "another mark": f"some-root-key 1 {GOOD}\n".encode(),
    "no version": f"{FILE_MARK} {GOOD}\n".encode(),
    "version not a number": f"{FILE_MARK} one {GOOD}\n".encode(),
    "version in other digits": f"{FILE_MARK} ² {GOOD}\n".encode(),
    "negative version": f"{FILE_MARK} -1 {GOOD}\n".encode(),
    "endless version": f"{FILE_MARK} {'9' * 5000} {GOOD}\n".encode(),
    "cut short": f"{FILE_MARK} 1 {GOOD[:20]}\n".encode(),
    "a byte too few": f"{FILE_MARK} 1 {'A' * 40}AA==\n".encode(),
    "not base64": f"{FILE_MARK} 1 {'!' * 44}\n".encode(),
    "one good line, one bad": f"{FILE_MARK} 1 {GOOD}\nrubbish\n".encode(),
    "one version twice": f"{FILE_MARK} 1 {GOOD}\n{FILE_MARK} 1 {'B' * 43}=\n".encode(),
    "not text": b"\xff\xfe\x00\x01",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_by_name_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(KeyUnavailable) as caught:
        FileRoot(path)
    assert str(path) in caught.value.message
    assert GOOD[:20] not in caught.value.message
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(KeyUnavailable, match="cannot be read"):
        FileRoot(path)


@pytest.mark.parametrize("value", ["not base64!", "AAAA", GOOD + GOOD, "é" * 44])
def test_a_bad_key_in_the_environment_is_refused_without_repeating_it(value: str) -> None:
    with pytest.raises(KeyUnavailable, match="RECOUNT_ROOT_KEY") as caught:
        EnvironmentRoot(value)
    assert value not in caught.value.message
