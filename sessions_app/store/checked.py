"""What a search holds in its hands: an event that fits, and how much was done to find it."""

from dataclasses import dataclass, replace
from datetime import datetime

from sessions_app.domain.events import value
from sessions_app.domain.matching import Match


@value
class Checked:
    """An event that fits the question."""

    seq: int
    at: datetime | None
    role: str
    tool: str
    match: Match

    def with_match(self, match: Match) -> "Checked":
        return replace(self, match=match)


@dataclass(slots=True)
class Work:
    """What was done so far."""

    chunks: int = 0
    bytes: int = 0
    # Events a regular expression took too long for.
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Sessions by their ids, the newest first."""

    ids: tuple[int, ...]
    # There may be more than these.
    is_cut: bool
