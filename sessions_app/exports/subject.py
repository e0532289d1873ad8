"""What an export is of: a session or a stretch of it; when it was made, by whom, for what."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sessions_app.domain.errors import BadInput
from sessions_app.models import Session
from sessions_app.store import read, sessions
from sessions_app.store.read import Line
from sessions_app.store.sessions import SessionRow

# Of a line above this only the head is given; the bytes themselves have it all.
LONGEST_LINE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What stands in front of every document."""

    made_at: datetime
    by: str
    workspace: str
    # What was asked for, where the sessions were found and not named.
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The events lo ≤ seq < hi of a session as it was when it was asked for."""

    session: Session
    facts: SessionRow
    lo: int
    hi: int

    @property
    def is_whole(self) -> bool:
        return (self.lo, self.hi) == (0, self.session.events)

    @property
    def name(self) -> str:
        """Made of an id and numbers alone: it stands in a header."""
        stretch = "" if self.is_whole else f"-{self.lo}-{self.hi - 1}"
        return f"session-{self.session.uid}{stretch}"

    @property
    def words(self) -> str:
        total = self.session.events
        if self.is_whole:
            return f"The whole session: {total:,} event{'' if total == 1 else 's'}"
        return f"Events {self.lo:,} to {self.hi - 1:,} of {total:,}"

    def lines(self) -> Iterator[Line]:
        return read.each(self.session, self.lo, self.hi, shown=LONGEST_LINE)

    def raw(self) -> Iterator[bytes]:
        if self.lo == self.hi:
            return iter(())
        return read.between(self.session, *read.span(self.session, self.lo, self.hi))

    def digest(self) -> Generator[str, None, str]:
        """Of the bytes of these lines, to be held against those that came in. Nothing comes of
        it on the way but a chance for others: a server has more to do than to hash a gigabyte."""
        found = sha256()
        for piece in self.raw():
            found.update(piece)
            yield ""
        return found.hexdigest()


def whole(session: Session, *, now: datetime) -> Passage:
    return Passage(session=session, facts=sessions.shown(session, now=now), lo=0, hi=session.events)


def passage(session: Session, first: int | None, last: int | None, *, now: datetime) -> Passage:
    """Both ends are in it. Past the last event there is nothing to give."""
    if first is None and last is None:
        return whole(session, now=now)
    lo = first or 0
    hi = session.events if last is None else min(last + 1, session.events)
    if lo >= hi:
        raise BadInput(_no_such(session, lo, last))
    return Passage(session=session, facts=sessions.shown(session, now=now), lo=lo, hi=hi)


def _no_such(session: Session, lo: int, last: int | None) -> str:
    if last is not None and lo > last:
        return f"The range ends before it begins: {lo:,} to {last:,}."
    return f"The session has events 0 to {session.events - 1:,}; none from {lo:,} on."
