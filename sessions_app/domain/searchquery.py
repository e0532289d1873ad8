"""The one grammar of the list and the search: a line of text in, what is asked for out.

The text is the single truth. Every token keeps its place in it, so that a chip can be taken out
and a facet put in by rewriting the text. Reading never raises: what makes no sense is a `Bad`
token with a sentence, and the rest still counts.
"""

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sessions_app.domain.searchkeys import (
    COMPARED,
    KEYS,
    SETTINGS,
    SORTS,
    Kind,
    dollars,
    fits,
    misfit,
    moment,
    number,
    seconds,
    span,
)
from sessions_app.domain.searchtokens import (
    Bad,
    Filter,
    Op,
    Pattern,
    Phrase,
    Place,
    Text,
    Token,
    Word,
)

__all__ = [
    "KEYS", "LONGEST", "Bad", "Filter", "Kind", "Op", "Pattern", "Phrase", "Place", "Query",
    "Text", "Token", "Word", "bounded", "dollars", "moment", "narrowed", "number", "parse",
    "replaced", "seconds", "span", "without", "written",
]  # fmt: skip

LONGEST = 2_000
MOST_TOKENS = 64
LONGEST_PATTERN = 200
SHORTEST_PREFIX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    tokens: tuple[Token, ...]
    # All of them must be found in one event, each in one of its alternatives.
    wanted: tuple[tuple[Text, ...], ...]
    # What a session must be: several values of a key are alternatives, keys add up. Settings
    # (`sort:`, `in:`) are not among them.
    filters: tuple[Filter, ...]
    bad: tuple[Bad, ...]
    sort: str
    # Results of tools are searched, and subagents listed, only where that is asked for.
    has_results: bool
    has_subagents: bool

    @property
    def has_text(self) -> bool:
        """Only the text of events can answer it."""
        return bool(self.wanted) or any(map(_asks_for_events, self.filters))


def _asks_for_events(each: Filter) -> bool:
    if each.key == "error":
        return not {value.casefold() for value in each.values} <= {"yes", "no"}
    return KEYS[each.key].is_about_events


# Reading the text ---------------------------------------------------------------------------


def parse(text: str) -> Query:
    lexemes = list(_lexemes(text))
    tokens, wanted = _joined(lexemes)
    filters = tuple(each for each in tokens if isinstance(each, Filter))
    sorts = [each.values[0] for each in filters if each.key == "sort"]
    return Query(
        text=text,
        tokens=tokens,
        wanted=wanted,
        filters=tuple(each for each in filters if each.key not in SETTINGS),
        bad=tuple(each for each in tokens if isinstance(each, Bad)),
        sort=sorts[-1] if sorts else SORTS[0],
        has_results=_includes(filters, "results"),
        has_subagents=_includes(filters, "subagents"),
    )


def _includes(filters: Sequence[Filter], what: str) -> bool:
    return any(each.key == "in" and what in each.values for each in filters)


class _Or(NamedTuple):
    place: Place


_Lexeme = Token | _Or

_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_PATTERN = re.compile(r"/((?!/)(?:\\.|[^\\])+?)/(?=\s|\Z)", re.DOTALL)
_KEY = re.compile(r"([A-Za-z][A-Za-z_-]{1,19}):(>=|<=|>|<)?")
_LIST = re.compile(r'\[((?:"(?:\\.|[^"\\])*"|[^"\]\s])*)\]', re.DOTALL)
_ITEM = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"|([^",]+))\s*(?:,|\Z)', re.DOTALL)
_RUN = re.compile(r"\S+")
_SPACE = re.compile(r"\s*")
_SAYS_SOMETHING = re.compile(r"\w")


def _lexemes(text: str) -> Iterator[_Lexeme]:
    end = _reach(text)
    at = _after_space(text, 0)
    for _ in range(MOST_TOKENS):
        if at >= end:
            break
        found = _lexeme(text[:end], at)
        yield found
        at = _after_space(text, found.place.end)
    if at < len(text):
        reason = f"Only {MOST_TOKENS} terms and {LONGEST:,} characters are looked at."
        yield Bad(place=Place(start=at, end=len(text)), text=text[at:], message=reason)


def _reach(text: str) -> int:
    """How much is looked at: whole terms, unless a single one is too long."""
    if len(text) <= LONGEST:
        return len(text)
    gaps = [found.start() for found in re.finditer(r"\s", text[:LONGEST])]
    return gaps[-1] if gaps else LONGEST


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _run(text: str, at: int) -> int:
    """Where the run of characters without a space ends."""
    found = _RUN.match(text, at)
    return found.end() if found else at + 1


def _lexeme(text: str, start: int) -> _Lexeme:
    is_negated = text[start] in "-!" and start + 1 < len(text) and not text[start + 1].isspace()
    at = start + is_negated
    if text[at] == '"':
        return _phrase(text, start, at)
    pattern = _PATTERN.match(text, at)
    if pattern:
        return _pattern(text, start, pattern)
    key = _KEY.match(text, at)
    if key and not _is_prose(text, key):
        return _filter(text, start, key)
    end = _run(text, at)
    if text[start:end] == "OR":
        return _Or(Place(start=start, end=end))
    return _word(text, start, at, end)


