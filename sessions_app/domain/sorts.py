"""What a reader wants to see of a session: everything, or events of some kinds."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

LONGEST_TOOL = 200


class Sort(StrEnum):
    """Kinds of events as a reader tells them apart; one event can be of several."""

    PROMPTS = "prompts"
    ANSWERS = "answers"
    TOOLS = "tools"
    ERRORS = "errors"
    THINKING = "thinking"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Events of any of these kinds. `tool` narrows tools and errors to one tool."""

    sorts: frozenset[Sort] = frozenset()
    tool: str = ""

    @property
    def is_everything(self) -> bool:
        return not self.sorts

    @property
    def query(self) -> str:
        """As the address of a page says it; empty for everything."""
        named = {"show": ",".join(sort.value for sort in Sort if sort in self.sorts)}
        tool = {"tool": self.tool} if self.tool else {}
        return urlencode(named | tool, safe=",") if self.sorts else ""

    def toggled(self, sort: Sort) -> "Sought":
        sorts = self.sorts ^ {sort}
        is_narrowed = sorts & {Sort.TOOLS, Sort.ERRORS}
        return Sought(sorts=sorts, tool=self.tool if is_narrowed else "")

    def of_tool(self, tool: str) -> "Sought":
        return sought([*self.sorts], tool)


EVERYTHING = Sought()


def sought(names: Iterable[str], tool: str = "") -> Sought:
    """Unknown kinds are passed over. A tool alone means its calls."""
    known = {sort.value for sort in Sort}
    sorts = frozenset(Sort(name) for name in names if name in known)
    tool = tool[:LONGEST_TOOL]
    if tool and not sorts & {Sort.TOOLS, Sort.ERRORS}:
        sorts |= {Sort.TOOLS}
    return Sought(sorts=sorts, tool=tool)
