"""Search inside one session: the numbers of its events that fit, in order."""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from sessions_app.domain import matching
from sessions_app.domain.matching import Question
from sessions_app.domain.searchquery import Query
from sessions_app.models import Session
from sessions_app.store import candidates, facts, leaves, tip, vocabulary
from sessions_app.store.checked import Checked, Work
from sessions_app.store.examine import Examiner
from sessions_app.store.leaves import Leaf
from sessions_app.store.patterns import Patterns
from sessions_app.store.search import Hit, hit_of
from sessions_app.store.walk import Limits

MOST = 500
FETCHED = 4
LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    hits: tuple[Checked, ...]
    # The chunk to go on with; None at the end.
    next: int | None
    skipped: int

    @property
    def seqs(self) -> list[int]:
        return [each.seq for each in self.hits]

    def shown(self) -> list[Hit]:
        return [hit_of(each) for each in self.hits]


NOTHING = Inside(hits=(), next=None, skipped=0)


def in_session(
    session: Session, query: Query, *, chunk: int = 0, limits: Limits = LIMITS, most: int = MOST
) -> Inside:
    """From a chunk on. What the query says of sessions does not matter here."""
    question = matching.question(query)
    patterns = Patterns(question.patterns) if question.patterns else None
    with patterns or nullcontext():
        return _Search(session, question, patterns, limits).found(chunk, most)


class _Search:
    def __init__(
        self, session: Session, question: Question, patterns: Patterns | None, limits: Limits
    ) -> None:
        self._session = session
        self._owner = tip.vouched(session)
        self._model = facts.opened(self._owner.key, session).model
        self._question = question
        self._limits = limits
        self._work = Work()
        self._examiner = Examiner(session.workspace_id, question, self._work, patterns)
        self._until = time.monotonic() + limits.seconds

    def found(self, chunk: int, most: int) -> Inside:
        hits: dict[int, Checked] = {}
        for leaf in self._leaves(chunk):
            if self._work.chunks and (len(hits) >= most or self._is_spent()):
                return self._inside(hits, leaf.no)
            fits = self._examiner.fits(self._session, leaf, model=self._model, is_thorough=True)
            hits.update((each.seq, each) for each in fits)
        return self._inside(hits, None)

    def _is_spent(self) -> bool:
        work, limits = self._work, self._limits
        is_enough = work.chunks >= limits.chunks or work.bytes >= limits.bytes
        return is_enough or time.monotonic() >= self._until

    def _inside(self, hits: dict[int, Checked], behind: int | None) -> Inside:
        ordered = tuple(hits[seq] for seq in sorted(hits))
        return Inside(hits=ordered, next=behind, skipped=self._work.skipped)

    def _leaves(self, first: int) -> Iterator[Leaf]:
        chunks = self._chunks(first)
        for at in range(0, len(chunks), FETCHED):
            wanted = [(self._session.id, no) for no in chunks[at : at + FETCHED]]
            for _, sealed in sorted(leaves.fetch(wanted).items()):
                yield Leaf(self._session, self._owner, sealed)

    def _chunks(self, first: int) -> list[int]:
        workspace_id = self._session.workspace_id
        condition = candidates.condition(
            workspace_id,
            self._question.needs,
            lambda letters: vocabulary.grown(workspace_id, letters).spellings,
            has_results=self._question.has_results,
        )
        if condition.is_impossible:
            return []
        return candidates.of_session(condition, self._session.id, first=first)
