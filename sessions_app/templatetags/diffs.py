"""Texts of files as lines: differences, and a whole text with numbers and colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from pygments.lexers import find_lexer_class_for_filename

from sessions_app.domain.linediff import Diff, Hunk, Mark, Row, count_lines
from sessions_app.templatetags.rendering import code
from sessions_app.templatetags.show import plural, visible

register = template.Library()

MOST_ROWS = 160
LONGEST_ROW = 2_000
MOST_TEXT = 64 * 1024
# A page with one file on it can spend more on colours than one with many snippets.
MOST_COLOURED = 40 * 1024
LONGEST_NAME = 100
# Of a text with its colours.
MOST_HTML = 64_000

# Sign, word and class: a colour alone tells nothing.
SIGNS = {
    Mark.SAME: ("\u00a0", "", "same"),
    Mark.GONE: ("\u2212", "removed: ", "gone"),
    Mark.NEW: ("+", "added: ", "new"),
}


@register.simple_tag
def diff(found: Diff, most: int = MOST_ROWS) -> SafeString:
    """Rows of a difference; what is left out is said."""
    if found.is_too_large:
        return format_html(
            '<p class="note">Too large to compare: {} before, {} after.</p>',
            *(plural(found.removed, "line,lines"), plural(found.added, "line,lines")),
        )
    if not found.hunks:
        return format_html('<p class="note">{}</p>', "No line changed.")
    body, left = _hunks(found, most)
    return format_html(
        '<div class="diff-wrap" tabindex="0" role="group" aria-label="Changed lines">'
        '<table class="diff"><caption class="sr-only">Changed lines</caption>'
        '<thead class="sr-only"><tr><th scope="col">Old line</th><th scope="col">New line</th>'
        '<th scope="col">Text</th></tr></thead><tbody>{}</tbody></table></div>{}',
        *(body, _cut(left)),
    )


def _hunks(found: Diff, most: int) -> tuple[SafeString, int]:
    pieces: list[SafeString] = []
    left = most
    hidden = 0
    for hunk in found.hunks:
        if left <= 0:
            hidden += len(hunk.rows)
            continue
        pieces.append(_hunk(hunk, left))
        hidden += max(0, len(hunk.rows) - left)
        left -= len(hunk.rows)
    if not hidden:
        pieces.append(_gap(found.rest))
    return format_html_join("", "{}", ((piece,) for piece in pieces)), hidden


def _hunk(hunk: Hunk, most: int) -> SafeString:
    rows = format_html_join("", "{}", ((_row(row),) for row in hunk.rows[:most]))
    return format_html("{}{}", _gap(hunk.skipped), rows)


def _gap(lines: int) -> SafeString:
    if not lines:
        return SafeString("")
    return format_html(
        '<tr class="gap"><td colspan="3">{}</td></tr>',
        plural(lines, "unchanged line,unchanged lines"),
    )


def _row(row: Row) -> SafeString:
    sign, word, name = SIGNS[row.mark]
    text = row.text if len(row.text) <= LONGEST_ROW else f"{row.text[:LONGEST_ROW]}…"
    return format_html(
        '<tr class="{}"><td class="no">{}</td><td class="no">{}</td><td class="text">'
        '<span class="sign" aria-hidden="true">{}</span>{}{}{}</td></tr>',
        *(name, _number(row.old), _number(row.new), sign),
        format_html('<span class="sr-only">{}</span>', word) if word else "",
        visible(text),
        SafeString('<span class="note"> (no line end)</span>') if row.is_open else "",
    )


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _cut(rows: int) -> SafeString:
    if not rows:
        return SafeString("")
    return format_html(
        '<p class="note">{} not shown here.</p>', plural(rows, "more line,more lines")
    )


@register.simple_tag
def delta(added: int, removed: int | None, *, is_floor: bool = False) -> SafeString:
    """Lines that came and went, as signs and as words; more may have gone than is known."""
    if not removed and (removed is None or is_floor):
        sign, words = "?", "an unknown number"
    else:
        sign, words = (
            (f"{removed:,}+", f"at least {removed:,}") if is_floor else 2 * (f"{removed:,}",)
        )
    return format_html(
        '<span class="delta"><span aria-hidden="true"><span class="new">+{}</span> '
        '<span class="gone">\u2212{}</span></span><span class="sr-only">{}</span></span>',
        *(f"{added:,}", sign, f"{added:,} lines added, {words} removed"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A text with the numbers of its lines beside it."""

    numbers: str
    html: SafeString
    hidden: int


def listing(text: str, path: str, first: int | None, *, room: int = MOST_HTML) -> Listing:
    """As much of it as fits; colours and hidden characters take many times their size."""
    language = language_of(path)
    shown = _cut_to(text, MOST_TEXT)
    html = code(shown, language, most=MOST_COLOURED)
    while len(html) > room and len(shown) > 1:
        shown = _cut_to(shown, max(1, len(shown) * room // len(html)))
        html = code(shown, language, most=MOST_COLOURED)
    lines = count_lines(shown)
    numbers = range(first, first + lines) if first is not None else ()
    return Listing(
        numbers="\n".join(map(str, numbers)) or "\n".join("·" * lines),
        html=html,
        hidden=count_lines(text) - lines,
    )


def _cut_to(text: str, most: int) -> str:
    """At a line end, where there is one."""
    return text if len(text) <= most else text[: text.rfind("\n", 0, most) + 1 or most]


def fitting(diffs: Sequence[Diff], *, most: int, room: int) -> int:
    """How many rows of these fit, at most so many."""
    rows = islice((row for each in diffs for hunk in each.hunks for row in hunk.rows), most)
    sizes = accumulate(len(_row(row)) for row in rows)
    return max(1, sum(size <= room for size in sizes))


def language_of(path: str) -> str:
    """By the name of the file, as a lexer knows it; empty if none does."""
    name = path.replace("\\", "/").rpartition("/")[2][-LONGEST_NAME:]
    found = find_lexer_class_for_filename(name) if name.isprintable() else None
    return found.aliases[0] if found is not None and found.aliases else ""
