"""The sheet of keys and the keys themselves come from one table; this holds the rest against it."""

import re
from pathlib import Path

import pytest
from django.urls import reverse

from sessions_app.domain.rooms import KEYS, NATIVE, ROOMS, Key, Place, sheet
from tests.people import browser, cast

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))


def in_templates() -> set[str]:
    """What pages give to elements, by hand; the navigation takes its own from the table."""
    found = {
        key for page in TEMPLATES for key in re.findall(r'data-key="([^"{]+)"', page.read_text())
    }
    return found | {room.key for room in ROOMS if room.section and room.key}


def in_keys_script() -> set[str]:
    text = (
        (ROOT / "static/js/keys.js").read_text().partition("const ACTS = {")[2].partition("};")[0]
    )
    return set(re.findall(r'^  "(.+)": ', text, re.MULTILINE))


def listed(*, by: str) -> set[str]:
    return {each for key in KEYS if key.by == by for each in key.keys} - NATIVE


def test_every_key_of_a_page_is_on_the_sheet_and_the_other_way_round() -> None:
    assert in_templates() == listed(by="")


def test_every_key_of_the_script_is_on_the_sheet_and_the_other_way_round() -> None:
    assert in_keys_script() == listed(by="keys.js")


@pytest.mark.parametrize("key", [key for key in KEYS if key.by], ids=lambda key: key.words)
def test_a_key_is_in_the_script_that_is_said_to_act_on_it(key: Key) -> None:
    text = (ROOT / "static" / "js" / key.by).read_text()
    assert all(f'"{each}"' in text for each in key.keys if each not in NATIVE)


def test_no_key_means_two_things_in_one_place() -> None:
    for place in Place:
        here = [each for key in KEYS if key.place in (Place.EVERYWHERE, place) for each in key.keys]
        assert len(here) == len(set(here)), place


def test_every_room_exists() -> None:
    for room in ROOMS:
        assert reverse(room.view)


@pytest.mark.django_db
def test_the_sheet_tells_all_of_them_by_place() -> None:
    page = browser(cast().bob).get("/").content.decode()
    told = page.partition('id="keys"')[2].partition("</dialog>")[0]
    for place, keys in sheet():
        assert f">{place}</h3>" in told
        for key in keys:
            assert f"<dd>{key.words}</dd>" in told
    assert told.count("<dt>") == len(KEYS)


@pytest.mark.django_db
def test_switched_off_means_all_of_them() -> None:
    people = cast()
    people.bob.shortcuts = False
    people.bob.save()
    assert 'data-shortcuts="off"' in browser(people.bob).get("/").content.decode()
    script = (ROOT / "static/js/keys.js").read_text()
    # One listener for keys, and it asks first.
    assert script.count('addEventListener("keydown"') == 1
    assert re.search(r'"keydown", \(event\) => \{\n  if \(busy\(event\)', script)
