"""Providers of the root key: they wrap and unwrap workspace keys and hold nothing else.

Every provider passes tests/vault/test_provider_contract.py.
"""

import base64
import binascii
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Protocol

from sessions_app.domain.errors import KeyUnavailable
from sessions_app.vault.seal import KEY_BYTES, Key, derive, place, seal, unseal

FILE_MARK = "recount-root-key"
_LINE = re.compile(rf"{FILE_MARK} ([0-9]{{1,9}}) (\S+)\s*")


class Provider(Protocol):
    """What a holder of the root key can do. The context binds a wrap to its owner."""

    name: str

    def key_id(self) -> str: ...
    def current_version(self) -> int: ...
    def wrap(self, key: Key, context: bytes) -> bytes: ...
    def unwrap(self, wrapped: bytes, context: bytes, *, version: int, name: str) -> Key: ...
    def health(self) -> str: ...


class _LocalKeys:
    """Wrapping with keys in memory; the file and environment providers differ in where from."""

    name = "local"

    def __init__(self, versions: dict[int, Key]) -> None:
        self._versions = versions

    def current_version(self) -> int:
        return max(self._versions)

    def key_id(self) -> str:
        """A name for the key that can be shown: derived one way, so it gives nothing away."""
        return derive(self._versions[self.current_version()], "key-id", 8).hex()

    def wrap(self, key: Key, context: bytes) -> bytes:
        version = self.current_version()
        return seal(self._versions[version], place("wrap", version, context), key.secret)

    def unwrap(self, wrapped: bytes, context: bytes, *, version: int, name: str) -> Key:
        if version not in self._versions:
            raise KeyUnavailable(f"{name}: wrapped by root key version {version}, which is absent")
        where = place("wrap", version, context)
        return Key(unseal(self._versions[version], where, wrapped, name=name))

    def health(self) -> str:
        return f"{self.name} key {self.key_id()} version {self.current_version()}"


class EnvironmentRoot(_LocalKeys):
    name = "environment"

    def __init__(self, value: str) -> None:
        super().__init__({1: Key(_decoded(value, "RECOUNT_ROOT_KEY"))})


class FileRoot(_LocalKeys):
    """`recount-root-key VERSION BASE64`, one line a version, in a file only its owner can read."""

    name = "file"

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))


def _decoded(text: str, name: str) -> bytes:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise KeyUnavailable(f"{name}: not base64") from None
    if len(raw) != KEY_BYTES:
        raise KeyUnavailable(f"{name}: {KEY_BYTES} bytes are needed, found {len(raw)}")
    return raw


def _read(path: Path) -> dict[int, Key]:
    try:
        mode = path.stat().st_mode
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise KeyUnavailable(
            f"root key file {path} is missing: restore it from its backup; "
            "without it the record cannot be opened"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyUnavailable(f"root key file {path} cannot be read: {error}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyUnavailable(f"root key file {path} is readable by others: run chmod 600 on it")
    found = [_version(line, path) for line in lines if line.strip()]
    if not found:
        raise KeyUnavailable(f"root key file {path} is empty: restore it from its backup")
    versions = dict(found)
    if len(versions) < len(found):
        raise KeyUnavailable(f"root key file {path}: one version is there twice")
    return versions


def _version(line: str, path: Path) -> tuple[int, Key]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise KeyUnavailable(f"root key file {path}: a line is not `{FILE_MARK} VERSION BASE64`")
    return int(found[1]), Key(_decoded(found[2], f"root key file {path}"))


def create_file(path: Path) -> None:
    """Write a first root key, whole or not at all, never over an existing one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    line = f"{FILE_MARK} 1 {base64.b64encode(os.urandom(KEY_BYTES)).decode()}\n"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(line)
        out.flush()
        os.fsync(out.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    _fsync_folder(path.parent)


def _fsync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
