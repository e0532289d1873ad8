"""Small charts as SVG built on the server: attributes only, with a table for those who listen."""

from collections.abc import Sequence
from datetime import datetime

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.domain.histogram import Bar as Stretch
from sessions_app.templatetags.show import count

register = template.Library()

BAR_WIDTH, BAR_GAP, BAR_HEIGHT = 8, 2, 48
SPARK_WIDTH, SPARK_HEIGHT = 96, 20
# Below this there is nothing to compare.
FEWEST_TINY = 2

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


@register.simple_tag
def tiny_bars(bars: Sequence[Bar], label: str) -> SafeString:
    """Where most of them lie, above the fields that narrow it; its label says it in words."""
    if len(bars) < FEWEST_TINY:
        return SafeString("")
    name, most = max(bars, key=lambda bar: bar[1])
    return format_html(
        '<svg class="bars is-tiny" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" '
        'aria-label="{}: most sessions {}, {}">{}</svg>',
        *(len(bars) * (BAR_WIDTH + BAR_GAP) - BAR_GAP, BAR_HEIGHT, label, name, count(most)),
        _bars(bars),
    )


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


@register.simple_tag
def activity(values: Sequence[int]) -> SafeString:
    """When a session was busy; its label says where the peak lies."""
    if not values or not any(values):
        return SafeString('<span class="none">\u2013</span>')
    peak = values.index(max(values))
    words = f"Busiest {round((peak + 0.5) / len(values) * 100)} % of the way through"
    return format_html(
        '<svg class="spark is-area" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><polyline points="1,{} {} {},{}"/></svg>',
        *(SPARK_WIDTH, SPARK_HEIGHT, words, SPARK_HEIGHT, _points(values)),
        *(SPARK_WIDTH - 1, SPARK_HEIGHT),
    )


@register.simple_tag
def times(bars: Sequence[Stretch]) -> SafeString:
    """Sessions over time. A script reads the stretch of each bar; others use the fields beside."""
    if not bars:
        return SafeString("")
    peak = max(bar.count for bar in bars)
    width = len(bars) * (BAR_WIDTH + BAR_GAP) - BAR_GAP
    return format_html(
        '<svg class="bars" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">{}'
        '</svg><div class="axis" aria-hidden="true"><span>{}</span><span>peak {}</span>'
        "<span>{}</span></div>{}",
        *(width, BAR_HEIGHT, _stretches(bars, peak)),
        *(stamp(bars[0].start), count(peak), stamp(bars[-1].end)),
        _table([(stamp(bar.start), bar.count) for bar in bars if bar.count], "By time", "sessions"),
    )


def _stretches(bars: Sequence[Stretch], peak: int) -> SafeString:
    return format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}" data-from="{}" data-to="{}">'
        "<title>{}: {}</title></rect>",
        (
            (
                *(i * (BAR_WIDTH + BAR_GAP), BAR_HEIGHT - h, BAR_WIDTH, h),
                *(stamp(bar.start), stamp(bar.end), stamp(bar.start), count(bar.count)),
            )
            for i, bar in enumerate(bars)
            for h in [_height(bar.count, peak)]
        ),
    )


def stamp(moment: datetime) -> str:
    """As a query takes it; without the time of day where it is midnight."""
    is_midnight = not (moment.hour or moment.minute or moment.second)
    return f"{moment:%Y-%m-%d}" if is_midnight else f"{moment:%Y-%m-%dT%H:%M}"


def _points(values: Sequence[int]) -> str:
    peak, step = max(max(values), 1), (SPARK_WIDTH - 2) / max(len(values) - 1, 1)
    height = SPARK_HEIGHT - 4
    return " ".join(
        f"{1 + i * step:.1f},{2 + height - value / peak * height:.1f}"
        for i, value in enumerate(values)
    )
