"""A query as a question that one event answers: yes, with the places to mark, or no.

What the query says of sessions is not looked at here. Regular expressions are not run here
either, because one can take forever: a match says which of them still have to agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from sessions_app.domain import eventfilters, literals, passages, sought
from sessions_app.domain.eventfilters import Marks, Test, Tools, mark, places
from sessions_app.domain.events import Message, Role, value
from sessions_app.domain.passages import Event, Passage, Where
from sessions_app.domain.searchquery import Filter, Pattern, Phrase, Query, Text, Word
from sessions_app.domain.signs import Signs
from sessions_app.domain.sought import Need, Run, Sought, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Alternatives, one of which must be found; or, negated, none."""

    words: tuple[Sought, ...]
    patterns: tuple[int, ...]
    is_negated: bool


@value
class Match:
    """An event that fits, as far as it was looked at."""

    event: Event
    passages: list[Passage]
    marks: dict[int, list[Span]]
    # Groups that only a regular expression can decide.
    undecided: tuple[Group, ...] = ()
    # It holds results, and only the calls they answer say by which tools.
    tools: tuple[Tools, ...] = ()
    is_about_calls: bool = False

    def decided(self, found: Mapping[int, Marks]) -> "Match | None":
        """With what each regular expression found in the passages."""
        marks = {no: list(spans) for no, spans in self.marks.items()}
        for group in self.undecided:
            hits = [found[no] for no in group.patterns if found.get(no)]
            if bool(hits) is group.is_negated:
                return None
            for each in hits:
                mark(marks, each)
        return replace(self, marks=marks, undecided=())

    @property
    def score(self) -> float:
        """Who said it counts more than how often."""
        weight = max((_WEIGHT[self.passages[no].where] for no in self.marks), default=0.0)
        if isinstance(self.event.body, Message):
            weight += _WEIGHT_OF_ROLE.get(self.event.body.role, 0.0)
        together = max((len(spans) for spans in self.marks.values()), default=0)
        return weight + min(together, 10) / 10


# A prompt says what a session is about; what a program says in every session does not.
_WEIGHT_OF_ROLE = {Role.USER: 1.0, Role.SYSTEM: -2.0}
_WEIGHT = {
    Where.SAID: 5.0,
    Where.COMMAND: 4.0,
    Where.PATH: 3.5,
    Where.ADDRESS: 3.5,
    Where.CALL: 3.0,
    Where.THOUGHT: 2.5,
    Where.RESULT: 2.0,
    Where.OTHER: 1.0,
    Where.RAW: 1.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    groups: tuple[Group, ...]
    tests: tuple[Test, ...]
    tools: tuple[Tools, ...]
    # Sources of regular expressions.
    patterns: tuple[str, ...]
    has_results: bool
    # The index must know one alternative of each.
    needs: tuple[Need, ...]
    # The same of one event: runs of words, and needs without those that a run tells better.
    runs: tuple[Run, ...]
    loose: tuple[Need, ...]
    # What a raw line must show.
    signs: Signs

    @property
    def is_empty(self) -> bool:
        """It asks nothing of events."""
        return not (self.groups or self.tests or self.tools)

    def examine(self, event: Event, found: list[Passage]) -> Match | None:
        """`found` are its passages, with or without results as the question says."""
        marks: dict[int, list[Span]] = {}
        tools = self._tools(event)
        if tools is None:
            return None
        for test in self.tests:
            told = test(event, found)
            if told is None:
                return None
            mark(marks, told)
        undecided = []
        for group in self.groups:
            verdict = _look(group, found, marks)
            if verdict is False:
                return None
            if verdict is None:
                undecided.append(group)
        return Match(
            event=event,
            passages=found,
            marks=marks,
            undecided=tuple(undecided),
            tools=tools,
            is_about_calls=bool(self.tools),
        )

    def _tools(self, event: Event) -> tuple[Tools, ...] | None:
        """None if it is by another tool; else what is still open."""
        if not self.tools:
            return ()
        called = passages.called(event.body)
        if self.has_results and passages.answers(event.body):
            return tuple(each for each in self.tools if not (called and each.fits(called)))
        return () if all(each.fits(called) for each in self.tools) else None


def _look(group: Group, found: list[Passage], marks: dict[int, list[Span]]) -> bool | None:
    """Yes, no, or undecided."""
    is_found = False
    for one in group.words:
        hits = places(one, found)
        is_found = is_found or bool(hits)
        mark(marks, {} if group.is_negated else hits)
    if is_found:
        return not group.is_negated
    if group.patterns:
        return None
    return group.is_negated


# From a query -------------------------------------------------------------------------------


def question(query: Query) -> Question:
    sources: list[str] = []
    groups = tuple(_group(each, sources) for each in query.wanted)
    filters = [each for each in query.filters if each.key in eventfilters.KEYS]
    has_results = query.has_results or any(map(eventfilters.asks_for_results, filters))
    merged = list(eventfilters.merged(filters))
    of_filters = [eventfilters.need_of(each, has_results=has_results) for each in merged]
    needs = [*map(_need_of, groups), *of_filters]
    loose = [*(_need_of(group) for group in groups if not _run_of(group)), *of_filters]
    return Question(
        groups=groups,
        tests=tuple(eventfilters.test_of(each) for each in merged if each.key != "tool"),
        tools=tuple(eventfilters.tools_of(each) for each in merged if each.key == "tool"),
        patterns=tuple(sources),
        has_results=has_results,
        needs=tuple(need for need in needs if need),
        runs=tuple(run for run in map(_run_of, groups) if run),
        loose=tuple(need for need in loose if need),
        signs=_signs(groups, sources, merged),
    )


def _group(alternatives: tuple[Text, ...], sources: list[str]) -> Group:
    found: list[Sought] = []
    patterns: list[int] = []
    for each in alternatives:
        if isinstance(each, Pattern):
            patterns.append(len(sources))
            sources.append(each.source)
        else:
            found.append(_sought(each))
    return Group(
        words=tuple(found), patterns=tuple(patterns), is_negated=alternatives[0].is_negated
    )


def _sought(each: Word | Phrase) -> Sought:
    match each:
        case Phrase():
            return sought.phrase(each.text)
        case Word() if sought.is_token(each.text):
            token = each.text.encode("utf-8", "replace")
            return sought.beginning(token) if each.is_prefix else sought.word(token)
        case Word():
            return sought.phrase(each.text, is_open=each.is_prefix)
        case _:
            assert_never(each)


def _need_of(group: Group) -> Need:
    if group.is_negated or group.patterns:
        return ()
    return sought.any_of([each.needs for each in group.words])


def _run_of(group: Group) -> Run:
    is_alone = len(group.words) == 1 and not group.patterns and not group.is_negated
    return group.words[0].run if is_alone else ()


def _signs(groups: tuple[Group, ...], sources: list[str], filters: list[Filter]) -> Signs:
    firm = [each for each in groups if not each.is_negated]
    needles = [
        (*(each.needle for each in group.words), *(literals.of(sources[n]) for n in group.patterns))
        for group in firm
    ]
    needles += [eventfilters.needles_of(each) for each in filters]
    told = [each for each in needles if each and all(each)]
    alone = [group.words[0] for group in firm if len(group.words) == 1 and not group.patterns]
    return Signs(
        alone=tuple(each[0] for each in told if len(each) == 1),
        one_of=tuple(each for each in told if len(each) > 1),
        phrases=tuple(each.phrase for each in alone if each.phrase is not None),
    )
