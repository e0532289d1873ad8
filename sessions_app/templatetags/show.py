"""Filters that turn values into what a person reads: hostile text, times, numbers, bytes."""

import math
from datetime import datetime, timedelta
from functools import lru_cache

from django import template
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from sessions_app.domain import hostile

register = template.Library()

NOTHING = mark_safe('<span class="none" title="not known">\u2013</span>')
NBSP = "\u00a0"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@lru_cache(maxsize=4096)
def glyph(run: str) -> SafeString:
    """The chip that stands where hidden characters stood."""
    hidden = hostile.describe(run)
    return format_html('<span class="hidden-char" title="{}">{}</span>', hidden.title, hidden.sign)


@register.filter
def visible(text: object) -> SafeString:
    """Escape text and show every hidden character in it as a chip naming its code point."""
    escaped = conditional_escape(text if isinstance(text, str) else str(text))
    return mark_safe(hostile.reveal(escaped, glyph))  # noqa: S308


@register.filter
def hidden_count(text: str | None) -> int:
    return hostile.count(text or "")


@register.filter
def plain(text: object) -> str:
    """For <title> and attributes, where no chip can stand; the template still escapes it."""
    return hostile.plain(str(text))


@register.filter
def tail(text: str | None, most: int = 36) -> str:
    """The end of a long path: what tells it from others stands there."""
    whole = text or ""
    return whole if len(whole) <= most else f"\u2026{whole[1 - most :]}"


@register.filter
def dollars(picodollars: int | None) -> str:
    """Two places, and for less than a cent as many as it takes to show the first digits."""
    if picodollars is None:
        return "unknown"
    amount = picodollars / 10**12
    if amount >= 0.01 or not amount:
        return f"${amount:,.2f}"
    # Two digits, and never as a power of ten.
    return f"${amount:.{1 - math.floor(math.log10(amount))}f}".rstrip("0")


@register.filter
def when(moment: datetime | None) -> SafeString:
    """A <time> that says how long ago, with the exact moment on hover and for machines."""
    if moment is None:
        return NOTHING
    return _time(moment, ago(moment, timezone.now()))


@register.filter
def moment(value: datetime | None) -> SafeString:
    """A <time> that says the exact moment."""
    if value is None:
        return NOTHING
    return _time(value, f"{value:%Y-%m-%d %H:%M:%S}")


@register.filter
def clock(value: datetime | None) -> SafeString:
    """A <time> that says only the time of day. A page holds hundreds: the day is for machines."""
    if value is None:
        return NOTHING
    moment = value.isoformat(timespec="seconds")
    return format_html('<time datetime="{}">{}</time>', moment, f"{value:%H:%M:%S}")


def _time(value: datetime, text: str) -> SafeString:
    exact = f"{value:%Y-%m-%d %H:%M:%S} {value.tzname() or ''}".strip()
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), exact, text)


def ago(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 45:
        return "just now"
    if abs(seconds) >= 30 * _DAY:
        return f"{moment.day}{NBSP}{moment:%b}{NBSP}{moment.year}"
    amount = _rough(abs(seconds))
    return f"{amount}{NBSP}ago" if seconds > 0 else f"in{NBSP}{amount}"


def _rough(seconds: float) -> str:
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f}{NBSP}{unit}"
    return f"{seconds:.0f}{NBSP}s"


@register.filter
def span(start: datetime | None, end: datetime | None) -> SafeString | str:
    """The time from start to end, in its two largest units."""
    if start is None or end is None:
        return NOTHING
    return duration(end - start)


@register.filter
def duration(length: timedelta | float | None) -> SafeString | str:
    if length is None:
        return NOTHING
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < _MINUTE:
        return f"{seconds:.0f}{NBSP}s" if seconds >= 1 or seconds == 0 else f"<{NBSP}1{NBSP}s"
    steps = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s"))
    large = next(i for i, (size, _) in enumerate(steps) if seconds >= size)
    (size, unit), (small, small_unit) = steps[large], steps[large + 1]
    rest = int(seconds % size // small)
    tail = f"{NBSP}{rest}{NBSP}{small_unit}" if rest else ""
    return f"{int(seconds // size)}{NBSP}{unit}{tail}"


@register.filter
def count(number: int | None) -> SafeString | str:
    """A whole number with its thousands apart."""
    return NOTHING if number is None else f"{number:,}"


@register.filter
def share(part: float | None) -> SafeString | str:
    """A part of a whole in per cent: next to all is not all, next to none is not none."""
    if part is None:
        return NOTHING
    if 0 < part < 0.005:
        return f"<{NBSP}1{NBSP}%"
    return f"{min(part * 100, 99) if part < 1 else 100:.0f}{NBSP}%"


@register.filter
def short(number: int | None) -> SafeString | str:
    """A number in at most four characters and a unit: 1.2k, 34M."""
    if number is None:
        return NOTHING
    value, units = float(number), ["", "k", "M", "G", "T"]
    while abs(value) >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 1 if units[0] and abs(value) < 9.95 else 0
    return f"{value:.{digits}f}{units[0]}"


@register.filter(name="bytes")
def human_bytes(size: int | None) -> SafeString | str:
    """A size in decimal units: 812 B, 4.1 kB, 128 MB."""
    if size is None:
        return NOTHING
    value, units = float(size), ["B", "kB", "MB", "GB", "TB", "PB"]
    while abs(value) >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 1 if units[0] != "B" and abs(value) < 99.95 else 0
    return f"{value:.{digits}f}{NBSP}{units[0]}"


@register.filter
def plural(number: int | None, words: str) -> str:
    """`3|plural:"event,events"` reads 3 events."""
    one, many = words.split(",")
    return f"{number or 0:,}{NBSP}{one if number == 1 else many}"
