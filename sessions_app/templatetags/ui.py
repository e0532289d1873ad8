"""Components every page is built from; /components/ shows each of them in each state."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice

from django import template
from django.conf import settings
from django.forms import BoundField
from django.template.context import Context
from django.template.loader import get_template
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.domain import rooms
from sessions_app.templatetags.show import NOTHING, plain, visible

register = template.Library()

# state: (tone, word). The tone colours the dot; the dot's shape and the word carry the meaning.
STATES = {
    "running": ("live", "Running"),
    "waiting": ("info", "Waiting"),
    "idle": ("quiet", "Idle"),
    "stale": ("warn", "Stale"),
    "unclean": ("err", "Unclean"),
    "closed": ("shut", "Closed"),
    "archived": ("stored", "Archived"),
    "queued": ("quiet", "Queued"),
    "done": ("ok", "Done"),
    "failed": ("err", "Failed"),
    "cancelled": ("quiet", "Cancelled"),
    "quarantined": ("err", "Quarantined"),
    "verified": ("ok", "Verified"),
    "unverified": ("quiet", "Not verified"),
    "broken": ("err", "Broken"),
    "ingested": ("ok", "Added"),
    "unchanged": ("quiet", "Unchanged"),
    "refused": ("err", "Refused"),
}
ROLE_ICONS = {
    "user": "user",
    "assistant": "bot",
    "system": "settings",
    "tool": "wrench",
    "record": "file-text",
    "unreadable": "triangle-alert",
}
MOST_TREE_CHILDREN = 200
MOST_TREE_DEPTH = 12


@register.simple_tag
def asset(path: str) -> str:
    """A static file's address that is found even when the manifest cannot be read."""
    try:
        return static(path)
    except ValueError:
        return f"{settings.STATIC_URL}{path}"


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite: decoration, unless it has a label."""
    return _icon(asset("icons/sprite.svg"), name, label)


@lru_cache(maxsize=512)
def _icon(sprite: str, name: str, label: str) -> SafeString:
    """Kept: a page draws the same ones hundreds of times."""
    drawn = format_html('<use href="{}#{}"/></svg>', sprite, name)
    if label:
        opened = '<svg class="icon" width="16" height="16" role="img" aria-label="{}">{}'
        return format_html(opened, label, drawn)
    return format_html('<svg class="icon" width="16" height="16" aria-hidden="true">{}', drawn)


@register.simple_tag
def role_icon(role: str) -> SafeString:
    return icon(ROLE_ICONS.get(role, "message-square"))


@register.simple_tag
def status(state: str, word: str = "") -> SafeString:
    """A dot and a word; the dot's shape differs by tone as well."""
    tone, usual = STATES.get(state, ("quiet", state.capitalize()))
    return format_html('<span class="status is-{}">{}</span>', tone, word or usual)


@register.simple_tag
def badge(text: object, tone: str = "quiet", icon_name: str = "") -> SafeString:
    sign = icon(icon_name) if icon_name else ""
    return format_html('<span class="badge is-{}">{}{}</span>', tone, sign, visible(text))


@register.simple_tag
def copy(text: str, what: str = "") -> SafeString:
    """A button that copies text; without scripts it does not appear."""
    label = f"Copy {what}".strip()
    return format_html(
        '<copy-button data-text="{}"><button type="button" class="icon-button" hidden '
        'aria-label="{}" title="{}">{}</button></copy-button>',
        *(text, label, label, icon("copy")),
    )


@register.simple_tag(name="hash")
def hash_(value: str | None, what: str = "hash") -> SafeString:
    """The first characters of a hash, the whole on hover, and a copy button."""
    if not value:
        return NOTHING
    return format_html(
        '<span class="hash"><code title="{}">{}</code>{}</span>',
        *(value, value[:12], copy(value, what)),
    )


@register.inclusion_tag("components/_nav_item.html", takes_context=True)
def nav_item(
    context: Context, section: str, view: str, label: str, icon_name: str, key: str, number: int = 0
) -> dict[str, object]:
    """One entry of the side navigation; `nav` in the context names the current section."""
    return {
        "url": reverse(view),
        "label": label,
        "icon": icon_name,
        "key": key,
        "number": number,
        "current": context.get("nav") == section,
    }


