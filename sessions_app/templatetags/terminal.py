"""Text of a terminal as markup: colours as classes, everything else a terminal obeys as words."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.domain import ansi
from sessions_app.domain.ansi import Span
from sessions_app.templatetags.show import visible

register = template.Library()


@register.filter
def terminal(text: str) -> SafeString:
    if not ansi.is_coloured(text):
        return visible(text)
    return format_html_join("", "{}", ((_span(span),) for span in ansi.spans(text)))


def _span(span: Span) -> SafeString:
    if not span.style:
        return visible(span.text)
    name = "terminal-word" if span.style == "token" else span.style
    return format_html('<span class="{}">{}</span>', name, visible(span.text))
