"""Filters about events: what each asks of a line, and what it asks of the index."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from sessions_app.domain import passages, sought, words
from sessions_app.domain.events import Message
from sessions_app.domain.passages import Event, Passage, Where
from sessions_app.domain.searchquery import Filter
from sessions_app.domain.sought import Need, Sought, Span

# Places to mark, by the number of the passage.
Marks = Mapping[int, list[Span]]
# What a filter says of an event: the places to mark, or None if it does not fit.
Test = Callable[[Event, list[Passage]], Marks | None]

KEYS = frozenset({"role", "tool", "file", "path", "cmd", "url", "error", "model"})
_KINDS = {
    "user": ("user",),
    "assistant": ("assistant",),
    "system": ("system",),
    # In some formats a tool answers in the name of the user.
    "tool": ("tool", "user"),
}
_YES = frozenset({"yes"})
_NO = frozenset({"no"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Names of tools, in small letters; `*` stands for anything."""

    names: tuple[str, ...]
    is_negated: bool

    def fits(self, called: list[str]) -> bool:
        found = any(_is_like(each.casefold(), name) for each in called for name in self.names)
        return found is not self.is_negated


def asks_for_results(each: Filter) -> bool:
    """What went wrong, and what tools say, stands in their results."""
    values = {value.casefold() for value in each.values}
    if each.is_negated:
        return False
    return (each.key == "error" and not values <= _NO) or (each.key == "role" and "tool" in values)


def merged(filters: list[Filter]) -> Iterator[Filter]:
    """Several values of a key are alternatives; what is negated holds by itself."""
    for key in dict.fromkeys(each.key for each in filters):
        own = [each for each in filters if each.key == key]
        wanted = [value for each in own if not each.is_negated for value in each.values]
        if wanted:
            yield replace(own[0], values=tuple(wanted), is_negated=False)
        yield from (each for each in own if each.is_negated)


def _is_like(text: str, pattern: str) -> bool:
    """Only `*` is special."""
    if "*" not in pattern:
        return text == pattern
    return fnmatchcase(text, re.sub(r"([?\[])", r"[\1]", pattern))


def tools_of(each: Filter) -> Tools:
    names = tuple(value.casefold() for value in each.values)
    return Tools(names=names, is_negated=each.is_negated)


def test_of(each: Filter) -> Test:
    return _TESTS[each.key](each)


def places(one: Sought, found: list[Passage]) -> Marks:
    return {no: spans for no, each in enumerate(found) if (spans := one.spans(each))}


def mark(marks: dict[int, list[Span]], more: Marks) -> None:
    for no, spans in more.items():
        marks.setdefault(no, []).extend(spans)


def _verdict(is_so: bool, each: Filter) -> Marks | None:
    return {} if is_so is not each.is_negated else None


def _role_test(each: Filter) -> Test:
    return lambda event, _: _verdict(passages.role_of(event.body) in each.values, each)


def _model_test(each: Filter) -> Test:
    names = [value.casefold() for value in each.values]

    def test(event: Event, _: list[Passage]) -> Marks | None:
        said = event.body.model if isinstance(event.body, Message) else ""
        model = (said or event.model).casefold()
        return _verdict(any(_is_like(model, name) for name in names), each)

    return test


def _error_test(each: Filter) -> Test:
    values = {value.casefold() for value in each.values}
    told = [sought.phrase(value) for value in values - _YES - _NO]

    def test(event: Event, found: list[Passage]) -> Marks | None:
        marks: dict[int, list[Span]] = {}
        if event.is_error:
            for one in told:
                mark(marks, places(one, found))
        is_so = bool(marks) or (event.is_error and "yes" in values)
        is_so = is_so or (not event.is_error and "no" in values)
        return marks if is_so and not each.is_negated else _verdict(is_so, each)

    return test


def _name_test(each: Filter) -> Test:
    names = _names(each)

    def test(_: Event, found: list[Passage]) -> Marks | None:
        marks: dict[int, list[Span]] = {}
        for no, passage in enumerate(found):
            for start, part in _parts_for(each.key, passage):
                spans = [span for one in names for span in one.spans(part)]
                if spans:
                    marks.setdefault(no, []).extend((start + lo, start + hi) for lo, hi in spans)
        return marks if marks and not each.is_negated else _verdict(bool(marks), each)

    return test


def _names(each: Filter) -> list[Sought]:
    make = sought.file if each.key == "file" else sought.name
    return [make(value) for value in each.values]


_NAMED = {"file": Where.PATH, "path": Where.PATH, "cmd": Where.COMMAND}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>`\\|{}]{1,2000}")


def _parts_for(key: str, passage: Passage) -> Iterator[tuple[int, Passage]]:
    """What of a passage a filter looks at: all of it, or the addresses in it."""
    if key in _NAMED:
        if passage.where is _NAMED[key]:
            yield 0, passage
    elif passage.where is Where.ADDRESS:
        yield 0, passage
    elif "://" in passage.text:
        for found in _ADDRESS.finditer(passage.text):
            yield passage.offset(found.start()), Passage(Where.ADDRESS, found[0])


_TESTS: dict[str, Callable[[Filter], Test]] = {
    "role": _role_test,
    "model": _model_test,
    "error": _error_test,
    **dict.fromkeys(("file", "path", "cmd", "url"), _name_test),
}


# What the index is asked --------------------------------------------------------------------


def need_of(each: Filter, *, has_results: bool) -> Need:
    if each.is_negated or each.key not in _NEEDS:
        return ()
    if each.key == "tool" and has_results:
        # A result is known by its call, which may be in another chunk.
        return ()
    return _NEEDS[each.key](each)


def needles_of(each: Filter) -> tuple[bytes, ...]:
    """Bytes of which a raw line must contain one; empty ones where bytes cannot tell."""
    if each.is_negated or _TESTS.get(each.key) is not _name_test:
        return ()
    return tuple(one.needle for one in _names(each))


def _role_need(each: Filter) -> Need:
    kinds = [kind for value in each.values for kind in _KINDS[value]]
    return tuple(frozenset({words.facet("kind", kind)}) for kind in kinds)


def _error_need(each: Filter) -> Need:
    values = {value.casefold() for value in each.values}
    if values & _NO:
        return ()
    told = [] if values & _YES else [sought.any_of([sought.phrase(v).needs for v in values])]
    return sought.all_of([(frozenset({words.facet("is", "error")}),), *told])


def _name_need(each: Filter) -> Need:
    return sought.any_of([one.needs for one in _names(each)])


def _tools_need(each: Filter) -> Need:
    return sought.any_of([_tool_need(value) for value in each.values])


def _tool_need(value: str) -> Need:
    """The first tool of a line is a facet of its chunk; the names of all are words of it."""
    if "*" in value:
        return sought.name(value).needs
    spelled = frozenset(words.spellings(each)[0] for each in sought.tokens(value))
    facet = words.facet("tool", value.casefold())
    return (frozenset({facet}), spelled) if spelled else (frozenset({facet}),)


_NEEDS: dict[str, Callable[[Filter], Need]] = {
    "role": _role_need,
    "error": _error_need,
    "tool": _tools_need,
    **dict.fromkeys(("file", "path", "cmd", "url"), _name_need),
}
