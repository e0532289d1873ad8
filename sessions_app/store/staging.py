"""Bodies that wait to be taken in: sealed files in the staging folder, named by their receipt.

    recount-staged 1 VERSION\\n, then pieces: length (4) | seal

The first piece says where the bytes belong, the others are the bytes. Each is sealed under the
workspace key of that version and bound to workspace, receipt, number and whether it is the last.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO
from uuid import UUID, uuid4

from django.conf import settings

from sessions_app.domain.errors import IntegrityError, NoRoom
from sessions_app.store import keys, trouble
from sessions_app.vault import seal

PIECE = 1024 * 1024
# What nobody knows of is kept this long: its row may be about to be written.
ORPHAN_SECONDS = 24 * 3600
MAGIC = "recount-staged 1"


@contextmanager
def room() -> Iterator[None]:
    """A full disk is said as what it is; everything works again once there is room."""
    try:
        yield
    except OSError as error:
        if error.errno not in trouble.FULL:
            raise
        raise no_room() from None


def no_room() -> NoRoom:
    return NoRoom(
        "The server's disk is full. Nothing of this was kept: send it again later.", seconds=60
    )


def write(workspace_id: UUID, receipt_id: UUID, about: dict[str, object], body: BinaryIO) -> None:
    """On disk when this returns, and either whole or not there."""
    folder = _folder()
    draft = folder / f".{receipt_id}.{uuid4().hex}"
    try:
        with room():
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as out:
                _put(out, workspace_id, receipt_id, about, body)
                out.flush()
                os.fsync(out.fileno())
            draft.rename(folder / str(receipt_id))
            _sync(folder)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def attempt(name: bytes) -> Iterator[bool]:
    """Is this the first to try it, and nobody else at the same time? The mark of one that did not
    live to remove it stays for as long as any file that nobody knows of."""
    mark = _folder() / f".attempt-{name.hex()}"
    try:
        with room():
            mark.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        mark.unlink(missing_ok=True)


def _folder() -> Path:
    settings.STAGING_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    return settings.STAGING_FOLDER


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put(
    out: IO[bytes], workspace_id: UUID, receipt_id: UUID, about: dict[str, object], body: BinaryIO
) -> None:
    version = keys.current_version(workspace_id)
    key = keys.workspace_key(workspace_id, version)
    out.write(f"{MAGIC} {version}\n".encode())
    piece, number = json.dumps(about).encode(), 0
    while True:
        following = body.read(PIECE)
        where = _place(workspace_id, receipt_id, number, is_last=not following)
        sealed = seal.seal(key, where, piece)
        out.write(len(sealed).to_bytes(4, "big") + sealed)
        if not following:
            return
        piece, number = following, number + 1


def _place(workspace_id: UUID, receipt_id: UUID, number: int, *, is_last: bool) -> bytes:
    return seal.place("staged", str(workspace_id), str(receipt_id), number, int(is_last))


@contextmanager
def opened(workspace_id: UUID, receipt_id: UUID) -> Iterator[tuple[dict[str, object], BinaryIO]]:
    """What it is about and its bytes, in a file without a name. Raises FileNotFoundError."""
    with (
        (_folder() / str(receipt_id)).open("rb") as file,
        room(),
        tempfile.SpooledTemporaryFile(max_size=2 * PIECE) as plain,
    ):
        name = f"staged delivery {receipt_id}"
        key = keys.workspace_key(workspace_id, _version(file, name))
        about = b""
        for number, (sealed, is_last) in enumerate(_pieces(file, name)):
            where = _place(workspace_id, receipt_id, number, is_last=is_last)
            piece = seal.unseal(key, where, sealed, name=name)
            if number:
                plain.write(piece)
            else:
                about = piece
        plain.seek(0)
        yield json.loads(about), plain  # type: ignore[misc]


def _version(file: IO[bytes], name: str) -> int:
    words = file.readline(80).decode("ascii", "replace").rsplit(" ", 1)
    if words[0] != MAGIC or not words[-1].strip().isdecimal():
        raise IntegrityError(f"{name}: not a staged delivery")
    return int(words[-1])


def _pieces(file: IO[bytes], name: str) -> Iterator[tuple[bytes, bool]]:
    size = file.read(4)
    while True:
        wanted = int.from_bytes(size, "big")
        sealed = file.read(min(wanted, 2 * PIECE))
        if len(size) < 4 or len(sealed) != wanted:
            raise IntegrityError(f"{name}: cut short")
        size = file.read(4)
        yield sealed, not size
        if not size:
            return


def remove(receipt_id: UUID) -> None:
    (_folder() / str(receipt_id)).unlink(missing_ok=True)


def is_there(receipt_id: UUID) -> bool:
    return (_folder() / str(receipt_id)).is_file()


def sweep(waiting: set[UUID]) -> int:
    """Old files that no waiting receipt names: left by a crash between two steps."""
    names = {str(each) for each in waiting}
    removed = 0
    for path in _folder().iterdir():
        if path.name not in names and _age(path) > ORPHAN_SECONDS:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return 0
