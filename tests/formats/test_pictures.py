"""Pictures are found again by their bytes, wherever a format keeps them."""

import base64
import struct
import zlib

import orjson
import pytest

from sessions_app.formats import pictures


def png(width: int = 3, height: int = 2) -> bytes:
    def part(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(
        b"".join(b"\0" + b"\x80" * 3 * min(width, 99) for _ in range(min(height, 99)))
    )
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


GIF = b"GIF89a" + struct.pack("<HH", 5, 4) + b"\0" * 60
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF"
    + b"\0" * 10
    + b"\xff\xc0\x00\x11\x08\x00\x07\x00\x09"
    + b"\0" * 60
)
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\x0a\0\0\x05\0\0" + b"\0" * 60


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("value", "media_type", "size"),
    [
        ({"source": {"type": "base64", "data": packed(png())}}, "image/png", (3, 2)),
        ({"data": packed(GIF), "mimeType": "text/html"}, "image/gif", (5, 4)),
        ({"image_url": {"url": f"data:image/png;base64,{packed(JPEG)}"}}, "image/jpeg", (9, 7)),
        ([[{"url": f"data:image/webp;name=a;base64,{packed(WEBP)}"}]], "image/webp", (11, 6)),
    ],
)
def test_a_picture_is_known_by_its_bytes(
    value: object, media_type: str, size: tuple[int, int]
) -> None:
    (found,) = pictures.found(orjson.dumps({"message": value}))
    assert (found.media_type, (found.width, found.height)) == (media_type, size)


def test_a_picture_told_twice_is_one_and_the_order_stays() -> None:
    line = {"message": [packed(png(3)), packed(png(4))], "again": {"file": packed(png(3))}}
    assert [found.width for found in pictures.found(orjson.dumps(line))] == [3, 4]


@pytest.mark.parametrize(
    "text",
    [
        packed(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'>" * 3),
        packed(b"\x89PNG\r\n\x1a\n" + b"<script>" * 20),
        packed(png(60_000, 60_000)),
        "data:text/html;base64," + packed(b"<script>alert(1)</script>" * 9),
        "iVBORw0KGgo" + "not base64 at all !" * 9,
        packed(b"RIFF\0\0\0\0WAVE" + b"\0" * 90),
        "/9j/" + "A" * 90,
    ],
)
def test_what_is_no_harmless_picture_is_not_found(text: str) -> None:
    assert pictures.found(orjson.dumps({"data": text})) == []


def test_hostile_lines_give_nothing() -> None:
    assert pictures.found(b"not json") == []
    assert pictures.found(b"[" * 1000 + b"]" * 1000) == []
    assert pictures.found(orjson.dumps(["x" * 100] * 200_000)) == []
