"""The walk of a search: session by session, chunk by chunk, as far as its limits allow."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from uuid import UUID

from sessions_app.domain.errors import IntegrityError
from sessions_app.domain.events import value
from sessions_app.domain.matching import Question
from sessions_app.models import Session
from sessions_app.store import (
    candidates,
    concordance,
    known,
    leaves,
    recall,
    route,
    sessions,
    vocabulary,
)
from sessions_app.store.candidates import NO_MONTH, Asked, Candidate, Condition
from sessions_app.store.checked import Checked, Work
from sessions_app.store.chunks import Owner
from sessions_app.store.examine import Examiner
from sessions_app.store.facts import Facts
from sessions_app.store.leaves import Leaf, Sealed
from sessions_app.store.narrowing import Narrowing
from sessions_app.store.patterns import Patterns
from sessions_app.store.route import Position

# Sessions that are looked at together, at first and later: who is at the tenth without a page full
# of hits will look at many more.
TOGETHER, LATER = 12, 40
# Chunks that are fetched together, of several sessions or of one.
FETCHED = 6
_ANY = Condition()
_Fetched = dict[tuple[int, int], Sealed]
_Rows = Callable[[Iterable[int]], dict[int, Session]]
# Chunks of newer months that tell whether a session stood on an earlier page.
CHECKED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may do."""

    chunks: int = 400
    bytes: int = 128 * 1024 * 1024
    seconds: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is looked for, where, and how much of it."""

    workspace_id: UUID
    question: Question
    narrowing: Narrowing
    # Sessions that are asked for, and hits of each: at least so many if there are, and not more.
    sessions: int
    enough: int
    most: int


@value
class Reached:
    """A session with hits."""

    session: Session
    position: Position
    # In order; are these all there are?
    hits: tuple[Checked, ...]
    is_all: bool


@dataclass(slots=True)
class Walk:
    """Asked for sessions one after the other; knows afterwards how far it came."""

    sought: Sought
    limits: Limits
    start: Position | None = None
    patterns: Patterns | None = None
    # Sessions that were found since the very start, if the caller keeps count of them.
    seen: set[int] | None = None

    work: Work = field(default_factory=Work)
    # All before it is done; None if nothing is.
    position: Position | None = None
    is_complete: bool = False
    is_from_memory: bool = False
    # Beginnings that grow into more words than are looked for.
    cut: set[str] = field(default_factory=set)
    # Sessions that did not open.
    broken: list[UUID] = field(default_factory=list)
    _until: float = 0.0
    _grown: dict[bytes, list[bytes]] = field(default_factory=dict)

    @property
    def is_spent(self) -> bool:
        work, limits = self.work, self.limits
        return (
            work.chunks >= limits.chunks
            or work.bytes >= limits.bytes
            or time.monotonic() >= self._until
        )

    def sessions(self) -> Iterator[Reached]:
        """Those with hits, each once, in the order of the route."""
        self._until = time.monotonic() + self.limits.seconds
        self.position = self.start
        hunt = concordance.hunt(self.sought.workspace_id, self.sought.question, self._grow)
        # The blind index is not asked for the first page, if memory knows all.
        is_blind = hunt is None or not hunt.is_whole or self.start is not None
        asked = self._asked(is_blind=is_blind)
        if asked.condition.is_impossible:
            self.is_complete = True
            return
        if hunt is None:
            asked = candidates.begun(asked, most=route.FEW + 1)
            ahead = route.candidates_from(asked, self.start)
            rows: _Rows = sessions.rows
        else:
            asked = replace(asked, months=hunt.months)
            self.is_from_memory = hunt.is_whole
            ahead = hunt.candidates(asked, self.start)
            rows = hunt.rows
        opener = _Opener(self, asked, rows)
        found, together = 0, min(TOGETHER, self.sought.sessions)
        while some := list(islice(ahead, together)):
            together = LATER
            for reached in opener.reach(some):
                if reached is not None:
                    found += 1
                    yield reached
                if self.is_spent:
                    return
        self.is_complete = True

    def _asked(self, *, is_blind: bool) -> Asked:
        sought = self.sought
        if not is_blind:
            return Asked(
                workspace_id=sought.workspace_id, condition=_ANY, narrowing=sought.narrowing
            )
        question = sought.question
        where = candidates.condition(
            sought.workspace_id, question.needs, self._grow, has_results=question.has_results
        )
        return Asked(workspace_id=sought.workspace_id, condition=where, narrowing=sought.narrowing)

    def _grow(self, letters: bytes) -> list[bytes]:
        if letters not in self._grown:
            grown = vocabulary.grown(self.sought.workspace_id, letters)
            if grown.is_cut:
                self.cut.add(letters.decode("utf-8", "replace"))
            self._grown[letters] = grown.spellings
        return self._grown[letters]


class _Opener:
    """Opens candidates and checks them."""

    def __init__(self, walk: Walk, asked: Asked, rows: _Rows) -> None:
        self._walk = walk
        self._rows = rows
        self._sought = walk.sought
        self._asked = asked
        self._examiner = Examiner(
            asked.workspace_id, self._sought.question, walk.work, walk.patterns
        )
        self._seen = set() if walk.seen is None else walk.seen

    def reach(self, some: Sequence[Candidate]) -> Iterator[Reached | None]:
        rows = self._rows({each.session_id for each in some})
        first: _Fetched = {}
        for number, each in enumerate(some):
            session = rows.get(each.session_id)
            self._walk.position = _done(each)
            if session is None or session.id in self._seen:
                yield None
                continue
            if number % FETCHED == 0:
                first = self._first(some[number : number + FETCHED], rows)
            yield self._open(each, session, first)

    def _first(self, some: Sequence[Candidate], rows: dict[int, Session]) -> _Fetched:
        """The first chunk of each session that has to be opened."""
        wanted = [(each, rows.get(each.session_id)) for each in some]
        return leaves.fetch(
            [
                (row.id, each.chunks[0])
                for each, row in wanted
                if row is not None and not self._is_at_hand(row, each)
            ]
        )

    def _is_at_hand(self, session: Session, each: Candidate) -> bool:
        """What is looked at in the first chunk, or the chunk itself."""
        no = each.chunks[0]
        seqs = (each.events or {}).get(no, ())[-self._sought.most :]
        is_heard = bool(seqs) and all(recall.is_heard(session, no, seq) for seq in seqs)
        return is_heard or self._kept(session, no) is not None

    def _open(self, each: Candidate, session: Session, first: _Fetched) -> Reached | None:
        try:
            found = self._look(each, session, first)
        except IntegrityError:
            self._walk.broken.append(session.uid)
            found = None
        if found is not None:
            self._seen.add(session.id)
        return found

    def _look(self, each: Candidate, session: Session, first: _Fetched) -> Reached | None:
        whose = known.of(session)
        told, owner = whose.facts, whose.owner
        if self._was_shown(each, session, owner, told):
            return None
        hits: list[Checked] = []
        is_all = _is_in_one_month(session)
        for no, fits in self._fits(
            session, owner, each.chunks, first, told.model, each.events or {}
        ):
            hits += islice(fits, self._sought.most - len(hits))
            if len(hits) >= self._sought.enough or self._walk.is_spent:
                is_all = is_all and no == each.chunks[-1] and len(hits) < self._sought.most
                self._stopped(each, no, has_hits=bool(hits))
                break
        if not hits:
            return None
        ordered = tuple(sorted(hits, key=lambda hit: hit.seq))
        return Reached(session=session, position=_done(each), hits=ordered, is_all=is_all)

    def _stopped(self, each: Candidate, no: int, *, has_hits: bool) -> None:
        """Without a hit so far, the rest of the session is still to be searched."""
        if not has_hits:
            self._walk.position = replace(_done(each), chunk=no)

    def _kept(self, session: Session, no: int) -> Leaf | None:
        return None if self._sought.question.has_results else recall.kept(session, no)

    def _fits(
        self,
        session: Session,
        owner: Owner,
        chunks: Sequence[int],
        first: _Fetched,
        model: str,
        events: Mapping[int, Sequence[int]],
    ) -> Iterator[tuple[int, Iterator[Checked]]]:
        """Chunk by chunk, from memory what is there."""
        fetched = first

        def opened(number: int) -> Leaf | None:
            nonlocal fetched
            no = chunks[number]
            leaf = self._kept(session, no)
            if leaf is None and (session.id, no) not in fetched:
                wanted = chunks[number : number + FETCHED]
                fetched = leaves.fetch([(session.id, each) for each in wanted])
            # Gone since, if the session was erased or its last chunk is being rewritten.
            if leaf is None and (session.id, no) in fetched:
                leaf = self._opened(session, owner, fetched[session.id, no])
            return leaf

        for number, no in enumerate(chunks):
            if no in events:
                get = partial(opened, number)
                yield no, self._examiner.at(session, no, events[no], get, model=model)
            elif (leaf := opened(number)) is not None:
                yield no, self._examiner.fits(session, leaf, model=model, is_thorough=False)

    def _opened(self, session: Session, owner: Owner, sealed: Sealed) -> Leaf:
        leaf = Leaf(session, owner, sealed)
        self._walk.work.chunks += 1
        if not self._sought.question.has_results:
            recall.meet(session, leaf)
        return leaf

    def _was_shown(self, each: Candidate, session: Session, owner: Owner, told: Facts) -> bool:
        """Did it stand on an earlier page, by a hit in a newer month?"""
        start = self._walk.start
        if start is None or self._walk.seen is not None:
            return False
        if each.month != NO_MONTH and candidates.month_of(session.sort_at) <= each.month:
            return False
        until = self._asked.months.at(start.month)
        if each.month != start.month and _is_before(session, start):
            until += 1
        chunks = candidates.of_session_in_months(self._asked, session.id, 0, until)
        fits = self._fits(session, owner, chunks[-CHECKED:], {}, told.model, {})
        return any(any(some) for _, some in fits)


def _done(each: Candidate) -> Position:
    return Position(month=each.month, sort_at=each.sort_at, session_id=each.session_id)


def _is_before(session: Session, start: Position) -> bool:
    return (session.sort_at, session.id) >= (start.sort_at, start.session_id)


def _is_in_one_month(session: Session) -> bool:
    """Then the chunks of the month are all it has."""
    if session.started_at is None or session.last_at is None:
        return False
    return candidates.month_of(session.started_at) == candidates.month_of(session.last_at)
