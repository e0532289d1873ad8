"""What came from elsewhere is still byte for byte what VENDOR.toml says."""

import base64
import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ROOT / "static"
TESTS = ROOT / "tests" / "vendor"


def entries() -> list[tuple[Path, dict[str, str]]]:
    found = []
    for manifest, base in (
        (SHIPPED / "vendor/VENDOR.toml", SHIPPED),
        (TESTS / "VENDOR.toml", TESTS),
    ):
        for entry in tomllib.loads(manifest.read_text())["vendored"]:
            found.append((base / entry["file"], entry))
    return found


@pytest.mark.parametrize(("file", "entry"), entries(), ids=lambda value: getattr(value, "name", ""))
def test_a_vendored_file_has_its_recorded_hash(file: Path, entry: dict[str, str]) -> None:
    digest = base64.b64encode(hashlib.sha384(file.read_bytes()).digest()).decode()
    assert entry["sha384"] == f"sha384-{digest}"
    assert entry["version"]
    assert entry["licence"]
    assert entry["built"]


def test_every_vendored_file_is_recorded() -> None:
    recorded = {file for file, _ in entries()}
    present = {f for folder in (SHIPPED / "vendor", TESTS) for f in folder.iterdir()}
    assert {f for f in present if f.name != "VENDOR.toml"} <= recorded


def test_the_sprite_holds_drawings_only() -> None:
    sprite = (SHIPPED / "icons/sprite.svg").read_text()
    tags = set(re.findall(r"<([a-z]+)", sprite))
    assert tags <= {
        "svg",
        "symbol",
        "path",
        "circle",
        "rect",
        "line",
        "polyline",
        "polygon",
        "ellipse",
    }


def test_every_icon_that_is_named_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (SHIPPED / "icons/sprite.svg").read_text()))
    named = set()
    for page in (ROOT / "templates").rglob("*.html"):
        text = page.read_text()
        named |= set(re.findall(r'{% icon "([a-z0-9-]+)"', text))
        named |= set(re.findall(r'icon_name="([a-z0-9-]+)"', text))
    assert named <= sprite
