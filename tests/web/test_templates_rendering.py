"""Markdown of hostile origin: nothing runs, loads, hides or takes long."""

import re
from html.parser import HTMLParser

import pytest

from sessions_app.templatetags import rendering
from sessions_app.templatetags.rendering import code, markdown

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,AAAA)",
    "[x](vbscript:x)",
    '<div hx-get="/x" hx-trigger="load">x</div>',
    '[x](https://a.example "onmouseover=alert(1)")',
    "<style>*{display:none}</style>",
    "<svg><use href='#x'/></svg>",
    '```"><script>alert(1)</script>\nx\n```',
    "```html\n<script>alert(1)</script>\n```",
    "<https://a.example/\u202e'onclick='x>",
    "a\U000e003c\U000e0062\U000e003e",
    '[x](https://a.example "\u202e\U000e0022")',
    "[x](https://a.example/\u202e)",
    "![x\u202e](https://a.example/\u200b)",
    '1\u202e. <b title="\u202e">',
    "<form action=/x><input name=y></form>",
]
ALLOWED = {"a": {"href", "rel"}, "ol": {"start"}, "span": {"class", "title"}, "pre": {"class"}}


class Elements(HTMLParser):
    """Every element a browser would see, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", ATTACKS)
def test_an_attack_comes_out_harmless(text: str) -> None:
    for name, attributes in Elements(markdown(text)).found:
        assert name in rendering.TAGS.split()
        assert set(attributes) <= ALLOWED.get(name, set())
        assert re.match(r"https?:|mailto:", attributes.get("href") or "https:")
        assert name != "span" or re.match(r"t-|hidden-char$", attributes["class"] or "")


def test_a_picture_becomes_a_link_that_says_so() -> None:
    shown = markdown("![a cat](https://pictures.example/cat.png)")
    assert '<a href="https://pictures.example/cat.png"' in shown
    assert ">a cat</a> (image)" in shown


def test_links_tell_their_target_nothing() -> None:
    assert 'rel="noopener noreferrer nofollow"' in markdown("see https://a.example")


def test_an_address_with_hidden_characters_is_no_link() -> None:
    for text in ("[pay](https://a.example/\u202e)", "https://a.example/\u200bx"):
        shown = markdown(text)
        assert "<a " not in shown or "%F3" not in shown
        assert "hidden-char" in shown


def test_hidden_characters_show_in_text_code_and_fences() -> None:
    shown = markdown("a\u202eb `c\u200bd`\n\n```python\ne = '\x00'\n```")
    for sign in ("U+202E", "U+200B", ">NUL<"):
        assert sign in shown
    assert not set(shown) & set("\u202e\u200b\x00")


def test_a_lone_surrogate_can_be_shown() -> None:
    markdown("a \ud800 b").encode()
    code("'\ud800'", "python").encode()


def test_fences_are_coloured_by_class_only() -> None:
    shown = markdown("```python\ndef f(): pass\n```")
    assert '<span class="t-k">def</span>' in shown
    assert "style=" not in shown


def test_a_long_text_is_shown_by_its_plain_start() -> None:
    shown = markdown("**bold** " * 10_000)
    assert shown.startswith('<pre class="plain">**bold**')
    assert len(shown) < 20_000
    assert "Too long to format" in shown


def test_code_of_an_unknown_language_is_plain_and_escaped() -> None:
    assert code("<b>", "no such language") == "&lt;b&gt;"


def test_code_keeps_its_first_and_last_empty_lines() -> None:
    assert re.sub(r"<[^>]+>", "", code("\n\n1\n\n", "json")) == "\n\n1\n\n"


def test_colouring_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "HIGHLIGHT_SECONDS", -1)
    assert code("[1]", "json") == "[1]"


def test_a_line_too_long_for_most_lexers_is_plain_except_json() -> None:
    assert "<span" not in code("x" * 1001, "make")
    assert "<span" in code("[" + "1," * 600 + "1]", "json")


def test_bare_links_are_left_alone_where_there_are_too_many() -> None:
    assert "<a " in markdown("https://a.example " * 40)
    assert "<a " not in markdown("https://a.example " * 400)
