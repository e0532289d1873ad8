"""What is inside an event, as a page or a document shows it: one file for each kind of work.

Values in, values out. Markup is made by the tags that make text safe, layout by the templates.
"""

from sessions_app.domain import toolcalls
from sessions_app.domain.events import (
    Data,
    Part,
    Picture,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from sessions_app.domain.meanings import (
    Command,
    Delegate,
    Edit,
    Find,
    Meaning,
    Other,
    Patch,
    Plan,
    View,
    Web,
    Write,
)
from sessions_app.renderings import (
    commands,
    delegates,
    edits,
    files,
    finds,
    plain,
    plans,
    webpages,
)
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import PartView

ICONS: dict[type[Meaning], str] = {
    Command: "terminal",
    Edit: "file-text",
    Write: "file-text",
    Patch: "file-text",
    View: "file-text",
    Find: "search",
    Web: "link",
    Plan: "list-checks",
    Delegate: "git-fork",
    Other: "wrench",
}


def icon(told: Meaning) -> str:
    return ICONS[type(told)]


def name(call: ToolCall) -> str:
    server, tool = toolcalls.outside(call.name)
    return f"{server} · {tool}" if server else tool or "Tool call"


def of_call(call: ToolCall, told: Meaning, pen: Pen) -> list[PartView]:
    match told:
        case Command():
            return commands.call(told, pen)
        case Edit() | Write() | Patch():
            return edits.call(told, pen)
        case Plan():
            return plans.call(told, pen)
        case Delegate():
            return delegates.call(told, pen)
        case Find() | View() | Web() | Other():
            return finds.call(told, pen) or plain.arguments(call, pen)


def of_result(result: ToolResult, told: Meaning | None, pen: Pen) -> list[PartView]:
    """`told` is what the call was about, where it is at hand."""
    if result.is_error:
        return commands.result(result.text, pen)
    match told:
        case View():
            return files.result(result.text, told, pen)
        case Web():
            return webpages.result(result.text, pen)
        case Delegate():
            return delegates.result(result.text, pen)
        case Other() | None:
            return plain.answer(result.text, pen)
        case _:
            return commands.result(result.text, pen)


def of_part(part: Text | Thinking | Data | Picture, role: Role, pen: Pen) -> list[PartView]:
    match part:
        case Text():
            return plain.said(part.text, role, pen)
        case Thinking():
            return plain.thought(part.text, pen)
        case Data():
            return plain.data(part, pen)
        case Picture():
            return plain.described(part)


def meaning_of(part: Part) -> Meaning | None:
    return toolcalls.meaning(part) if isinstance(part, ToolCall) else None