@register.simple_tag(takes_context=True)
def nav_items(context: Context) -> SafeString:
    """All of them, from the table of rooms."""
    template = get_template("components/_nav_item.html")
    shown = (
        nav_item(
            *(context, room.section, room.view, room.label, room.icon, room.key),
            number=int(context.get(room.number) or 0),
        )
        for room in rooms.ROOMS
        if room.section
    )
    return format_html_join("", "{}", ((template.render(each),) for each in shown))


@register.simple_tag
def keys_sheet() -> list[tuple[rooms.Place, list[rooms.Key]]]:
    return rooms.sheet()


@register.simple_tag
def kbd(key: str) -> SafeString:
    """A key as it is pressed: `Ctrl+K` at once, `g s` one after the other."""
    caps = key.split("+") if len(key) > 1 and " " not in key else key.split(" ")
    return format_html_join(" ", "<kbd>{}</kbd>", ((cap,) for cap in caps))


# The pages of a session in the order of their tabs. One whose address does not exist is left out.
TABS = (
    ("transcript", "sessions:session", "Transcript"),
    ("timeline", "sessions:timeline", "Timeline"),
    ("thread", "sessions:thread", "Thread"),
    ("files", "sessions:files", "Files"),
    ("usage", "sessions:usage", "Usage"),
    ("raw", "sessions:raw", "Raw"),
    ("record", "sessions:record", "Record"),
)


@register.inclusion_tag("components/_tabs.html")
def tabs(uid: object, current: str) -> dict[str, object]:
    """The tabs of a session; `current` names the one that is open."""
    found = ((name, _address(view, uid), label) for name, view, label in TABS)
    shown = [
        {"url": url, "label": label, "is_current": name == current}
        for name, url, label in found
        if url
    ]
    return {"tabs": shown}


def _address(view: str, uid: object) -> str:
    try:
        return reverse(view, args=[uid])
    except NoReverseMatch:
        return ""


@register.inclusion_tag("components/_field.html")
def field(bound: BoundField, note: str = "") -> dict[str, object]:
    """Label, control, help and errors of a form field, tied together for assistive tools."""
    widget = getattr(bound.field.widget, "input_type", "")
    return {"field": bound, "note": note, "kind": widget, "is_check": widget == "checkbox"}


@register.simple_tag
def sort_header(label: str, url: str, direction: str = "") -> SafeString:
    """A table header that sorts; direction is ascending, descending or empty."""
    arrow = {"ascending": "chevron-up", "descending": "chevron-down"}
    return format_html(
        '<th scope="col" aria-sort="{}"><a class="sort" href="{}">{}{}</a></th>',
        *(direction or "none", url, label, icon(arrow.get(direction, "chevrons-up-down"))),
    )


@register.simple_tag
def json_tree(value: object, is_open: bool = True) -> SafeString:
    """JSON as nested <details>; large and deep values are cut with a note."""
    return format_html('<div class="json-tree">{}</div>', _node("", value, 0, is_open))


def _node(key: str, value: object, depth: int, is_open: bool) -> SafeString:
    name = format_html('<span class="json-key">{}</span> ', visible(key)) if key else ""
    if not isinstance(value, Mapping | list) or depth >= MOST_TREE_DEPTH:
        return format_html('<div class="json-leaf">{}{}</div>', name, _leaf(value))
    return format_html(
        '<details{}><summary>{}<span class="json-count">{}</span></summary>{}</details>',
        SafeString(" open") if is_open else "",
        name,
        f"{{{len(value)}}}" if isinstance(value, Mapping) else f"[{len(value)}]",
        _children(value, depth),
    )


def _children(value: Mapping[str, object] | Sequence[object], depth: int) -> SafeString:
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    shown = format_html_join(
        "", "{}", ((_node(str(k), v, depth + 1, depth < 1),) for k, v in _first(pairs))
    )
    rest = len(value) - MOST_TREE_CHILDREN
    more = format_html('<p class="note">{} more</p>', f"{rest:,}") if rest > 0 else ""
    return format_html("{}{}", shown, more)


def _first(pairs: object) -> list[tuple[object, object]]:
    return list(islice(pairs, MOST_TREE_CHILDREN))  # type: ignore[call-overload]


def _leaf(value: object) -> SafeString:
    kind = "string" if isinstance(value, str) else "literal"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return format_html('<span class="json-{}">{}</span>', kind, visible(text))


@register.filter
def title_of(value: object) -> str:
    """A short, harmless version of a title for the browser tab."""
    text = plain(" ".join(str(value or "").split()))
    return text if len(text) <= 70 else f"{text[:69]}\u2026"
