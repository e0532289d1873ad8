"""Markdown and code of hostile origin to safe HTML: parse without HTML, sanitise, unveil."""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache
from itertools import islice
from time import monotonic
from typing import Any

import nh3
import pygments
from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Name, Punctuation, Whitespace, _TokenType
from pygments.token import Text as Plain
from pygments.util import ClassNotFound

from sessions_app.domain import hostile
from sessions_app.templatetags.show import glyph, human_bytes, visible

register = template.Library()

Painted = tuple[_TokenType, str]

# Above this, formatting costs more than it tells; the start is shown as it is.
MOST_FORMATTED = 64 * 1024
MOST_PLAIN = 16 * 1024
# Some lexers take time quadratic in the length of a line; JSON often is one line and safe.
MOST_HIGHLIGHTED = 16 * 1024
LONGEST_LINE = 1000
SAFE_ON_ONE_LINE = {"json"}
# Others are quadratic over many lines. Colour is a courtesy: whoever takes longer goes without.
HIGHLIGHT_SECONDS = 0.25
# Finding bare links takes time quadratic in their number.
MOST_BARE_LINKS = 150
BARE_LINK = re.compile(r"://|www\.|@|//")
# How the stand-ins of hidden characters look once percent-encoded.
VEILED_ADDRESS = re.compile(r"%F3%B[0-9A-F]", re.IGNORECASE)

TAGS = "a blockquote br code del div em hr li ol p pre s span strong table tbody td th thead tr ul"
CLEANER = nh3.Cleaner(
    tags=set(TAGS.split()),
    # Nothing here may carry text of the author except href, which the parser percent-encodes:
    # hidden characters are put back as markup, and inside an attribute that would break out.
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "span": {"class"}, "pre": {"class"}},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
)
# Most tokens of a language look like text: an element around each would double the page.
COLOURLESS = {Whitespace, Punctuation, Name, Name.Other}
FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="t-")


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as HTML that cannot run, load or hide anything."""
    if len(text) > MOST_FORMATTED:
        return _start_of(text)
    veiled, runs = hostile.stand_ins(text)
    clean = CLEANER.clean(_parser(_has_few_links(veiled)).render(veiled))
    return mark_safe(hostile.replace_stand_ins(clean, runs, glyph))  # noqa: S308


def code(text: str, language: str, *, most: int = MOST_HIGHLIGHTED) -> SafeString:
    """Source text with highlighting classes; plain where the language is unknown or it is long."""
    veiled, runs = hostile.stand_ins(text)
    painted = _paint(veiled, language, most)
    if not painted:
        return visible(text)
    return mark_safe(hostile.replace_stand_ins(painted, runs, glyph))  # noqa: S308


def _start_of(text: str) -> SafeString:
    return format_html(
        '<pre class="plain">{}</pre><p class="note">Too long to format: the first {} of {}.</p>',
        visible(text[:MOST_PLAIN]),
        human_bytes(MOST_PLAIN),
        human_bytes(len(text)),
    )


def _has_few_links(text: str) -> bool:
    return sum(1 for _ in islice(BARE_LINK.finditer(text), MOST_BARE_LINKS)) < MOST_BARE_LINKS


def _lexer_for(text: str, language: str, most: int) -> Lexer | None:
    if not language or len(text) > most:
        return None
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE and language not in SAFE_ON_ONE_LINE:
        return None
    return _lexer(language)


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    try:
        # stripnl and ensurenl would change what the reader sees.
        return get_lexer_by_name(language.strip().lower(), stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        return None


def _highlight(text: str, language: str, _attributes: str) -> str:
    """Markdown's fences; an empty answer lets the parser escape the text itself."""
    return _paint(text, language)


def _paint(text: str, language: str, most: int = MOST_HIGHLIGHTED) -> str:
    """Escaped text with classes, or nothing where highlighting is not worth its time."""
    lexer = _lexer_for(text, language, most)
    if lexer is None:
        return ""
    try:
        return pygments.format(_in_time(lexer.get_tokens(text)), FORMATTER)
    except TimeoutError:
        return ""


def _in_time(tokens: Iterator[Painted]) -> Iterator[Painted]:
    end = monotonic() + HIGHLIGHT_SECONDS
    for kind, text in tokens:
        if monotonic() > end:
            raise TimeoutError
        yield Plain if kind in COLOURLESS else kind, text


def _image_as_link(
    _renderer: RendererProtocol,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _environment: MutableMapping[str, Any],
) -> str:
    """A picture from elsewhere would tell its host that an auditor is reading."""
    token = tokens[index]
    address = escape(token.attrGet("src") or "")
    return f'<a href="{address}">{escape(token.content) or "image"}</a> (image)'


def _heading(
    _renderer: RendererProtocol,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _environment: MutableMapping[str, Any],
) -> str:
    """A heading inside a message is emphasis: the outline of the page belongs to the page."""
    return "<p><strong>" if tokens[index].nesting > 0 else "</strong></p>"


class Parser(MarkdownIt):
    """An address with hidden characters in it is no link; its text shows them."""

    def validateLink(self, url: str) -> bool:
        return super().validateLink(url) and not VEILED_ADDRESS.search(url)


@lru_cache(maxsize=2)
def _parser(linkify: bool) -> MarkdownIt:
    options = {"html": False, "linkify": linkify, "highlight": _highlight}
    parser = Parser("gfm-like", options)
    parser.add_render_rule("image", _image_as_link)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser
