"""Which sessions a text means: as a query for exports, as names for the palette."""

from datetime import datetime
from itertools import islice

from sessions_app.domain import searchquery
from sessions_app.models import Session, Workspace
from sessions_app.store import facts, listing, sessions

# Names are sealed: they are opened one by one, the newest first, and not without end.
MOST_OPENED = 500


def found(workspace: Workspace, text: str, *, most: int, now: datetime) -> list[Session]:
    """What the list shows for this line, in its order."""
    asked = listing.asked(workspace, searchquery.parse(text), now=now)
    rows = list(listing.page(asked, size=most).found)
    for row in rows:
        row.workspace = workspace
    return rows


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
