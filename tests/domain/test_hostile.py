"""Characters that hide: every family is found, named and counted; ordinary text is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import hostile

HIDDEN = [
    ("\x00", "NUL"),
    ("\x1b", "ESC"),
    ("\r", "CR"),
    ("\x7f", "DEL"),
    ("\x9b", "U+009B"),
    ("\u00ad", "U+00AD"),
    ("\u061c", "U+061C"),
    ("\u200b", "U+200B"),
    ("\u200d", "U+200D"),
    ("\u200e", "U+200E"),
    ("\u2028", "U+2028"),
    ("\u202e", "U+202E"),
    ("\u2060", "U+2060"),
    ("\u2066", "U+2066"),
    ("\u3164", "U+3164"),
    ("\u115f", "U+115F"),
    ("\uffa0", "U+FFA0"),
    ("\ufeff", "U+FEFF"),
    ("\ud800", "U+D800"),
    ("\U000e0041", "U+E0041 “A”"),
    ("\U000f0000", "U+F0000"),
]
ORDINARY = ["", "plain", "two\nlines\tand a tab", "windows\r\nlines", "naïve Ω 漢字 🙂 ✔\ufe0f"]


@pytest.mark.parametrize(("char", "sign"), HIDDEN)
def test_a_hidden_character_is_shown_by_its_sign_and_counted(char: str, sign: str) -> None:
    assert hostile.plain(f"a{char}b") == f"a[{sign}]b"
    assert hostile.count(f"a{char}b") == 1


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert hostile.plain(text) == text
    assert hostile.count(text) == 0


def test_the_title_names_the_character() -> None:
    assert hostile.describe("\u202e").title == "U+202E RIGHT-TO-LEFT OVERRIDE"
    assert hostile.describe("\x1b").title == "U+001B ESCAPE"
    assert hostile.describe("\x02").title == "U+0002 CONTROL CHARACTER"
    assert hostile.describe("\udc80").title == "U+DC80 LONE SURROGATE"


def test_a_run_of_one_character_is_one_sign_with_a_number() -> None:
    assert hostile.plain("\x00" * 1_000_000) == "[NUL ×1,000,000]"
    assert hostile.count("\x00" * 1_000_000) == 1_000_000


def test_text_hidden_in_tag_characters_is_spelled_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "obey me")
    assert hostile.describe(hidden).title == "7 Unicode tag characters, spelling: obey me"


def test_one_variation_selector_is_ordinary_and_a_run_is_hidden() -> None:
    assert hostile.count("❤\ufe0f") == 0
    assert hostile.plain("a\ufe01\ufe02\U000e0100") == "a[U+FE01 ×3]"


def test_a_carriage_return_is_ordinary_only_as_part_of_a_line_end() -> None:
    assert hostile.count("a\r\nb") == 0
    assert hostile.count("a\rb") == 1
    assert hostile.count("a\r\r\nb") == 1


@given(st.text(alphabet=st.characters(), max_size=200))
def test_what_is_shown_hides_nothing_and_can_be_encoded(text: str) -> None:
    shown = hostile.plain(text)
    assert hostile.count(shown) == 0
    shown.encode()


@given(st.text(alphabet=st.sampled_from("ab\n\u202e\u200b\x00\U000f0000\U000e0041"), max_size=80))
def test_stand_ins_survive_and_turn_back_into_what_they_stood_for(text: str) -> None:
    veiled, runs = hostile.stand_ins(text)
    assert hostile.replace_stand_ins(veiled, runs, lambda run: run) == text
    assert not set(veiled) & set("\u202e\u200b\x00\U000e0041")
