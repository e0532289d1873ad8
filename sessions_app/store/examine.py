"""Lines of opened chunks checked against a question: what the index only supposed is now known."""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from sessions_app import formats
from sessions_app.domain import passages
from sessions_app.domain.eventfilters import Tools
from sessions_app.domain.events import Reading, Unreadable, gist_of
from sessions_app.domain.matching import Match, Question
from sessions_app.models import Session
from sessions_app.store import calls, leaves, recall, vocabulary
from sessions_app.store.checked import Checked, Work
from sessions_app.store.leaves import Heard, Leaf, Line
from sessions_app.store.patterns import Patterns

# Opens a chunk; None if it is gone.
GetLeaf = Callable[[], Leaf | None]


class Examiner:
    def __init__(
        self, workspace_id: UUID, question: Question, work: Work, patterns: Patterns | None = None
    ) -> None:
        self.work = work
        self._question = question
        self._patterns = patterns
        self._tools = {each: vocabulary.tools(workspace_id, each.names) for each in question.tools}
        # Lines over several chunks: those that were looked at, and those nobody can read.
        self._done: set[tuple[int, int]] = set()
        self._unreadable: set[tuple[int, int]] = set()

    def fits(
        self, session: Session, leaf: Leaf, *, model: str, is_thorough: bool
    ) -> Iterator[Checked]:
        """From the last event to the first. Odd lines are looked at only where nothing else was
        found, unless all hits are wanted."""
        self.work.bytes += len(leaf.raw)
        signs = self._question.signs
        seen: set[int] = set()
        lines = leaf.lines(signs, has_results=self._question.has_results)
        for each in self._decided(session, self._matches(session, leaf, lines, model)):
            seen.add(each.seq)
            yield each
        if signs and (is_thorough or not seen):
            odd = self._matches(session, leaf, leaf.odd_lines(signs), model)
            fresh = (each for each in odd if each.seq not in seen)
            yield from self._decided(session, fresh)

    def at(
        self, session: Session, no: int, seqs: Sequence[int], leaf: GetLeaf, *, model: str
    ) -> Iterator[Checked]:
        """Of these events of a chunk, from the last to the first. It is opened for what is not held
        as it was read."""
        yield from self._decided(session, self._told(session, no, seqs, leaf, model))

    def _told(
        self, session: Session, no: int, seqs: Sequence[int], leaf: GetLeaf, model: str
    ) -> Iterator[Checked]:
        opened: Leaf | None = None
        for seq in reversed(seqs):
            heard = recall.heard(session, no, seq)
            is_held = heard is not None and heard.event.model == model
            if not is_held:
                opened = opened or leaf()
                heard, is_held = self._heard(session, seq, opened, model)
            if heard is None:
                continue
            match = self._question.examine(heard.event, heard.passages)
            if match is not None:
                if not is_held:
                    recall.hear(session, no, seq, heard)
                yield Checked(seq=seq, at=heard.at, role=heard.role, tool=heard.tool, match=match)

    def _heard(
        self, session: Session, seq: int, leaf: Leaf | None, model: str
    ) -> tuple[Heard | None, bool]:
        """And whether it is not to be held: what lies in several chunks can still change."""
        line = None if leaf is None else leaf.line(seq)
        if leaf is None or line is None:
            return None, False
        self.work.bytes += len(line.raw)
        if line.is_part:
            whole = self._whole(session, leaf, line)
            return None if whole is None else Heard(*whole, model), True
        fmt = formats.BY_NAME.get(session.format, formats.UNKNOWN)
        return Heard(*leaves.reading_of(fmt, line), model), False

    def _matches(
        self, session: Session, leaf: Leaf, lines: Iterator[Line], model: str
    ) -> Iterator[Checked]:
        fmt = formats.BY_NAME.get(session.format, formats.UNKNOWN)
        for line in lines:
            read = (
                self._whole(session, leaf, line) if line.is_part else leaves.reading_of(fmt, line)
            )
            if read is None:
                continue
            event = passages.event_of(*read, model=model)
            found = event.passages(has_results=self._question.has_results)
            match = self._question.examine(event, found)
            if match is not None:
                yield _checked(leaf.seq(line), read[0], match)

    def _whole(self, session: Session, leaf: Leaf, line: Line) -> tuple[Reading, bytes] | None:
        """Of a line over several chunks all, once, if that can be read; else the part at hand,
        which stands for itself."""
        key = (session.id, leaf.seq(line))
        if key in self._done:
            return None
        if key not in self._unreadable:
            found = leaves.whole(session, leaf.seq(line))
            self.work.bytes += len(found.raw)
            if not isinstance(found.reading.body, Unreadable):
                self._done.add(key)
                return found.reading, found.raw
            self._unreadable.add(key)
        return Reading(body=Unreadable(reason="a part of a line")), line.raw

    # What one event alone cannot tell ----------------------------------------------------------

    def _decided(self, session: Session, found: Iterator[Checked]) -> Iterator[Checked]:
        if self._question.tools and self._question.has_results:
            found = self._by_tools(session, list(found))
        if self._question.patterns and self._patterns is not None:
            found = self._patterns.agreed(list(found), self.work)
        return found

    def _by_tools(self, session: Session, found: list[Checked]) -> Iterator[Checked]:
        """A result belongs to the tool whose call it answers."""
        asked = [each.seq for each in found if each.match.tools]
        answered = calls.answered(session.id, asked) if asked else {}
        for each in found:
            terms = answered.get(each.seq, set())
            if all(self._is_by(tools, terms) for tools in each.match.tools):
                yield each

    def _is_by(self, tools: Tools, terms: set[int]) -> bool:
        return bool(self._tools[tools] & terms) is not tools.is_negated


def _checked(seq: int, reading: Reading, match: Match) -> Checked:
    body = reading.body
    return Checked(
        seq=seq,
        at=reading.at,
        role=passages.label_of(body),
        tool=gist_of(body).tool,
        match=match,
    )
