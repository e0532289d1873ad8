"""Archives: every member's bytes, or the whole refused with a sentence. T46 of TRUST.md."""

import gzip
import io
import json
import os
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain.errors import BadInput, TooLarge
from sessions_app.ingest import archives
from tests.ingest import bombs

MIB = 1024 * 1024
LIMIT = 2048 * MIB
LOG = b'{"role":"user","content":"hello"}\n' * 50
FILES = {
    "projects/-srv-app/one.jsonl": LOG,
    "projects/-srv-app/one/subagents/agent-1.jsonl": LOG * 3,
    "projects/日本/two.jsonl": b'{"n":1}\n',
    "p/" + "long/" * 40 + "three.jsonl": b"not json\xff\0\n",
    "empty.jsonl": b"",
}


def zipped(files: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as book:
        for name, data in files.items():
            book.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as book:
        for name, data in files.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(data)
            facts.mtime = 1_700_000_000.25
            book.addfile(facts, io.BytesIO(data))
    return out.getvalue()


def tarred_one(name: str, kind: bytes, data: bytes = b"", link: str = "") -> bytes:
    facts = tarfile.TarInfo(name)
    facts.type, facts.size, facts.linkname = kind, len(data), link
    return facts.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512) + bytes(1024)


def zst(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


def opened(data: bytes, limit: int = LIMIT) -> dict[str, bytes | str]:
    """Path to bytes, or to why not."""
    with archives.contents(io.BytesIO(data), "sent", limit=limit) as found:
        return {each.path: each.refusal or _bytes(each) for each in found.members}


def _bytes(member: archives.Member) -> bytes:
    assert member.stream is not None
    member.stream.seek(0)
    data = member.stream.read()
    assert len(data) == member.size
    return data


@pytest.mark.parametrize(
    "data",
    [
        zipped(FILES),
        zipped(FILES, zipfile.ZIP_STORED),
        tarred(FILES),
        tarred(FILES, tarfile.GNU_FORMAT),
        gzip.compress(tarred(FILES)),
        zst(tarred(FILES)),
    ],
    ids=["zip", "zip-stored", "tar-pax", "tar-gnu", "tar.gz", "tar.zst"],
)
def test_every_member_comes_out_under_its_path(data: bytes) -> None:
    assert opened(data) == FILES


def test_members_can_be_read_in_any_order() -> None:
    for data in (zipped(FILES), zst(tarred(FILES))):
        with archives.contents(io.BytesIO(data), "sent", limit=LIMIT) as found:
            one, two = found.members[0].stream, found.members[1].stream
            assert one is not None
            assert two is not None
            one.seek(0)
            two.seek(34)
            assert one.read(34) == two.read(34) == LOG[:34]
            assert one.read(10) == LOG[34:44]


def test_a_file_that_is_no_archive_is_its_own_only_member() -> None:
    for data in (LOG, b"", b"\0" * 2000, b"PK is how a line may begin\n", os.urandom(5000)):
        with archives.contents(io.BytesIO(data), "a.jsonl", limit=LIMIT) as found:
            assert not found.is_archive
            assert [(m.path, _bytes(m)) for m in found.members] == [("a.jsonl", data)]


def test_a_packed_log_is_told_by_its_content_and_named_by_what_is_inside() -> None:
    for name, data in (("a.jsonl.zst", zst(LOG)), ("b.txt", gzip.compress(LOG))):
        with archives.contents(io.BytesIO(data), name, limit=LIMIT) as found:
            [only] = found.members
            assert (only.path, _bytes(only)) == (name.removesuffix(".zst"), LOG)


def test_packed_logs_inside_are_unpacked_once() -> None:
    files = {"a.jsonl.zst": zst(LOG), "b.jsonl.gz": gzip.compress(LOG), "c.jsonl": LOG}
    for data in (zipped(files), tarred(files), zst(tarred(files))):
        assert opened(data) == {"a.jsonl": LOG, "b.jsonl": LOG, "c.jsonl": LOG}


def test_archives_inside_are_refused_alone() -> None:
    inner = {
        "in.zip": zipped(FILES),
        "in.tar": tarred(FILES),
        "in.tar.gz": gzip.compress(tarred(FILES)),
        "twice.jsonl.gz": gzip.compress(gzip.compress(LOG)),
        "in.7z": b"7z\xbc\xaf\x27\x1c" + bytes(100),
        "cut.zst": zst(LOG)[:-3],
    }
    for data in (zipped({**inner, "a.jsonl": LOG}), tarred({**inner, "a.jsonl": LOG})):
        found = opened(data)
        assert found.pop("a.jsonl") == LOG
        assert len(found) == len(inner)
        assert all(isinstance(why, str) for why in found.values())


def test_what_file_managers_put_in_is_left_out() -> None:
    files = {"a.jsonl": LOG, "__MACOSX/._a.jsonl": b"x", "d/.DS_Store": b"x", "d/._b": b"x"}
    assert opened(zipped(files)) == opened(tarred(files)) == {"a.jsonl": LOG}


AWAY = {
    "up": "../a.jsonl",
    "up inside": "a/../../b.jsonl",
    "absolute": "/etc/passwd",
    "backslash": "..\\a.jsonl",
    "drive": "C:/a.jsonl",
    "long": "x" * 300,
    "deep": "a/" * 600 + "b",
    "empty": "./.",
}


@pytest.mark.parametrize("name", AWAY.values(), ids=AWAY)
@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar"])
def test_a_name_that_leads_elsewhere_refuses_the_whole(
    name: str, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    with pytest.raises(BadInput, match="name"):
        opened(pack({"good.jsonl": LOG, name: LOG}))


def test_a_nul_in_a_name_refuses_the_whole() -> None:
    data = zipped({"a.jsonl_b": LOG}).replace(b"a.jsonl_b", b"a.jsonl\0b")
    with pytest.raises(BadInput, match="NUL"):
        opened(data)
    facts = tarfile.TarInfo("x")
    facts.pax_headers, facts.size = {"path": "a\0b"}, 0
    with pytest.raises(BadInput, match="NUL"):
        opened(facts.tobuf(tarfile.PAX_FORMAT) + bytes(1024))


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE],
)
def test_links_and_devices_in_a_tar_refuse_the_whole(kind: bytes) -> None:
    good = tarred({"good.jsonl": LOG})[:-10240].rstrip(b"\0")
    good += bytes(-len(good) % 512)
    with pytest.raises(BadInput, match="It holds a"):
        opened(good + tarred_one("bad", kind, link="/etc/passwd"))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_refuse_the_whole(kind: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("good.jsonl", LOG)
        entry = zipfile.ZipInfo("bad")
        entry.external_attr = (kind | 0o777) << 16
        book.writestr(entry, "/etc/passwd")
    with pytest.raises(BadInput, match="link or a device"):
        opened(out.getvalue())


def patched(data: bytes, offset: int, form: str, value: int) -> bytes:
    """A zip of one member, a field of its directory changed."""
    at = data.rindex(b"PK\x01\x02") + offset
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


def test_a_member_that_is_not_what_the_directory_says_refuses_the_whole() -> None:
    whole = zipped({"a.jsonl": LOG})
    with pytest.raises(BadInput, match="larger than it says"):
        opened(patched(whole, 24, "<I", len(LOG) - 1))
    for offset, value in ((24, len(LOG) + 1), (16, zlib.crc32(LOG) ^ 1), (20, 10), (20, 2**31)):
        with pytest.raises(BadInput, match="damaged"):
            opened(patched(whole, offset, "<I", value))
    with pytest.raises(BadInput, match="password"):
        opened(patched(whole, 8, "<H", 1))
    with pytest.raises(BadInput, match="not read here"):
        opened(patched(whole, 10, "<H", 14))
    with pytest.raises(TooLarge, match="2,048 MB"):
        opened(patched(whole, 24, "<I", 2**32 - 2))


def test_members_of_a_zip_that_share_their_bytes_are_refused() -> None:
    whole = zipped({"a.jsonl": LOG, "b.jsonl": LOG})
    with pytest.raises(BadInput, match="overlap"):
        opened(patched(whole, 42, "<I", 0))


def test_the_whole_may_not_unfold_to_more_than_the_limit() -> None:
    files = {f"{n}.jsonl": os.urandom(1000) for n in range(10)}
    for data in (zipped(files), gzip.compress(tarred(files))):
        assert opened(data, 31_000) == files
        with pytest.raises(TooLarge):
            opened(data, 9_999)


@pytest.mark.parametrize("cut", [600, 2000, -1500])
def test_an_archive_that_was_cut_is_refused(cut: int) -> None:
    files = {"a.jsonl": os.urandom(1500), "b.jsonl": os.urandom(1500)}
    for data in (zipped(files), tarred(files)[:4096], gzip.compress(tarred(files))):
        with pytest.raises(BadInput):
            opened(data[:cut])


@pytest.mark.parametrize("record", [b"0 path=a\n", b"x path=a\n", b" path=a\n", b"-1 path=a\n"])
def test_a_header_whose_record_has_no_length_is_refused(record: bytes) -> None:
    with pytest.raises(BadInput):
        opened(tarred_one("a", tarfile.XHDTYPE, record))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([zipped(FILES), tarred(FILES), tarred(FILES, tarfile.GNU_FORMAT)]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=12)), max_size=6),
)
def test_damage_anywhere_gives_a_sentence_and_never_an_exception_of_another_kind(
    data: bytes, hurts: list[tuple[int, bytes]]
) -> None:
    hurt = bytearray(data)
    for at, put in hurts:
        at %= len(hurt)
        hurt[at : at + len(put)] = put
    try:
        opened(bytes(hurt), 64 * MIB)
    except BadInput:
        return


@pytest.mark.parametrize("bomb", bombs.BOMBS)
def test_a_bomb_is_refused_in_two_seconds_and_256_mb(bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    folder = Path(__file__).parent
    subprocess.run([sys.executable, folder / "bombs.py", "make", str(path), bomb], check=True)
    said = subprocess.run(
        [sys.executable, folder / "bombs.py", "open", str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(said.stdout)
    assert told["refused"]
    assert told["seconds"] < 2, told
    assert told["rss_mb"] < 256, told
