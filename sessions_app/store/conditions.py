"""A query as a condition on session rows, and what of it cannot be asked.

Names and marks are blind terms under one index; numbers and times are columns. Values of one key
are alternatives, limits of one key all hold, keys add up.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import translate
from functools import reduce
from operator import or_
from re import compile as pattern

from django.db.models import Case, CharField, F, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.db.models.lookups import (
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    Lookup,
)

from sessions_app.domain import eventfilters, searchquery
from sessions_app.domain.facets import BY_KEY, Facet, words
from sessions_app.domain.lifecycle import SPANS, TURNS, Span, Status, Turn
from sessions_app.domain.searchquery import Filter, Op, Query, Token
from sessions_app.models import Workspace
from sessions_app.models.record import Part
from sessions_app.store import facets
from sessions_app.store.checked import Matches
from sessions_app.store.facets import Blind

# True of no row, and still a condition the database is asked.
NOTHING = Q(part__lt=0)
# Text may be found in a subagent as well as anywhere.
_MAIN, _LISTED = Q(part=Part.MAIN), Q(part__lt=Part.SIDE)

_LOOKUPS: dict[Op, "type[Lookup[bool]]"] = {
    Op.IS: Exact,
    Op.MORE: GreaterThan,
    Op.LESS: LessThan,
    Op.AT_LEAST: GreaterThanOrEqual,
    Op.AT_MOST: LessThanOrEqual,
}


def known(column: str) -> Coalesce:
    """As the indexes have it: what is unknown is below every number."""
    return Coalesce(column, Value(-1))


_NUMBERS: dict[str, tuple[Combinable, Callable[[str], int | None]]] = {
    "tokens": (known("tokens"), searchquery.number),
    "cost": (known("cost"), searchquery.dollars),
    "duration": (known("seconds"), searchquery.seconds),
    "errors": (F("errors"), searchquery.number),
    "events": (F("events"), searchquery.number),
    "prompts": (F("prompts"), searchquery.number),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A part that reads well and still cannot be answered: it is left out, and says so."""

    token: Token
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query as it is asked in a workspace at a moment."""

    workspace: Workspace
    query: Query
    now: datetime
    # None: there is no text to look for.
    matches: Matches | None = None
    # What of the text was given up while it was looked for.
    given_up: tuple[Problem, ...] = ()

    @property
    def is_cut(self) -> bool:
        """The text was not looked for everywhere: there may be more sessions with it."""
        return self.matches is not None and self.matches.is_cut

    @property
    def has_subagents(self) -> bool:
        """Text is found wherever it stands; else subagents are listed if the query says so."""
        named = any(each.key == "is" and "subagent" in each.values for each in self.query.filters)
        return self.query.has_text or self.query.has_subagents or named

    def condition(self, *, less: Facet | None = None) -> Q:
        """`less` leaves the filters of one key out: the panel offers its other values."""
        parts = _LISTED if self.has_subagents else _MAIN
        return parts & self.elsewhere(less=less)

    def elsewhere(self, *, less: Facet | None = None) -> Q:
        """The same without saying whether subagents count."""
        out = Q(workspace=self.workspace)
        if self.matches is not None:
            out &= Q(id__in=self.matches.ids) if self.matches.ids else NOTHING
        translate_ = _Translator(self)
        for key, filters in _by_key(self.query).items():
            if (less is None or key != less.key) and not self._is_told_by_events(key):
                out &= translate_.all_of(filters)
        return out

    def _is_told_by_events(self, key: str) -> bool:
        """Beside text a tool is that of the event which has the text, as in the search: the
        matches hold for it, and a session may use that tool elsewhere."""
        return self.matches is not None and key in eventfilters.KEYS

    def problems(self) -> list[Problem]:
        titles = [
            Problem(token=each, message="“title:” looks for whole words, without “*”.")
            for each in self.query.filters
            if each.key == "title" and not _is_answered(each)
        ]
        return [*titles, *self.given_up]


def _by_key(query: Query) -> dict[str, list[Filter]]:
    out = defaultdict(list)
    for each in filter(_is_answered, query.filters):
        out[each.key].append(each)
    return out


def _is_answered(each: Filter) -> bool:
    """By the rows of sessions. Filters about events are for the search."""
    if each.key == "title":
        return all("*" not in value and words(value) for value in each.values)
    if each.key == "error":
        return {value.casefold() for value in each.values} <= {"yes", "no"}
    return not searchquery.KEYS[each.key].is_about_events


def state_of(now: datetime) -> Case:
    """The status of each row by its columns, for counting: cheaper than looking into its terms."""
    cases = [
        When(_turn(span.turn) & _silent(span, now), then=Value(each.value))
        for each, spans in SPANS.items()
        for span in spans
    ]
    archived = When(archived_at__isnull=False, then=Value(Status.ARCHIVED.value))
    return Case(archived, *cases, default=Value(""), output_field=CharField())


def _turn(whose: Turn) -> Q:
    ends = Q(ending__in=[ending for ending, each in TURNS.items() if each is whose])
    if whose is Turn.NOBODY:
        return Q(last_at__isnull=True) | ends
    return Q(last_at__isnull=False) & ends


def _silent(span: Span, now: datetime) -> Q:
    out = Q()
    if span.over is not None:
        out &= Q(sort_at__lte=now - span.over)
    if span.under is not None:
        out &= Q(sort_at__gt=now - span.under)
    return out


class _Translator:
    def __init__(self, asked: Asked) -> None:
        self._workspace_id = asked.workspace.id
        self._now = asked.now
        self._blind = Blind(asked.workspace.id)

    def all_of(self, filters: Sequence[Filter]) -> Q:
        """Filters of one key."""
        out = Q()
        wanted = [each for each in filters if not each.is_negated and not each.is_bound]
        if wanted:
            out &= reduce(or_, (self._one(each) for each in wanted))
        for each in filters:
            if each.is_negated:
                out &= ~self._one(each)
            elif each.is_bound:
                out &= self._one(each)
        return out

    def _one(self, each: Filter) -> Q:
        if each.key in BY_KEY:
            return self._named(BY_KEY[each.key], each.values)
        if each.key in _NUMBERS:
            return self._number(each)
        one = {
            "is": self._is,
            "has": self._has,
            "title": self._title,
            "after": self._after,
            "before": self._before,
            "during": self._during,
            "error": self._error,
        }[each.key]
        return reduce(or_, map(one, each.values))

    def _named(self, kind: Facet, values: Sequence[str]) -> Q:
        terms = {self._blind.term(kind.key, value) for value in values if "*" not in value}
        patterns = [value for value in values if "*" in value]
        if patterns:
            fits = [pattern(translate(_literal(value.casefold()))) for value in patterns]
            terms.update(
                name.term
                for name in facets.all_of(self._workspace_id, kind)
                if any(fit.match(name.value.casefold()) for fit in fits)
            )
        return Q(facets__overlap=sorted(terms)) if terms else NOTHING

    def _number(self, each: Filter) -> Q:
        column, read = _NUMBERS[each.key]
        of = _LOOKUPS[each.op]
        out = Q()
        for value in each.values:
            out |= Q(of(column, Value(read(value) or 0)))
        # What is unknown is neither less nor more than anything.
        return out & Q(GreaterThanOrEqual(column, Value(0)))

    def _mark(self, key: str, value: str) -> Q:
        return Q(facets__contains=[self._blind.term(key, value)])

    def _is(self, value: str) -> Q:
        if value in set(Status):
            return self.status(Status(value))
        special = {"error": self._has("error"), "held": Q(held=True), "pinned": NOTHING}
        return special.get(value) or self._mark("is", value)

    def _has(self, value: str) -> Q:
        return Q(cost__isnull=False) if value == "cost" else self._mark("has", value)

    def _error(self, value: str) -> Q:
        return self._has("error") if value.casefold() == "yes" else ~self._has("error")

    def _title(self, value: str) -> Q:
        return Q(facets__contains=sorted(self._blind.term("title", each) for each in words(value)))

    def _after(self, value: str) -> Q:
        return Q(sort_at__gte=searchquery.moment(value, now=self._now))

    def _before(self, value: str) -> Q:
        return Q(sort_at__lt=searchquery.moment(value, now=self._now))

    def _during(self, value: str) -> Q:
        """A session lasts from its first event to its last, whatever pauses are between."""
        found = searchquery.span(value, now=self._now)
        return Q(started_at__lte=found[1], last_at__gte=found[0]) if found else NOTHING

    def status(self, each: Status) -> Q:
        if each is Status.ARCHIVED:
            return Q(archived_at__isnull=False)
        return reduce(or_, map(self._span, SPANS[each])) & Q(archived_at=None)

    def _span(self, span: Span) -> Q:
        return self._mark("turn", span.turn) & _silent(span, self._now)


def _literal(value: str) -> str:
    """Only the star is a sign."""
    return value.replace("[", "[[]").replace("?", "[?]")
