"""Parts of an event as templates get them; `kind` says which piece of `_part.html` draws it."""

from dataclasses import dataclass
from typing import ClassVar

from django.utils.safestring import SafeString

Markup = SafeString | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Words; `is_markdown` says how they were meant."""

    kind: ClassVar[str] = "prose"
    html: Markup
    is_markdown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    kind: ClassVar[str] = "thought"
    html: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Text in a box; `label` names it for those who do not see it."""

    kind: ClassVar[str] = "code"
    html: Markup
    label: str = "text"
    note: str = ""
    # Lines that are code keep their breaks; others may be wrapped.
    is_wrapped: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Lines of a file with their numbers."""

    kind: ClassVar[str] = "source"
    html: Markup
    numbers: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    path: str
    verb: str
    added: int
    removed: int
    html: Markup
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    kind: ClassVar[str] = "diff"
    changes: tuple[FileChange, ...]
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    text: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    kind: ClassVar[str] = "steps"
    steps: tuple[StepView, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Names and short values."""

    kind: ClassVar[str] = "fields"
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    title: str
    # Empty where the address is none that may be followed.
    url: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    kind: ClassVar[str] = "links"
    links: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    kind: ClassVar[str] = "tree"
    value: object
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture that can be shown."""

    kind: ClassVar[str] = "shot"
    url: str
    alt: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence of the page itself about something that is not drawn."""

    kind: ClassVar[str] = "remark"
    icon: str
    text: str
    url: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    text: str
    tone: str = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A call, a result or a thought inside an event that holds more than it."""

    kind: ClassVar[str] = "tool"
    icon: str
    name: str
    gist: str
    chips: tuple[Chip, ...] = ()
    parts: tuple["PartView", ...]
    is_open: bool


PartView = (
    Prose | Thought | Code | Source | Diff | Steps | Fields | Links | Tree | Shot | Remark | Tool
)
