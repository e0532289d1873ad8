"""Which sessions a text means: as a query for exports, as names for the palette."""

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sessions_app.domain import searchquery
from sessions_app.models import Session, Workspace
from sessions_app.store import facts, listing, sessions
from sessions_app.store.conditions import Asked
from sessions_app.store.walk import Limits

# Names are sealed: they are opened one by one, the newest first, and not without end.
MOST_OPENED = 500
# Whoever takes sessions out wants all of them, and waits longer than for a page.
LIMITS = Limits(chunks=8_000, bytes=2 * 1024 * 1024 * 1024, seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Sessions that a text finds, and what their reader has to know about the text."""

    text: str
    rows: list[Session]
    # There are, or may be, more.
    is_cut: bool
    # Parts of the text that say nothing, each with the reason.
    left_out: tuple[tuple[str, str], ...]

    @property
    def told(self) -> str:
        """The text, and honestly what became of it."""
        more = f"the first {len(self.rows):,} of more" if self.is_cut else ""
        without = [f"without {part}" for part, _ in self.left_out]
        return ", ".join(filter(None, [self.text, *without, more]))


def found(workspace: Workspace, text: str, *, most: int, now: datetime) -> Selection:
    """What the list shows for this line, in its order."""
    asked = listing.asked(workspace, searchquery.parse(text), now=now, limits=LIMITS)
    page = listing.page(asked, size=most)
    for row in page.found:
        row.workspace = workspace
    return Selection(
        text=text,
        rows=list(page.found),
        is_cut=asked.is_cut or page.older is not None,
        left_out=tuple(left_out(asked)),
    )


def left_out(asked: Asked) -> list[tuple[str, str]]:
    """Parts of a query that are not answered, as they were typed, each with the reason."""
    told = [(each.place, each.message) for each in asked.query.bad]
    told += [(each.token.place, each.message) for each in asked.problems()]
    return [(asked.query.text[place.start : place.end], message) for place, message in told]


def named(workspace: Workspace, text: str, *, most: int) -> list[Session]:
    """The newest sessions first whose names have all the words of the text; without words, all."""
    words = text.casefold().split()
    rows = sessions.listed(workspace).select_related("key", "workspace")
    newest = rows.order_by("-sort_at", "-id")
    if not words:
        return list(newest[:most])
    some = newest[:MOST_OPENED].iterator(chunk_size=100)
    return list(islice((row for row in some if is_named(row, words)), most))


def is_named(session: Session, words: list[str]) -> bool:
    known = sessions.facts_of(session)
    names = (known.title, facts.project_of(known), session.agent, known.machine, known.branch)
    told = "\n".join(names).casefold()
    return all(word in told for word in words)
