"""Lines that go and come as markup: a sign, an element that says which, the changed part marked."""

from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.domain.patches import Line
from sessions_app.templatetags.show import visible

SHAPES = {
    "+": "<ins>+{}</ins>",
    "-": "<del>\u2212{}</del>",
    "@": '<span class="hunk">{}</span>',
    " ": "<span> {}</span>",
}


def lines(found: Iterable[Line], *, longest: int) -> SafeString:
    return format_html_join("", "{}", ((_line(line, longest),) for line in found))


def _line(line: Line, longest: int) -> SafeString:
    text = line.text[:longest] + ("…" if len(line.text) > longest else "")
    start, end = min(line.start, longest), min(line.end, longest)
    if end > start:
        parts = (visible(text[:start]), visible(text[start:end]), visible(text[end:]))
        shown = format_html("{}<mark>{}</mark>{}", *parts)
    else:
        shown = visible(text)
    return format_html(SHAPES.get(line.sign, SHAPES[" "]), shown)
