"""What happened to one file of a session, read from the few lines that touched it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.domain.filehistory import Step, stepped
from sessions_app.domain.fileindex import Entry, Histories, source_of
from sessions_app.domain.files import Deal, Outcome
from sessions_app.domain.texts import UNSEEN, Partly, State
from sessions_app.formats.file_deals import Reader
from sessions_app.models import Session
from sessions_app.store import read, sessions

# A line that is longer holds no file a person would read here.
LONGEST_LINE = 8 * 1024 * 1024
# So many acts are gone through to find out what a file held; before them nothing is known.
MOST_STEPS = 1000
MOST_RENAMES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is asked: some acts of a file, by their place among all acts on it."""

    path: int
    lo: int
    hi: int


def steps(session: Session, acts: Histories, look: Look, *, renames: int = 0) -> list[Step]:
    """The acts lo ≤ n < hi on a file, each with what was known before and after."""
    entries = acts.of(look.path)
    start = _start(entries, look.lo)
    deals = _deals(session, entries[start : look.hi], acts.paths[look.path])
    state: State = UNSEEN if start == 0 or entries[start].is_fresh else _TOO_FAR
    found: list[Step] = []
    for entry in entries[start : look.hi]:
        for deal in deals.get((entry.asked, entry.answered), [])[:1]:
            if source_of(deal):
                state = _source(session, acts, entry, renames)
            found.append(stepped(state, deal))
            state = found[-1].after
            deals[entry.asked, entry.answered] = deals[entry.asked, entry.answered][1:]
    return found[max(0, look.lo - start) :]


_TOO_FAR = Partly(why="Too many acts before this one to go through them all.")


def _start(entries: Sequence[Entry], lo: int) -> int:
    """The last act before that is enough to know what came of it."""
    least = max(0, lo - MOST_STEPS)
    return next((n for n in range(lo - 1, least, -1) if entries[n].is_fresh), least)


def _source(session: Session, acts: Histories, entry: Entry, renames: int) -> State:
    """What the file was that got another name."""
    if entry.source is None or renames >= MOST_RENAMES:
        return UNSEEN
    before = acts.of(entry.source)
    at = next((n for n, each in enumerate(before) if each.asked == entry.asked), None)
    if at is None:
        return UNSEEN
    look = Look(path=entry.source, lo=at, hi=at + 1)
    found = steps(session, acts, look, renames=renames + 1)
    return found[0].before if found else UNSEEN


def _deals(
    session: Session, entries: Sequence[Entry], path: str
) -> dict[tuple[int, int | None], list[Deal]]:
    """By the events that asked and answered; a patch may touch a file more than once."""
    wanted = {(entry.asked, entry.answered) for entry in entries}
    seqs = {seq for pair in wanted for seq in pair if seq is not None}
    reader = Reader(session.format, sessions.facts_of(session).cwd)
    found: dict[tuple[int, int | None], list[Deal]] = defaultdict(list)
    for line in read.whole(session, sorted(seqs), longest=LONGEST_LINE):
        for deal in reader.line(line.seq, line.reading.body, line.raw):
            found[deal.asked, deal.answered].append(deal)
    if any(entry.outcome is Outcome.OPEN for entry in entries):
        for deal in reader.open():
            found[deal.asked, None].append(deal)
    return {
        pair: [deal for deal in deals if deal.act.path == path]
        for pair, deals in found.items()
        if pair in wanted
    }


def state_at(session: Session, acts: Histories, path: int, seq: int) -> State:
    """What is known of a file once the event `seq` is over."""
    number = sum(entry.seq <= seq for entry in acts.of(path))
    if not number:
        return UNSEEN
    found = steps(session, acts, Look(path=path, lo=number - 1, hi=number))
    return found[-1].after if found else UNSEEN
