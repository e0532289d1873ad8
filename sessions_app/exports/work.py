"""Calls of tools and what came of them, drawn in a document as a page draws them. What does not fit
into a drawing stands as it was written."""

from collections import OrderedDict
from collections.abc import Iterable
from functools import singledispatch

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app import renderings
from sessions_app.domain import entries, outcomes, toolcalls
from sessions_app.domain.events import ToolCall, ToolResult
from sessions_app.domain.markdown import LONGEST_PART
from sessions_app.domain.meanings import Command, Delegate, Meaning, Other, View, Web
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import (
    Code,
    Diff,
    Fields,
    FileChange,
    Links,
    PartView,
    Prose,
    Remark,
    Shot,
    Source,
    Steps,
    StepView,
    Thought,
    Tool,
    Tree,
)
from sessions_app.templatetags.show import visible
from sessions_app.templatetags.ui import json_tree

# A part above this is folded: it would bury what was said. Print unfolds everything.
MOST_OPEN = 4000
# Source text of a document that is coloured; to colour all of a long one takes minutes.
COLOURED = 400_000
# Calls whose results may still come.
MOST_AWAITED, LONGEST_ID = 1000, 200
# Results of all other calls are drawn as what a command printed.
_PRINTED = Command(command="")


class Desk:
    """What is known of a document while it is written."""

    def __init__(self) -> None:
        self.colour = COLOURED
        self._awaited: OrderedDict[str, Meaning] = OrderedDict()

    def pen(self) -> Pen:
        return Pen(part=LONGEST_PART, prose=LONGEST_PART, room=LONGEST_PART * 2, colour=self.colour)

    def expects(self, call: ToolCall, told: Meaning) -> None:
        """Only as much as its result is drawn by: what was written to a file can be long."""
        if call.call_id and len(call.call_id) <= LONGEST_ID:
            self._awaited[call.call_id] = _brief(told)
            if len(self._awaited) > MOST_AWAITED:
                self._awaited.popitem(last=False)

    def asked(self, result: ToolResult) -> Meaning | None:
        return self._awaited.get(result.call_id)


def _brief(told: Meaning) -> Meaning:
    match told:
        case View():
            return View(path=told.path[:1000], first=told.first)
        case Web():
            return Web()
        case Delegate():
            return Delegate(title="", prompt="")
        case Other():
            return Other()
        case _:
            return _PRINTED


def call(part: ToolCall, desk: Desk) -> SafeString:
    told = toolcalls.meaning(part)
    desk.expects(part, told)
    text = entries.value_text(part.arguments)
    pen = desk.pen()
    shown = _all(renderings.of_call(part, told, pen))
    desk.colour = pen.colour
    about = toolcalls.gist(part, told)
    name = f"{renderings.name(part)}{': ' if about else ''}{about}"
    # What was left out of the drawing is in the arguments as they were written.
    rest = folded("Arguments", plain(text), is_open=False) if pen.is_cut else SafeString("")
    return folded(name, format_html("{}{}", shown, rest), is_open=len(text) <= MOST_OPEN)


def result(part: ToolResult, desk: Desk) -> SafeString:
    pen = desk.pen()
    shown = _all(renderings.of_result(part, desk.asked(part), pen))
    if pen.is_cut:
        shown = plain(part.text)
    else:
        desk.colour = pen.colour
    code = outcomes.of(part.text).exit_code
    words = ["Result", "an error" if part.is_error else "", "" if code is None else f"exit {code}"]
    name = ", ".join(filter(None, words))
    return folded(name, shown, is_open=len(part.text) <= MOST_OPEN)


def folded(name: str, inner: SafeString, *, is_open: bool) -> SafeString:
    return format_html(
        "<details{}><summary>{}</summary>{}</details>",
        *(SafeString(" open") if is_open else "", visible(name), inner),
    )


def plain(text: str) -> SafeString:
    return format_html("<pre>{}</pre>", visible(text[:LONGEST_PART]))


# Parts as a page gets them ----------------------------------------------------------------------


def _all(parts: Iterable[PartView]) -> SafeString:
    return format_html_join("", "{}", ((_drawn(part),) for part in parts))


@singledispatch
def _drawn(part: PartView) -> SafeString:
    raise NotImplementedError(type(part).__name__)


@_drawn.register
def _prose(part: Prose) -> SafeString:
    look = "prose" if part.is_markdown else "text"
    return format_html('<div class="{}">{}</div>', look, part.html)


@_drawn.register
def _thought(part: Thought) -> SafeString:
    return format_html('<div class="text">{}</div>', part.html)


@_drawn.register
def _code(part: Code) -> SafeString:
    return format_html("{}<pre>{}</pre>", _note(part.note), part.html)


@_drawn.register
def _source(part: Source) -> SafeString:
    return format_html(
        '<div class="source" tabindex="0" role="group" aria-label="Lines of a file">'
        '<pre aria-hidden="true">{}</pre><pre>{}</pre></div>',
        *(part.numbers, part.html),
    )


@_drawn.register
def _diff(part: Diff) -> SafeString:
    return format_html_join("", "{}", ((_change(each),) for each in part.changes))


@_drawn.register
def _steps(part: Steps) -> SafeString:
    steps = format_html_join("", "{}", ((_step(each),) for each in part.steps))
    return format_html('{}<ul class="steps">{}</ul>', _note(part.note), steps)


@_drawn.register
def _fields(part: Fields) -> SafeString:
    rows = ((visible(name), visible(value)) for name, value in part.fields)
    return format_html(
        '<dl class="fields">{}</dl>', format_html_join("", "<dt>{}</dt><dd>{}</dd>", rows)
    )


@_drawn.register
def _links(part: Links) -> SafeString:
    rows = ((visible(each.title), visible(each.address)) for each in part.links)
    items = format_html_join("", '<li>{} <span class="note">{}</span></li>', rows)
    return format_html("<ol>{}</ol>", items)


@_drawn.register
def _tree(part: Tree) -> SafeString:
    return format_html("{}{}", _note(part.label), json_tree(part.value))


@_drawn.register
def _remark(part: Remark) -> SafeString:
    return _note(part.text)


@_drawn.register
def _shot(part: Shot) -> SafeString:
    return _note(part.alt)


@_drawn.register
def _tool(part: Tool) -> SafeString:
    return folded(part.name, _all(part.parts), is_open=part.is_open)


def _note(text: str) -> SafeString:
    return format_html('<p class="note">{}</p>', visible(text)) if text else SafeString("")


def _change(change: FileChange) -> SafeString:
    return format_html(
        '<div class="diff"><p><span>{}</span> {} <ins>+{}</ins> <del>\u2212{}</del></p>'
        "<pre>{}</pre></div>",
        *(visible(change.path), change.verb, f"{change.added:,}", f"{change.removed:,}"),
        change.html,
    )


def _step(step: StepView) -> SafeString:
    return format_html("<li><b>{}</b> {}</li>", step.state, visible(step.text))
