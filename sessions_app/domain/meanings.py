"""What a tool call can be about: a command, an edit, a file that is read, a plan."""

from dataclasses import dataclass
from enum import StrEnum

from sessions_app.domain.patches import of_patch

# Of a patch, to find which files it is about.
LONGEST_READ = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`language` is the one of the shell."""

    command: str
    where: str = ""
    note: str = ""
    language: str = "bash"

    @property
    def gist(self) -> str:
        return self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    path: str
    changes: tuple[Replaced, ...]

    @property
    def gist(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    path: str
    content: str

    @property
    def gist(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    text: str
    path: str = ""

    @property
    def gist(self) -> str:
        if self.path:
            return self.path
        paths = [change.path for change in of_patch(self.text[:LONGEST_READ])]
        return f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else "".join(paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A file that is read. `first` is the number of its first line shown."""

    path: str
    first: int = 1

    @property
    def gist(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    pattern: str
    where: str = ""
    # Further arguments, as `name: value`.
    options: tuple[str, ...] = ()

    @property
    def gist(self) -> str:
        return f"{self.pattern} in {self.where}" if self.where else self.pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """Pages asked for, or searched for."""

    queries: tuple[str, ...] = ()
    url: str = ""
    prompt: str = ""

    @property
    def gist(self) -> str:
        return self.url or " · ".join(self.queries)


class State(StrEnum):
    OPEN = "open"
    UNDER_WAY = "under way"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    text: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[Step, ...]
    note: str = ""

    @property
    def gist(self) -> str:
        now = next((step.text for step in self.steps if step.state is State.UNDER_WAY), "")
        done = sum(step.state is State.DONE for step in self.steps)
        return f"{done} of {len(self.steps)} done" + (f", now: {now}" if now else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegate:
    """Work handed to another agent."""

    title: str
    prompt: str
    agent: str = ""

    @property
    def gist(self) -> str:
        return self.title or self.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    gist: str = ""


Meaning = Command | Edit | Write | Patch | View | Find | Web | Plan | Delegate | Other
