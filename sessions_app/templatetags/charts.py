"""Small charts as SVG built on the server: attributes only, with a table for those who listen."""

from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.templatetags.show import count

register = template.Library()

BAR_WIDTH, BAR_GAP, BAR_HEIGHT = 8, 2, 48
SPARK_WIDTH, SPARK_HEIGHT = 96, 20

Bar = tuple[str, int]


@register.simple_tag
def histogram(bars: Sequence[Bar], label: str, unit: str = "events") -> SafeString:
    """Bars over labels; the same numbers follow as a table only assistive tools meet."""
    if not bars:
        return format_html('<p class="note">{}: nothing to show.</p>', label)
    return format_html(
        '<figure class="chart"><figcaption>{}<span class="note">peak {} {}</span></figcaption>'
        '<svg class="bars" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">'
        '{}</svg><div class="axis" aria-hidden="true"><span>{}</span><span>{}</span></div>{}'
        "</figure>",
        label,
        count(max(value for _, value in bars)),
        unit,
        len(bars) * (BAR_WIDTH + BAR_GAP) - BAR_GAP,
        BAR_HEIGHT,
        _bars(bars),
        bars[0][0],
        bars[-1][0],
        _table(bars, label, unit),
    )


def _bars(bars: Sequence[Bar]) -> SafeString:
    peak = max(max(value for _, value in bars), 1)
    return format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}"><title>{}: {}</title></rect>',
        (
            (i * (BAR_WIDTH + BAR_GAP), BAR_HEIGHT - h, BAR_WIDTH, h, name, count(value))
            for i, (name, value) in enumerate(bars)
            for h in [_height(value, peak)]
        ),
    )


def _height(value: int, peak: int) -> float:
    # One event among thousands must still be seen.
    return 0 if value <= 0 else max(1.5, round(value / peak * BAR_HEIGHT, 2))


def _table(bars: Sequence[Bar], label: str, unit: str) -> SafeString:
    rows = format_html_join(
        "",
        '<tr><th scope="row">{}</th><td>{}</td></tr>',
        ((name, count(value)) for name, value in bars),
    )
    return format_html(
        '<table class="sr-only"><caption>{}</caption><thead><tr><th scope="col">Time</th>'
        '<th scope="col">{}</th></tr></thead><tbody>{}</tbody></table>',
        *(label, unit, rows),
    )


@register.simple_tag
def sparkline(values: Sequence[int], label: str) -> SafeString:
    """A line the height of a row; its label says first, last and peak in words."""
    if not values:
        return SafeString("")
    words = f"{label}: {values[0]:,} to {values[-1]:,}, peak {max(values):,}"
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<polyline points="{}"/></svg>',
        *(SPARK_WIDTH, SPARK_HEIGHT, words, _points(values)),
    )


def _points(values: Sequence[int]) -> str:
    peak, step = max(max(values), 1), (SPARK_WIDTH - 2) / max(len(values) - 1, 1)
    height = SPARK_HEIGHT - 4
    return " ".join(
        f"{1 + i * step:.1f},{2 + height - value / peak * height:.1f}"
        for i, value in enumerate(values)
    )
