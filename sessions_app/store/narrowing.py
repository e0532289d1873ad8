"""What a query says of sessions, for the search: columns are asked of the database, names of the
sealed facts."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from django.db.models import Q

from sessions_app.domain import eventfilters, searchquery
from sessions_app.domain.searchquery import Filter, Op, Query
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import facts as facts_of
from sessions_app.store.facts import Facts

_LOOKUP = {
    Op.IS: "exact",
    Op.MORE: "gt",
    Op.LESS: "lt",
    Op.AT_LEAST: "gte",
    Op.AT_MOST: "lte",
}
_IS: dict[str, Q] = {
    "archived": Q(archived_at__isnull=False),
    "held": Q(held=True),
    "incomplete": Q(tail_bytes__gt=0),
    "error": Q(errors__gt=0),
    "subagent": Q(part=Part.SUBAGENT),
}
_HAS: dict[str, Q] = {"error": Q(errors__gt=0), "unreadable": Q(unreadable__gt=0)}
_NAMES: dict[str, Callable[[Facts], str]] = {
    "project": facts_of.project_of,
    "machine": lambda facts: facts.machine,
    "branch": lambda facts: facts.branch,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """SQL about a session `s`, and what only its opened facts can tell."""

    sql: str = ""
    parameters: tuple[Any, ...] = ()
    filters: tuple[Filter, ...] = field(default=())

    def fits(self, facts: Facts) -> bool:
        return all(_fits(each, facts) for each in self.filters)


def of(query: Query, *, now: datetime) -> Narrowing:
    own = list(eventfilters.merged([e for e in query.filters if e.key not in eventfilters.KEYS]))
    rows = Session.objects.all()
    by_facts = []
    for each in own:
        if each.key in (*_NAMES, "title"):
            by_facts.append(each)
        elif (asked := _column(each, now)) is not None:
            rows = rows.exclude(asked) if each.is_negated else rows.filter(asked)
    if not rows.query.where:
        return Narrowing(filters=tuple(by_facts))
    sql, parameters = rows.values("id").query.sql_with_params()
    return Narrowing(sql=f" AND s.id IN ({sql})", parameters=parameters, filters=tuple(by_facts))


def _column(each: Filter, now: datetime) -> Q | None:
    makers: dict[str, Callable[[str], Q | None]] = {
        "is": _IS.get,
        "has": _HAS.get,
        "agent": lambda value: _like("agent", value),
        "format": lambda value: _like("format", value),
        "after": lambda value: Q(sort_at__gte=searchquery.moment(value, now=now)),
        "before": lambda value: Q(sort_at__lt=searchquery.moment(value, now=now)),
        **{name: _number(name, each.op) for name in ("errors", "events", "prompts")},
    }
    make = makers.get(each.key)
    return None if make is None else _any(map(make, each.values))


def _any(asked: Iterable[Q | None]) -> Q | None:
    out: Q | None = None
    for each in asked:
        if each is not None:
            out = each if out is None else out | each
    return out


def _like(column: str, value: str) -> Q:
    if "*" not in value:
        return Q(**{f"{column}__iexact": value})
    pattern = ".*".join(re.escape(piece) for piece in value.split("*"))
    return Q(**{f"{column}__iregex": f"^{pattern}$"})


def _number(column: str, op: Op) -> Callable[[str], Q]:
    return lambda value: Q(**{f"{column}__{_LOOKUP[op]}": searchquery.number(value) or 0})


def _fits(each: Filter, facts: Facts) -> bool:
    values = [value.casefold() for value in each.values]
    if each.key == "title":
        found = any(value.replace("*", "") in facts.title.casefold() for value in values)
    else:
        name = _NAMES[each.key](facts).casefold()
        found = any(_is_like(name, value) for value in values)
    return found is not each.is_negated


def _is_like(name: str, value: str) -> bool:
    if "*" not in value:
        return name == value
    return fnmatchcase(name, value.replace("[", "[[]").replace("?", "[?]"))
