"""Text meant for a terminal, shown without one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import ansi
from sessions_app.domain.ansi import Span

ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [Span("plain")]),
        ("", []),
        (f"{ESC}[31mred{ESC}[0m", [Span("red", "a-fg1")]),
        (f"{ESC}[1;32mok{ESC}[m.", [Span("ok", "a-bold a-fg2"), Span(".")]),
        (f"{ESC}[91;44mx", [Span("x", "a-fg9 a-bg4")]),
        (f"{ESC}[1mb{ESC}[22mn", [Span("b", "a-bold"), Span("n")]),
        (f"{ESC}[31;39mx", [Span("x")]),
        (f"{ESC}[38;5;9mx", [Span("x", "a-fg9")]),
        (f"{ESC}[38;5;196mx", [Span("x", "a-fg1")]),
        (f"{ESC}[38;2;255;255;255mx", [Span("x", "a-fg15")]),
        (f"{ESC}[38;5;250;1mx", [Span("x", "a-bold a-fg7")]),
        (f"{ESC}[48:2:0:0:0mx", [Span("x", "a-bg0")]),
        (f"{ESC}[38mx", [Span("x")]),
        (
            f"{ESC}[2K{ESC}[1Aup",
            [Span("line erased", "token"), Span("cursor moved", "token"), Span("up")],
        ),
        (f"{ESC}]0;owned\x07t", [Span("title: owned", "token"), Span("t")]),
        (f"{ESC}]52;c;c2VjcmV0{ESC}\\", [Span("clipboard: c;c2VjcmV0", "token")]),
        (f"{ESC}]8;;http://x{ESC}\\a", [Span("link: ;http://x", "token"), Span("a")]),
        (f"{ESC}c", [Span("terminal reset", "token")]),
        (f"{ESC}P+q{ESC}\\", [Span("string: +q", "token")]),
    ],
)
def test_colours_become_names_and_commands_become_words(text: str, expected: list[Span]) -> None:
    assert ansi.spans(text) == expected


def test_an_unfinished_command_stays_in_the_text() -> None:
    assert ansi.spans(f"a{ESC}]0;never ended") == [Span(f"a{ESC}]0;never ended")]


def test_only_colours_are_taken_out_of_what_is_counted() -> None:
    assert ansi.uncoloured(f"{ESC}[31mred{ESC}[2K") == f"red{ESC}[2K"


def test_there_are_only_so_many_pieces() -> None:
    text = f"{ESC}[31ma{ESC}[0mb" * 5000
    found = ansi.spans(text)
    assert len(found) <= ansi.MOST_SPANS + 2
    assert ESC in found[-1].text


@given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;:mKHAab\x07\\ \n"), max_size=200))
def test_no_text_is_lost_and_nothing_raises(text: str) -> None:
    shown = "".join(span.text for span in ansi.spans(text) if span.style != "token")
    assert shown.count("a") + shown.count("b") <= text.count("a") + text.count("b")
    if "\x1b" not in text:
        assert shown == text
