"""Blind terms: every word is found by its term, and by nothing of another workspace."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.domain import words as spelled
from sessions_app.vault import terms
from sessions_app.vault.seal import Key
from sessions_app.vault.terms import Blinder, as_values, from_values, number_of, once

BLINDER = Blinder(Key(b"w" * 32))
words = st.text(
    st.characters(categories=["L", "N"], exclude_characters="\\"), min_size=1, max_size=20
)
gaps = st.text(st.sampled_from(" \t\n\r\0,;:!?()[]{}<>\"'`|=+*&^%$#@~"), min_size=1, max_size=3)


def terms_of(text: bytes, blinder: Blinder = BLINDER) -> set[bytes]:
    blind = blinder.of_text(text)
    return {blind[at : at + 8] for at in range(0, len(blind), 8)}


def found(word: str, text: str) -> bool:
    """By the word's own term, or by all terms of its parts: what a query has to ask for."""
    whole, *parts = (BLINDER.term(each) for each in spelled.spellings(word.encode()))
    there = terms_of(text.encode())
    return whole in there or (bool(parts) and there.issuperset(parts))


@given(st.lists(st.tuples(words, gaps), min_size=1, max_size=12))
def test_every_word_of_a_text_is_found_by_its_term(pairs: list[tuple[str, str]]) -> None:
    text = "".join(word + gap for word, gap in pairs)

    assert all(found(word, text) for word, _ in pairs)


@settings(max_examples=40, deadline=None)
@given(st.lists(words, min_size=30, max_size=60, unique=True))
def test_every_word_is_found_when_the_memory_of_words_overflows(many: list[str]) -> None:
    """The memory is emptied in the middle of a text; nothing of the text may go with it."""
    text = " ".join(f"{word}_x{number}Y" for number, word in enumerate(many))
    small = Blinder(Key(b"w" * 32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "REMEMBERED", 7)
        assert terms_of(text.encode(), small) == terms_of(text.encode())


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("snake", "call snake_case_name()"),
        ("case", "call snake_case_name()"),
        ("snake_case_name", "call snake_case_name()"),
        ("camel", "theCamelCaseName"),
        ("thecamelcasename", "theCamelCaseName"),
        ("http", "HTTPServer"),
        ("server", "HTTPServer"),
        ("settings", "/srv/app/config/settings.py"),
        ("config", "/srv/app/config/settings.py"),
        ("18", "postgres-18.2"),
        ("postgres", "--postgres-18.2--"),
        ("v2", "api/v2/users"),
        ("bar", "foo.bar"),
        ("end", "the end."),
        ("foo", "-foo-"),
    ],
)
def test_identifiers_are_found_whole_and_in_their_parts(word: str, text: str) -> None:
    assert found(word, text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("hello", "HELLO"),
        ("HELLO", "hello"),
        ("STRASSE", "straße"),
        ("ärger", "ÄRGER"),
        ("ΟΔΟΣ", "οδος"),
        ("file", "\ufb01le"),
        ("ABC", "\uff21\uff22\uff23"),
        ("cafe\u0301", "caf\u00e9"),
        ("２４", "24"),
    ],
)
def test_case_and_compatibility_forms_are_one_word(word: str, text: str) -> None:
    assert found(word, text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("привет", "«привет»"),
        ("мир", "привет—мир"),
        ("été", "l’été"),
        ("café", "“café”"),
        ("世界", "你好，世界。"),
        ("naïve", "a\u00a0naïve\u00a0one"),
        ("größe", "…größe…"),
    ],
)
def test_typographic_marks_separate_words_like_ascii_ones(word: str, text: str) -> None:
    assert found(word, text)


def test_a_digest_is_one_word_and_not_its_runs_of_letters() -> None:
    digest = "0b4c1c0e-9f1d-4a52-8f8b-1d2c3b4a5f60"

    assert found(digest, f"session {digest} ended")
    assert not found("4a52", f"session {digest} ended")


@pytest.mark.parametrize(
    "text", [r"first\nsecond", r"first\tsecond", r"first\r\nsecond", r"{\"a\":\"first\\nsecond\"}"]
)
def test_an_escape_in_json_text_does_not_glue_words(text: str) -> None:
    assert found("second", text)
    assert found("first", text)


def test_a_backslash_before_a_name_keeps_the_name() -> None:
    assert found("names", r"C:\names")
    assert found("tools", r"D:\tools\readme")


def test_words_of_two_workspaces_never_meet() -> None:
    other = Blinder(Key(b"v" * 32))
    text = " ".join(f"word{number}" for number in range(500)).encode()

    assert not terms_of(text) & terms_of(text, other)
    assert BLINDER.of_facet("tool", "bash") != other.of_facet("tool", "bash")


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=40))
def test_a_facet_never_equals_a_word(name: str, value: str, text: str) -> None:
    told = f"{text} {name}:{value} {name}\0{value} {name} {value}".encode("utf-8", "surrogatepass")

    assert BLINDER.of_facet(name, value) not in terms_of(told)


def test_facets_of_different_names_differ() -> None:
    assert BLINDER.of_facet("tool", "bash") != BLINDER.of_facet("agent", "bash")
    assert BLINDER.of_facet("is", "error") == BLINDER.of_facet("is", "error")


@given(st.binary(max_size=400))
def test_any_bytes_have_terms_of_eight_bytes_each(raw: bytes) -> None:
    blind = BLINDER.of_text(raw)

    assert len(blind) % 8 == 0
    assert all(term[:4] == b"\0\0\0\x04" for term in terms_of(raw))
    assert all(-(2**31) <= value < 2**31 for value in as_values(blind))
    assert number_of(once(blind)) == len(terms_of(raw)) == len(as_values(blind))
    assert once(from_values(as_values(blind))) == once(blind)


def test_marks_alone_are_no_word() -> None:
    assert BLINDER.of_text(b"... --- /// ___ , ; \0") == b""


def test_a_very_long_word_is_found_by_its_beginning() -> None:
    assert found("x" * 500, "x" * 500)


def test_a_spelling_many_words_share_is_learned_once() -> None:
    blinder = Blinder(Key(b"w" * 32))

    blinder.of_text(b"a/shared_name b/shared_name other_shared")

    learned = blinder.not_kept(blinder.learned())
    assert learned.count(b"shared") == 1
    assert len(learned) == len(set(learned))


def test_a_word_somebody_only_asked_for_is_learned_when_a_log_holds_it() -> None:
    blinder = Blinder(Key(b"w" * 32))

    asked = blinder.term(b"needle")
    assert blinder.learned() == 0

    assert blinder.of_text(b"needle") == asked
    assert blinder.not_kept(blinder.learned()) == [b"needle"]


def test_words_of_a_megabyte_take_no_memory_once_they_were_blinded() -> None:
    blinder = Blinder(Key(b"w" * 32))
    tracemalloc.start()
    try:
        for number in range(20):
            blinder.of_text(b"%d" % number + b"x" * 2**20, printed=b"%d" % number + b"y" * 2**20)
        assert tracemalloc.get_traced_memory()[0] < 2**20
    finally:
        tracemalloc.stop()
