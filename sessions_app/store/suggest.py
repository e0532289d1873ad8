"""What may follow in the query field: keys, and the values a key has among the sessions."""

import re
from dataclasses import dataclass
from datetime import datetime

from sessions_app.domain import searchquery
from sessions_app.domain.facets import BY_KEY
from sessions_app.domain.lifecycle import Status
from sessions_app.domain.searchquery import KEYS, Filter, Kind, Query
from sessions_app.models import Workspace
from sessions_app.store import overview
from sessions_app.store.conditions import Asked

MOST = 10
# Names that are offered before their key is typed.
_UNASKED = 4
_FROM = 2
_EXAMPLES = {
    Kind.NUMBER: (">0", ">1000", ">50k"),
    Kind.DOLLARS: (">0.1", ">1", ">10"),
    Kind.SECONDS: ("<5m", ">5m", ">1h"),
    Kind.SPAN: ("today", "yesterday", "-24h..now", "-7d..-1d"),
    Kind.MOMENT: ("today", "yesterday", "-24h", "-7d", "-30d"),
}
_TYPED = re.compile(r'([-!]?)([A-Za-z]+):"?(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    shown: str
    hint: str
    # How many sessions it would leave, where that is known.
    count: int | None
    is_floor: bool
    # The whole text with it, and where the cursor is then.
    text: str
    cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """The piece of the text that is being typed."""

    text: str
    start: int
    end: int

    @property
    def typed(self) -> str:
        return self.text[self.start : self.end]

    def put(self, piece: str, *, is_whole: bool) -> tuple[str, int]:
        """The text with a piece in its place; after a whole one comes a space."""
        piece += " " * is_whole
        rest = self.text[self.end :]
        text = self.text[: self.start] + piece + (rest.lstrip() if is_whole else rest)
        return text, self.start + len(piece)


def suggestions(workspace: Workspace, text: str, cursor: int, *, now: datetime) -> list[Suggestion]:
    text = text[: searchquery.LONGEST]
    spot = _spot(text, max(0, min(cursor, len(text))))
    found = _TYPED.fullmatch(spot.typed)
    here = _filters_alone(workspace, spot, now)
    if found and found[2].lower() in KEYS:
        return _values(here, spot, found[1], found[2].lower(), found[3])[:MOST]
    return [*_keys(spot), *_names(here, spot)][:MOST]


def _spot(text: str, cursor: int) -> _Spot:
    for token in searchquery.parse(text).tokens:
        if token.place.start < cursor <= token.place.end:
            return _Spot(text=text, start=token.place.start, end=cursor)
    return _Spot(text=text, start=cursor, end=cursor)


def _filters_alone(workspace: Workspace, spot: _Spot, now: datetime) -> Asked:
    """The rest of the query without its text: nobody waits for a search while typing."""
    query = searchquery.parse(spot.text)
    kept = [
        query.text[each.place.start : each.place.end]
        for each in query.tokens
        if isinstance(each, Filter)
        and not _asks_for_text(query, each)
        and each.place.start != spot.start
    ]
    return Asked(workspace=workspace, query=searchquery.parse(" ".join(kept)), now=now)


def _asks_for_text(query: Query, each: Filter) -> bool:
    return searchquery.parse(query.text[each.place.start : each.place.end]).has_text


# Keys ---------------------------------------------------------------------------------------------


def _keys(spot: _Spot) -> list[Suggestion]:
    sign = spot.typed[:1] if spot.typed[:1] in ("-", "!") else ""
    begun = spot.typed[len(sign) :].lower()
    return [
        _suggestion(spot, f"{sign}{key}:", is_whole=False, shown=f"{sign}{key}:", hint=about.means)
        for key, about in KEYS.items()
        if key.startswith(begun)
    ]


def _names(here: Asked, spot: _Spot) -> list[Suggestion]:
    """Somebody types a project's name and means the project."""
    if len(spot.typed) < _FROM:
        return []
    return [
        _named(spot, "", group.kind.key, value)
        for group in overview.groups_of(here)
        for value in _holding(list(group.values), spot.typed)[:_UNASKED]
    ]


# Values -------------------------------------------------------------------------------------------


def _values(here: Asked, spot: _Spot, sign: str, key: str, begun: str) -> list[Suggestion]:
    about = KEYS[key]
    if key in BY_KEY:
        values = overview.values_of(here, BY_KEY[key])
        return [_named(spot, sign, key, value) for value in _holding(values, begun)]
    if about.choices:
        return _choices(here, spot, sign, key, begun)
    return [
        _suggestion(spot, f"{sign}{key}:{each}", is_whole=True, shown=f"{key}:{each}", hint="")
        for each in _EXAMPLES.get(about.kind, ())
        if each.startswith(begun)
    ]


def _choices(here: Asked, spot: _Spot, sign: str, key: str, begun: str) -> list[Suggestion]:
    found = overview.of(here) if key == "is" else None
    counts = found.states if found else {}
    known = {each.value: counts.get(each, 0) for each in Status} if counts else {}
    return [
        _suggestion(
            spot,
            f"{sign}{key}:{each}",
            is_whole=True,
            shown=f"{key}:{each}",
            hint="",
            count=known.get(each),
            is_floor=bool(found and found.is_cut),
        )
        for each in KEYS[key].choices
        if each.startswith(begun.lower())
    ]


def _holding(values: list[overview.Value], begun: str) -> list[overview.Value]:
    """Those that begin so, then those that hold it anywhere."""
    sought = begun.casefold()
    holding = [value for value in values if sought in value.name.casefold()]
    return sorted(holding, key=lambda value: not value.name.casefold().startswith(sought))


def _named(spot: _Spot, sign: str, key: str, value: overview.Value) -> Suggestion:
    written = sign + searchquery.written(key, [value.name])
    shown = f"{sign}{key}:{value.name}"
    return _suggestion(
        spot,
        written,
        is_whole=True,
        shown=shown,
        hint="",
        count=value.count,
        is_floor=value.is_floor,
    )


def _suggestion(
    spot: _Spot,
    piece: str,
    *,
    is_whole: bool,
    shown: str,
    hint: str,
    count: int | None = None,
    is_floor: bool = False,
) -> Suggestion:
    text, cursor = spot.put(piece, is_whole=is_whole)
    return Suggestion(
        shown=shown, hint=hint, count=count, is_floor=is_floor, text=text, cursor=cursor
    )
