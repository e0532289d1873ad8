"""The filters above a transcript: each a link that shows more or less."""

from dataclasses import dataclass

from sessions_app.domain.sorts import EVERYTHING, Sort, Sought
from sessions_app.store.sift import ToolCount

NAMES = {
    Sort.PROMPTS: "Prompts",
    Sort.ANSWERS: "Answers",
    Sort.TOOLS: "Tools",
    Sort.ERRORS: "Errors",
    Sort.THINKING: "Thinking",
    Sort.SYSTEM: "System and records",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    name: str
    url: str
    is_on: bool
    # None where it was not counted.
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltersView:
    query: str
    everything: Choice
    sorts: tuple[Choice, ...]
    tools: tuple[Choice, ...]
    tool: str

    @property
    def is_narrowed(self) -> bool:
        return not self.everything.is_on


def shown(
    wanted: Sought, counts: dict[Sort, int] | None = None, tools: list[ToolCount] | None = None
) -> FiltersView:
    known = counts or {}
    return FiltersView(
        query=wanted.query,
        everything=_choice("Everything", EVERYTHING, wanted.is_everything),
        sorts=tuple(
            _choice(NAMES[sort], wanted.toggled(sort), sort in wanted.sorts, known.get(sort))
            for sort in Sort
        ),
        tools=tuple(_tool(wanted, each) for each in tools or ()),
        tool=wanted.tool,
    )


def _tool(wanted: Sought, tool: ToolCount) -> Choice:
    is_on = tool.name.casefold() == wanted.tool.casefold()
    other = Sought(sorts=wanted.sorts) if is_on else wanted.of_tool(tool.name)
    return _choice(tool.name, other, is_on, tool.calls)


def _choice(name: str, leads_to: Sought, is_on: bool, number: int | None = None) -> Choice:
    return Choice(name=name, url=f"./?{leads_to.query}", is_on=is_on, number=number)