def _bad(text: str, start: int, end: int, message: str) -> Bad:
    return Bad(place=Place(start=start, end=end), text=text[start:end], message=message)


def _phrase(text: str, start: int, at: int) -> Phrase | Bad:
    found = _QUOTED.match(text, at)
    if found is None:
        return _bad(text, start, _run(text, at), 'The quotation is not closed: add a “"”.')
    said = _unescaped(found[1])
    if not _SAYS_SOMETHING.search(said):
        return _bad(text, start, found.end(), "There is no letter or digit in it to look for.")
    place = Place(start=start, end=found.end())
    return Phrase(place=place, text=said, is_negated=at > start)


def _unescaped(quoted: str) -> str:
    return _ESCAPED.sub(r"\1", quoted)


def _pattern(text: str, start: int, found: re.Match[str]) -> Pattern | Bad:
    end, source = found.end(), found[1]
    if len(source) > LONGEST_PATTERN:
        return _bad(text, start, end, f"A pattern may have at most {LONGEST_PATTERN} characters.")
    problem = _no_pattern(source)
    if problem:
        return _bad(text, start, end, f"This is no regular expression: {problem}.")
    place = Place(start=start, end=end)
    return Pattern(place=place, source=source, is_negated=found.start() > start)


def _no_pattern(source: str) -> str:
    """What is wrong with a regular expression, if anything is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        return getattr(error, "msg", "") or "it goes too deep"
    return ""


def _word(text: str, start: int, at: int, end: int) -> Word | Bad:
    said = text[at:end]
    is_prefix = said.endswith("*")
    said = said.removesuffix("*")
    if "*" in said:
        message = "A “*” may stand only at the end of a word."
        return _bad(text, start, end, message)
    if is_prefix and len(_SAYS_SOMETHING.findall(said)) < SHORTEST_PREFIX:
        message = f"At least {SHORTEST_PREFIX} letters are needed before a “*”."
        return _bad(text, start, end, message)
    if not _SAYS_SOMETHING.search(said):
        return _bad(text, start, end, "There is no letter or digit in it to look for.")
    place = Place(start=start, end=end)
    return Word(place=place, text=said, is_prefix=is_prefix, is_negated=at > start)


def _is_prose(text: str, key: re.Match[str]) -> bool:
    """An address, a name with colons or the end of a sentence, and no filter."""
    follows = text[key.end() : key.end() + 2]
    if follows == "//":
        return True
    return key[1].lower() not in KEYS and (not follows[:1].strip() or follows[0] in ":/\\")


def _filter(text: str, start: int, key: re.Match[str]) -> Filter | Bad:
    name, op = key[1].lower(), Op(key[2] or ":")
    end, values, problem = _values(text, key.end())
    if name not in KEYS:
        problem = _unknown(name)
    problem = problem or _problem(name, op, values, is_negated=key.start() > start)
    if problem:
        return _bad(text, start, end, problem)
    if KEYS[name].kind is Kind.CHOICE:
        values = tuple(value.lower() for value in values)
    place = Place(start=start, end=end)
    return Filter(place=place, key=name, op=op, values=values, is_negated=key.start() > start)


def _values(text: str, at: int) -> tuple[int, tuple[str, ...], str]:
    """Where they end, what they are, and what is wrong with how they are written."""
    sign = text[at : at + 1]
    if sign == '"':
        quoted = _QUOTED.match(text, at)
        if quoted:
            return quoted.end(), (_unescaped(quoted[1]),), ""
        return _run(text, at), (), 'The quotation is not closed: add a “"”.'
    if sign == "[":
        found = _LIST.match(text, at)
        items = _items(found[1]) if found else ()
        if found and items:
            return found.end(), items, ""
        end = found.end() if found else _run(text, at)
        return end, (), "A list looks like [one,two], with quotation marks around spaces."
    end = at if not sign or sign.isspace() else _run(text, at)
    return end, ((text[at:end],) if end > at else ()), ""


def _items(inside: str) -> tuple[str, ...]:
    """Nothing unless all of it reads as a list."""
    out, at = [], 0
    while at < len(inside):
        found = _ITEM.match(inside, at)
        if found is None:
            return ()
        out.append(_unescaped(found[1]) if found[1] is not None else found[2])
        at = found.end()
    return tuple(out)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.5)
    advice = f"try “{near[0]}:”" if near else "choose one of those the field suggests"
    return f"There is no filter “{name}:”; {advice}, or put it in quotation marks as text."


def _problem(name: str, op: Op, values: tuple[str, ...], *, is_negated: bool) -> str:
    key = KEYS[name]
    if not values or not all(value.strip() for value in values):
        return f"“{name}:” needs a value, like {key.example}."
    if is_negated and name in SETTINGS:
        return f"“{name}:” cannot be negated."
    if op is not Op.IS and (key.kind not in COMPARED or len(values) > 1):
        return f"“{name}:” is not compared: write {key.example}."
    wrong = next((value for value in values if not fits(key, value)), None)
    return "" if wrong is None else misfit(name, key)


# OR -----------------------------------------------------------------------------------------


def _joined(lexemes: Sequence[_Lexeme]) -> tuple[tuple[Token, ...], tuple[tuple[Text, ...], ...]]:
    """Tokens and what is wanted; an OR that joins nothing is a token of its own."""
    tokens: list[Token] = []
    wanted: list[tuple[Text, ...]] = []
    is_joined = False
    for no, each in enumerate(lexemes):
        if isinstance(each, _Or):
            is_joined = _joins(lexemes, no)
            if not is_joined:
                message = "OR stands between two words, phrases or filters of one kind."
                tokens.append(Bad(place=each.place, text="OR", message=message))
            continue
        tokens.append(each)
        if isinstance(each, Text):
            wanted = [*wanted[:-1], (*wanted[-1], each)] if is_joined else [*wanted, (each,)]
        is_joined = False
    return tuple(tokens), tuple(wanted)


def _joins(lexemes: Sequence[_Lexeme], no: int) -> bool:
    if not 0 < no < len(lexemes) - 1:
        return False
    before, after = lexemes[no - 1], lexemes[no + 1]
    if isinstance(before, Filter) and isinstance(after, Filter):
        same = before.key == after.key and not before.is_bound and not after.is_bound
        return same and not before.is_negated and not after.is_negated
    return (
        isinstance(before, Text)
        and isinstance(after, Text)
        and not before.is_negated
        and not after.is_negated
    )


# Rewriting the text -------------------------------------------------------------------------


def without(query: Query, token: Token) -> str:
    """The text less one token. Only if what stays would then read otherwise (an open quotation
    that meets another) the bad tokens go as well."""
    text = _spelled(query, {token.place})
    rest = [_meaning(each) for each in query.tokens if each != token and not isinstance(each, Bad)]
    if [_meaning(each) for each in parse(text).tokens if not isinstance(each, Bad)] == rest:
        return text
    return _spelled(query, {token.place, *(each.place for each in query.bad)})


def narrowed(query: Query, key: str, value: str, *, is_negated: bool = False) -> str:
    """The text with one more filter; behind the rest, or before a quotation that is not closed."""
    return _added(query.text, ("-" if is_negated else "") + written(key, [value]))


def replaced(query: Query, key: str, values: Sequence[str]) -> str:
    """The text in which all filters of a key became one with these values, or none."""
    gone = {each.place for each in query.tokens if isinstance(each, Filter) and each.key == key}
    text = _spelled(query, gone) if gone else query.text.strip()
    return _added(text, written(key, values)) if values else text


def bounded(query: Query, key: str, *, at_least: str = "", at_most: str = "") -> str:
    """The text in which a key has these limits and no others."""
    text = replaced(query, key, [])
    for op, value in ((Op.AT_LEAST, at_least), (Op.AT_MOST, at_most)):
        text = _added(text, f"{key}:{op}{value}") if value else text
    return text


def _added(text: str, written: str) -> str:
    behind = f"{text.rstrip()} {written}".strip()
    good = _good(parse(text))
    added = _good(parse(written))
    is_kept = _good(parse(behind)) == good + added
    return behind if is_kept else f"{written} {text.strip()}".strip()


def _good(query: Query) -> list[object]:
    return [_meaning(each) for each in query.tokens if not isinstance(each, Bad)]


def _meaning(token: Token) -> object:
    """A token without its place."""
    names = (name for name in token.__slots__ if name != "place")
    return type(token), *(getattr(token, name) for name in names)


def _spelled(query: Query, gone: set[Place]) -> str:
    """The text without some of its places; an OR goes with the side it loses."""
    kept: list[str] = []
    ors = _or_places(query)
    waiting = ""
    for token in query.tokens:
        is_gone = token.place in gone
        if not is_gone:
            kept += [waiting, query.text[token.place.start : token.place.end]]
        is_joined = token.place.end in ors
        waiting = "OR" if is_joined and (not is_gone or waiting) else ""
    return " ".join(filter(None, kept))


def _or_places(query: Query) -> set[int]:
    """The ends of tokens that an OR follows which joins something."""
    ends: set[int] = set()
    for one, next_one in zip(query.tokens, query.tokens[1:], strict=False):
        between = query.text[one.place.end : next_one.place.start]
        if between.strip() == "OR":
            ends.add(one.place.end)
    return ends


# What would end a value, begin a list or a comparison, or close a pattern that stands before it.
_NEEDS_QUOTES = re.compile(r'[\s"\\/,\[\]]|\A[<>=]|\A\Z')
# No field of a form and no address can carry these: anything may stand there instead.
_UNTYPABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def written(key: str, values: Iterable[str]) -> str:
    """A filter as a person would type it."""
    quoted = [_quoted(value) for value in values]
    return f"{key}:{quoted[0]}" if len(quoted) == 1 else f"{key}:[{','.join(quoted)}]"


def _quoted(value: str) -> str:
    value = _UNTYPABLE.sub("*", value)
    if not _NEEDS_QUOTES.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
