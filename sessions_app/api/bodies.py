"""The body of a delivery: unpacked within bounds, into a file that has no name."""

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, Protocol, cast

import zstandard
from django.conf import settings
from django.http import HttpRequest

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.store import staging

IN_MEMORY = 2 * 1024 * 1024
STEP = 64 * 1024
# A frame may ask for this much memory to be unpacked, and no more.
WINDOW = 8 * 1024 * 1024


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    stream: BinaryIO
    length: int
    sha256: bytes


@contextmanager
def received(request: HttpRequest, promised: str) -> Iterator[Body]:
    """Read to the end; `promised` is the sender's SHA-256 of the unpacked bytes, if it sent one."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as spool:
        with staging.room():
            length, digest = _copied(_unpacked(request), cast(BinaryIO, spool))
        if promised and promised.lower() != digest.hex():
            raise BadInput("The bytes do not have the promised SHA-256: send them again.")
        spool.seek(0)
        yield Body(stream=cast(BinaryIO, spool), length=length, sha256=digest)


def _unpacked(request: HttpRequest) -> _Source:
    if (request.content_type or "").startswith("multipart/"):
        raise BadInput("Send the bytes themselves as the body, not a form.")
    match request.headers.get("Content-Encoding", "").strip().lower():
        case "" | "identity":
            return cast(_Source, request)
        case "gzip":
            return gzip.GzipFile(fileobj=cast(BinaryIO, request), mode="rb")
        case "zstd":
            unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
            return cast(
                _Source, unpacker.stream_reader(cast(BinaryIO, request), read_across_frames=True)
            )
    raise BadInput("Content-Encoding must be gzip, zstd or left out.")


def _copied(source: _Source, spool: BinaryIO) -> tuple[int, bytes]:
    most = settings.INGEST_BODY * 1024 * 1024
    length, digest = 0, sha256()
    try:
        while data := source.read(STEP):
            length += len(data)
            if length > most:
                raise TooLarge(
                    f"A delivery has {settings.INGEST_BODY} MB at the most, unpacked: "
                    "send the rest as a second one, with its offset."
                )
            digest.update(data)
            spool.write(data)
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError):
        raise BadInput("The body cannot be unpacked: it is damaged or cut short.") from None
    except io.UnsupportedOperation:
        raise BadInput("The body cannot be read.") from None
    return length, digest.digest()
