"""The same answer without an index: every event of every session, read and looked at."""

from dataclasses import dataclass

from sessions_app.domain import matching, passages
from sessions_app.domain.searchquery import parse
from sessions_app.models import Session, Workspace
from sessions_app.store import calls, find, read, search, sessions, vocabulary
from sessions_app.store.walk import Limits
from tests import build

# Enough for any test: what is compared is the answer, not the patience.
ENDLESS = Limits(chunks=10**6, bytes=10**12, seconds=600)
Hits = dict[str, set[int]]


def by_reading(place: Workspace, text: str) -> Hits:
    """Sessions and the numbers of their events that fit."""
    question = matching.question(parse(text))
    out: Hits = {}
    for session in Session.objects.select_related("key").filter(workspace=place):
        facts = sessions.facts_of(session)
        found = {
            line.seq
            for line in read.window(session, 0, session.events, shown=2**25)
            if _fits(place, session, line, question, facts.model)
        }
        if found:
            out[str(session.uid)] = found
    return out


def _fits(
    place: Workspace,
    session: Session,
    line: read.Line,
    question: matching.Question,
    model: str,
) -> bool:
    raw = line.raw.removesuffix(b"\n")
    event = passages.event_of(line.reading, raw, model=model)
    match = question.examine(event, event.passages(has_results=question.has_results))
    if match is None:
        return False
    answered = calls.answered(session.id, [line.seq]).get(line.seq, set())
    return all(
        bool(vocabulary.tools(place.id, each.names) & answered) is not each.is_negated
        for each in match.tools
    )


def by_searching(place: Workspace, text: str) -> Hits:
    """All pages of the search, and in each session found all hits."""
    query = parse(text)
    out: Hits = {}
    for uid in pages(place, text):
        session = Session.objects.select_related("key").get(uid=uid)
        found = find.in_session(session, query, limits=ENDLESS, most=10**6)
        out[uid] = set(found.seqs)
    return out


@dataclass
class Opened:
    chunks: int = 0
    pages: int = 0


def pages(
    place: Workspace,
    text: str,
    *,
    size: int = 4,
    limits: Limits = ENDLESS,
    opened: Opened | None = None,
) -> list[str]:
    """Ids of sessions in the order of the pages; none comes twice."""
    cursor = ""
    out: list[str] = []
    for _ in range(10_000):
        found = search.page(
            place.id, parse(text), now=build.NOW, cursor=cursor, size=size, limits=limits
        )
        out += [str(each.session.id) for each in found.found]
        if opened is not None:
            opened.chunks += found.chunks
            opened.pages += 1
        if found.older is None:
            assert len(out) == len(set(out)), "a session came twice"
            return out
        assert found.older != cursor, "a page that goes nowhere"
        cursor = found.older
    raise AssertionError("endless pages")
