"""Commands and what they printed."""

from sessions_app.domain import outcomes, patches
from sessions_app.domain.meanings import Command
from sessions_app.renderings import edits
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Code, Fields, PartView


def call(told: Command, pen: Pen) -> list[PartView]:
    parts: list[PartView] = [
        Code(html=pen.code(told.command, told.language), label="command", note=told.note[:300])
    ]
    if told.where:
        parts.append(Fields(fields=(("In", told.where[:500]),)))
    return parts


def result(text: str, pen: Pen) -> list[PartView]:
    printed = outcomes.of(text).text
    if printed.startswith("diff --git ") and (changes := patches.of_patch(printed)):
        return [edits.shown(changes, pen)]
    if not printed.strip():
        return []
    return [Code(html=pen.terminal(printed.strip("\n")), label="output")]
