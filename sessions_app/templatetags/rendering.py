"""Markdown and code of hostile origin to safe HTML: parse without HTML, sanitise, unveil."""

from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

import nh3
from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight as paint
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from sessions_app.domain import hostile
from sessions_app.templatetags.show import glyph, human_bytes, visible

register = template.Library()

# Above this, formatting costs more than it tells; the start is shown as it is.
MOST_FORMATTED = 64 * 1024
MOST_PLAIN = 16 * 1024
# Some lexers backtrack badly on hostile input.
MOST_HIGHLIGHTED = 16 * 1024

TAGS = (
    "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong "
    "table tbody td th thead tr ul"
)
CLEANER = nh3.Cleaner(
    tags=set(TAGS.split()),
    # Nothing here may carry text of the author except href, which the parser percent-encodes.
    attributes={"a": {"href"}, "ol": {"start"}, "span": {"class"}, "pre": {"class"}},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
)
FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="t-")


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as HTML that cannot run, load or hide anything."""
    if len(text) > MOST_FORMATTED:
        return _start_of(text)
    veiled, runs = hostile.stand_ins(text)
    clean = CLEANER.clean(_parser().render(veiled))
    return mark_safe(hostile.replace_stand_ins(clean, runs, glyph))  # noqa: S308


def code(text: str, language: str) -> SafeString:
    """Source text with highlighting classes; plain where the language is unknown or it is long."""
    lexer = _lexer(language) if len(text) <= MOST_HIGHLIGHTED else None
    if lexer is None:
        return visible(text)
    veiled, runs = hostile.stand_ins(text)
    painted = paint(veiled, lexer, FORMATTER)
    return mark_safe(hostile.replace_stand_ins(painted, runs, glyph))  # noqa: S308


def _start_of(text: str) -> SafeString:
    return format_html(
        '<pre class="plain">{}</pre><p class="note">Too long to format: the first {} of {}.</p>',
        visible(text[:MOST_PLAIN]),
        human_bytes(MOST_PLAIN),
        human_bytes(len(text)),
    )


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    try:
        # stripnl and ensurenl would change what the reader sees.
        return get_lexer_by_name(language.strip().lower(), stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        return None


def _highlight(text: str, language: str, _attributes: str) -> str:
    """Markdown's fences; an empty answer lets the parser escape the text itself."""
    lexer = _lexer(language) if language and len(text) <= MOST_HIGHLIGHTED else None
    return paint(text, lexer, FORMATTER) if lexer else ""


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


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": False, "linkify": True, "highlight": _highlight}
    parser = MarkdownIt("gfm-like", options)
    parser.add_render_rule("image", _image_as_link)
    return parser
