"""Makes a bomb, or opens one and tells time and memory: each in a process of its own."""

import gzip
import io
import json
import resource
import stat
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import zstandard

from sessions_app.domain.errors import BadInput
from sessions_app.ingest import archives

MIB = 1024 * 1024


def streamed(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for name, data in files.items():
            book.writestr(name, data)
    return out.getvalue()


def zip_of_names(count: int) -> bytes:
    """One empty member, listed again and again."""
    whole = zipped({"a": b""})
    at, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    listed = whole[at:end] * count
    tail = bytearray(whole[end:])
    tail[8:12] = b"\xfe\xff\xfe\xff"
    tail[12:16] = len(listed).to_bytes(4, "little")
    return whole[:at] + listed + bytes(tail)


def zip_link() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        book.writestr(entry, "/etc/passwd")
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as book:
        for name, data in files.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(data)
            book.addfile(facts, io.BytesIO(data))
    return out.getvalue()


def tarred_names(count: int) -> bytes:
    return b"".join(tarfile.TarInfo(str(n)).tobuf() for n in range(count)) + bytes(1024)


def tar_with_header(size: int) -> bytes:
    facts = tarfile.TarInfo("x")
    facts.type, facts.size = tarfile.XHDTYPE, size
    return facts.tobuf() + b"1" * size + bytes(1024)


def tar_of_headers(count: int) -> bytes:
    facts = tarfile.TarInfo("x")
    facts.type = tarfile.XHDTYPE
    return facts.tobuf() * count + bytes(1024)


def opened(path: str) -> dict[str, object]:
    # Of the processor: on a busy machine others take their share of the clock.
    began = time.process_time()
    refused = ""
    with Path(path).open("rb") as stream:
        try:
            with archives.contents(stream, "bomb", limit=2048 * MIB) as found:
                list(found.members)
        except BadInput as error:
            refused = error.message
    seconds = time.process_time() - began
    return {"refused": refused, "seconds": seconds, "rss_mb": peak_mb()}


def peak_mb() -> float:
    """Of this program alone: what `getrusage` tells may be the process it was forked from."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(told.split()[1]) / 1024


# Made in a process of their own, so that making them is neither timed nor weighed.
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(bytes(400 * MIB), 1),
    "zstd, declared": lambda: zstandard.ZstdCompressor().compress(bytes(400 * MIB)),
    "zstd, undeclared": lambda: streamed(bytes(400 * MIB)),
    "zstd, made by hand": lambda: b"\x28\xb5\x2f\xfd\x00\x58" + bytes([2, 0, 0x10, 0]) * 100_000,
    "zstd, huge window": lambda: b"\x28\xb5\x2f\xfd\x00\xf8" + bytes([3, 0, 0x10, 0]),
    "zip, declared": lambda: zipped({"a": bytes(400 * MIB)}),
    "zip, many": lambda: zipped({str(n): bytes(9 * MIB) for n in range(60)}),
    "zip, nested": lambda: zipped({"a.jsonl.gz": gzip.compress(bytes(400 * MIB), 1)}),
    "tar.gz": lambda: gzip.compress(tarred({"a": bytes(200 * MIB)}), 1),
    "tar, nested": lambda: tarred({"a.jsonl.zst": streamed(bytes(400 * MIB))}),
    "zip, a million members": lambda: zip_of_names(1_000_000),
    "tar, many members": lambda: tarred_names(60_000),
    "tar, a header of 300 MB": lambda: tar_with_header(300 * MIB),
    "tar, headers of headers": lambda: tar_of_headers(100_000),
    "zip, link": lambda: zip_link(),
    "zip, away": lambda: zipped({"../../a": b"x"}),
    "zip, absolute": lambda: zipped({"/a": b"x"}),
}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        Path(sys.argv[2]).write_bytes(BOMBS[sys.argv[3]]())
    else:
        print(json.dumps(opened(sys.argv[2])))
