"""What a query is made of. Every token knows its place in the text."""

from dataclasses import dataclass
from enum import StrEnum

from sessions_app.domain.searchkeys import KEYS, Kind


class Op(StrEnum):
    IS = ":"
    MORE = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A half-open span of the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    place: Place
    text: str
    is_prefix: bool
    is_negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    place: Place
    text: str
    is_negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    place: Place
    source: str
    is_negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    place: Place
    key: str
    op: Op
    values: tuple[str, ...]
    is_negated: bool

    @property
    def is_bound(self) -> bool:
        """A limit: several limits of one key all hold, while of several values any one does."""
        return self.op is not Op.IS or KEYS[self.key].kind is Kind.MOMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    place: Place
    text: str
    message: str


Text = Word | Phrase | Pattern
Token = Text | Filter | Bad
