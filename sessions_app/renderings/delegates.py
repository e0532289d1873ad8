"""Work handed to another agent, and what it brought back."""

from sessions_app.domain.meanings import Delegate
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Fields, PartView, Prose


def call(told: Delegate, pen: Pen) -> list[PartView]:
    parts: list[PartView] = [Fields(fields=(("Agent", told.agent[:200]),))] if told.agent else []
    return [*parts, Prose(html=pen.markdown(told.prompt), is_markdown=True)]


def result(text: str, pen: Pen) -> list[PartView]:
    return [Prose(html=pen.markdown(text), is_markdown=True)] if text.strip() else []
