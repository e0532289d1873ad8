"""What surrounds the rows of the list: chips, the panel, times and numbers. Each is a link or a
form that leads to the list with another text."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from sessions_app.domain import histogram, searchquery
from sessions_app.domain.errors import BadInput
from sessions_app.domain.lifecycle import Status
from sessions_app.domain.searchquery import Bad, Filter, Query
from sessions_app.store import overview
from sessions_app.store.conditions import Asked
from sessions_app.store.overview import Overview
from sessions_app.templatetags import show

AMOUNTS: dict[str, Callable[[int], str]] = {
    "tokens": show.short,
    "cost": show.dollars,
    "duration": show.duration,
}
QUICK = (("24 h", "-24h"), ("7 days", "-7d"), ("30 days", "-30d"))


def link(text: str, **more: str) -> str:
    """The list as this text asks for it."""
    asked = {"q": text} if text.strip() else {}
    values = urlencode({**asked, **more})
    return f"{reverse('sessions:list')}?{values}" if values else reverse("sessions:list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    text: str
    url: str
    message: str


def chips(asked: Asked) -> list[Chip]:
    unanswered = {problem.token.place: problem.message for problem in asked.problems()}
    return [
        Chip(
            text=asked.query.text[token.place.start : token.place.end],
            url=link(searchquery.without(asked.query, token)),
            message=token.message if isinstance(token, Bad) else unanswered.get(token.place, ""),
        )
        for token in asked.query.tokens
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A value of the panel: what a click on each of its controls makes of the text."""

    name: str
    count: int
    is_wanted: bool
    is_refused: bool
    toggle_url: str
    only_url: str
    not_url: str


def panel(query: Query, found: Overview) -> list[dict[str, object]]:
    groups = [_states(query, found)] if found.states else []
    groups += [_group(query, group) for group in found.groups]
    return groups


def _group(query: Query, group: overview.Group) -> dict[str, object]:
    shown = {value.name.casefold() for value in group.values}
    chosen = [
        overview.Value(name=name, count=0)
        for name in _values(query, group.kind.key, is_negated=False)
        if name.casefold() not in shown and "*" not in name
    ]
    return {
        "key": group.kind.key,
        "title": f"{group.kind.key.capitalize()}s",
        "values": [_choice(query, group.kind.key, v) for v in (*group.values, *chosen)],
        "more": group.more,
        "more_url": link(query.text, more=group.kind.key) + f"#facet-{group.kind.key}",
    }


def _states(query: Query, found: Overview) -> dict[str, object]:
    counts = [
        overview.Value(name=state.value, count=found.states[state])
        for state in Status
        if state in found.states
    ]
    return {
        "key": "is",
        "title": "Status",
        "values": [_choice(query, "is", value) for value in counts],
        "more": 0,
        "more_url": "",
    }


def _choice(query: Query, key: str, value: overview.Value) -> Choice:
    wanted = _values(query, key, is_negated=False)
    refused = {name.casefold() for name in _values(query, key, is_negated=True)}
    is_wanted = value.name.casefold() in {name.casefold() for name in wanted}
    others = [name for name in wanted if name.casefold() != value.name.casefold()]
    return Choice(
        name=value.name,
        count=value.count,
        is_wanted=is_wanted,
        is_refused=value.name.casefold() in refused,
        toggle_url=link(_with(query, key, others if is_wanted else [*wanted, value.name])),
        only_url=link(searchquery.replaced(query, key, [value.name])),
        not_url=link(searchquery.narrowed(query, key, value.name, is_negated=True)),
    )


def _with(query: Query, key: str, wanted: list[str]) -> str:
    """The wanted values of a key become these; what is refused stays."""
    text = searchquery.replaced(query, key, wanted)
    for name in _values(query, key, is_negated=True):
        text = searchquery.narrowed(searchquery.parse(text), key, name, is_negated=True)
    return text


def _values(query: Query, key: str, *, is_negated: bool) -> list[str]:
    return [
        value
        for each in query.filters
        if each.key == key and each.is_negated is is_negated
        for value in each.values
    ]


def times(query: Query, found: Overview) -> dict[str, object]:
    bars = histogram.bars(found.moments)
    return {
        "bars": bars,
        "is_cut": found.is_cut and found.count >= overview.LOOKED_AT,
        "from": _day(query, "after"),
        "to": _day(query, "before"),
        "quick": [
            (label, link(between(query, start, "")), _limit(query, "after") == start)
            for label, start in QUICK
        ],
        "all_url": link(between(query, "", "")),
        "is_all": not _limit(query, "after") and not _limit(query, "before"),
    }


def _limit(query: Query, key: str) -> str:
    return next((each.values[0] for each in _limits_of(query, key)), "")


def _limits_of(query: Query, key: str) -> list[Filter]:
    return [each for each in query.filters if each.key == key and not each.is_negated]


def _day(query: Query, key: str) -> str:
    """For a field of days, of which the last one is meant to be in it."""
    moment = searchquery.moment(_limit(query, key), now=timezone.now())
    return _shifted(moment, timedelta(seconds=-1 if key == "before" else 0))


def day_after(day: str) -> str:
    """Where a stretch ends that has this day in it."""
    moment = searchquery.moment(day, now=timezone.now())
    return _shifted(moment, timedelta(days=1)) or day


def _shifted(moment: datetime | None, by: timedelta) -> str:
    """Empty where no calendar has the day."""
    try:
        return (moment + by).date().isoformat() if moment else ""
    except OverflowError:
        return ""


def limits(query: Query, key: str, label: str, found: Overview) -> dict[str, object]:
    asked = {each.op.value: each.values[0] for each in _limits_of(query, key)}
    return {
        "key": key,
        "label": label,
        "low": asked.get(">=", asked.get(">", "")),
        "high": asked.get("<=", asked.get("<", "")),
        "bars": _doublings(found.numbers[key], AMOUNTS[key]),
    }


def _doublings(counts: dict[int, int], amount: Callable[[int], str]) -> list[tuple[str, int]]:
    """Bars from the smallest number to the largest, each twice as far as the one before."""
    powers = range(min(counts, default=0), max(counts, default=-1) + 1)
    return [(f"from {amount(2**power)}", counts.get(power, 0)) for power in powers]


def hidden(query: Query, found: Overview) -> dict[str, str] | None:
    if not found.hidden:
        return None
    is_cut = found.hidden > overview.LOOKED_AT
    label = overview.count_label(
        min(found.hidden, overview.LOOKED_AT), is_cut=is_cut, one="subagent", many="subagents"
    )
    return {"label": label, "url": link(searchquery.narrowed(query, "in", "subagents"))}


def between(query: Query, start: str, end: str) -> str:
    for each in (start, end):
        if each and searchquery.moment(each, now=timezone.now()) is None:
            raise BadInput("A date looks like 2026-10-01.")
    text = searchquery.replaced(query, "after", [start] if start else [])
    return searchquery.replaced(searchquery.parse(text), "before", [end] if end else [])
