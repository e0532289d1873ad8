"""Small parts of the pages about the whole workspace."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.templatetags.show import NBSP, NOTHING

register = template.Library()

BAR_WIDTH, BAR_HEIGHT = 64, 4


@register.filter
def percent(share: float | None) -> SafeString | str:
    """Whole, but what is there is never shown as none of it, nor a part as all."""
    if share is None:
        return NOTHING
    if 0 < share < 0.001:
        return f"<{NBSP}0.1{NBSP}%"
    if 0 < share < 0.1 or 0.99 < share < 1:
        return f"{min(share * 100, 99.9):.1f}{NBSP}%"
    return f"{share * 100:.0f}{NBSP}%"


@register.filter
def milliseconds(length: int | None) -> SafeString | str:
    """A length as short as a call and as long as a night."""
    if length is None:
        return NOTHING
    if length < 1000:
        return f"{length}{NBSP}ms"
    seconds = length / 1000
    if seconds < 60:
        return f"{seconds:.1f}{NBSP}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{NBSP}min{NBSP}{rest}{NBSP}s"
    return f"{minutes // 60:,}{NBSP}h{NBSP}{minutes % 60}{NBSP}min"


@register.simple_tag
def bar(share: float) -> SafeString:
    """How large something is beside the largest; the number stands in its own cell."""
    width = round(max(0.0, min(share, 1.0)) * BAR_WIDTH, 1)
    return format_html(
        '<svg class="share" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="{}"/></svg>',
        *(BAR_WIDTH, BAR_HEIGHT, width, BAR_HEIGHT),
    )
