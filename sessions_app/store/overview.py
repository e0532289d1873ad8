"""What a query finds as a whole: how many, when, how they stand, and by what to narrow it.

All of it is counted over the newest sessions that match, up to a limit: the work stays the same
however many sessions there are, and whoever shows it says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from sessions_app.domain.facets import Facet
from sessions_app.domain.lifecycle import Status
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import facets
from sessions_app.store.conditions import Asked, state_of

# So many sessions are looked at; more are told as "and more".
LOOKED_AT = 1_000
TOP, MORE = 8, 60
PANEL = (Facet.PROJECT, Facet.AGENT, Facet.MODEL, Facet.TOOL, Facet.MACHINE, Facet.USER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    name: str
    count: int
    # Counted over the newest sessions alone: there may be more.
    is_floor: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    kind: Facet
    values: tuple[Value, ...]
    # How many there are beside these.
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    # At most LOOKED_AT; and whether there are, or may be, more.
    count: int
    is_cut: bool
    moments: tuple[datetime, ...]
    states: dict[Status, int]
    groups: tuple[Group, ...]
    # Of tokens, cost and duration: sessions by the power of two their number reaches.
    numbers: dict[str, dict[int, int]]
    # Subagents that match and are not listed.
    hidden: int


def count_label(count: int, *, is_cut: bool, one: str = "session", many: str = "sessions") -> str:
    """Exact while that is cheap, a floor above."""
    if is_cut:
        return f"{count:,}+ {many}" if count else f"No {many} so far"
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def number(what: Asked) -> tuple[int, bool]:
    """How many sessions match, and whether there are, or may be, more than that."""
    found = Session.objects.filter(what.condition()).order_by()[: LOOKED_AT + 1].count()
    return min(found, LOOKED_AT), found > LOOKED_AT or what.is_cut


def of(what: Asked, *, wide: Facet | None = None) -> Overview:
    """`wide` is the kind whose values are wanted beyond the first few."""
    own = [kind for kind in PANEL if _is_filtered(what, kind)]
    opened = [wide] if wide else []
    rows = _counted(what, [kind for kind in PANEL if kind not in own], wide=opened)
    for kind in own:
        # Of a key that is filtered by, its other values are offered as well.
        rows += [row for row in _counted(what, [kind], wide=opened, less=kind) if row[0] > 0]
    times = sorted((row[3] for row in rows if row[0] == _MOMENT), reverse=True)
    moments = [datetime.fromtimestamp(each, tz=UTC) for each in times]
    return Overview(
        count=min(len(moments), LOOKED_AT),
        is_cut=len(moments) > LOOKED_AT or what.is_cut,
        moments=tuple(moments[:LOOKED_AT]),
        states={Status(row[4]): row[3] for row in rows if row[0] == _STATE and row[4]},
        groups=tuple(_groups(what, rows)),
        numbers={
            key: {row[1]: row[3] for row in rows if row[0] == kind}
            for kind, key in _NUMBERS.items()
        },
        hidden=_hidden(what),
    )


def values_of(what: Asked, kind: Facet) -> list[Value]:
    """The names of a kind with their counts, the most frequent first; filters of the same kind
    left aside."""
    groups = list(_groups(what, _counted(what, [kind], wide=[kind], less=kind)))
    return list(groups[0].values) if groups else []


def groups_of(what: Asked) -> list[Group]:
    """The most frequent names of every kind of the panel."""
    return list(_groups(what, _counted(what, PANEL, wide=PANEL)))


def _is_filtered(what: Asked, kind: Facet) -> bool:
    return any(each.key == kind.key and not each.is_negated for each in what.query.filters)


def _hidden(what: Asked) -> int:
    if what.has_subagents:
        return 0
    rows = Session.objects.filter(what.elsewhere(), part=Part.SUBAGENT).order_by()
    return rows[: LOOKED_AT + 1].count()


# One row: kind (or one of these), term, sealed name, number, status, how many of the kind.
_MOMENT, _STATE = 0, -1
_NUMBERS = {-2: "tokens", -3: "cost", -4: "duration"}
_Row = tuple[int, int, bytes, int, str, int]


def _counted(
    what: Asked, kinds: Iterable[Facet], *, wide: Iterable[Facet], less: Facet | None = None
) -> list[_Row]:
    rows = (
        Session.objects.filter(what.condition(less=less))
        .order_by("-sort_at", "-id")
        .annotate(state=state_of(what.now))
        .values_list("sort_at", "facets", "tokens", "cost", "seconds", "state")[: LOOKED_AT + 1]
    )
    inner, values = rows.query.sql_with_params()
    here: list[Any] = [what.workspace.id, [int(kind) for kind in kinds]]
    limits: list[Any] = [[int(kind) for kind in wide], MORE, TOP]
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS.replace("{inner}", inner), [*values, *here, *limits])
        found: list[Any] = cursor.fetchall()
    return found


_COUNTS = """
    WITH found (sort_at, facets, tokens, cost, seconds, state) AS MATERIALIZED ({inner}),
    counted AS (
        SELECT term, count(*) AS n FROM found, unnest(facets) AS term GROUP BY term
    ),
    named AS (
        SELECT v.kind, v.term, v.sealed, c.n,
               row_number() OVER (PARTITION BY v.kind ORDER BY c.n DESC, v.term) AS place,
               count(*) OVER (PARTITION BY v.kind) AS of_kind
        FROM counted c JOIN sessions_app_facetvalue v ON v.term = c.term
        WHERE v.workspace_id = %s AND v.kind = ANY(%s::smallint[])
    )
    SELECT kind, term, sealed, n, '', of_kind FROM named
    WHERE place <= CASE WHEN kind = ANY(%s::smallint[]) THEN %s ELSE %s END
    UNION ALL
    SELECT 0, 0, ''::bytea, extract(epoch FROM sort_at)::bigint, '', 0 FROM found
    UNION ALL
    SELECT -1, 0, ''::bytea, count(*), state, 0 FROM found GROUP BY state
    UNION ALL
    SELECT kind, floor(ln(number::float8) / ln(2::float8) + 1e-9)::int, ''::bytea, count(*), '', 0
    FROM found, LATERAL (VALUES (-2, tokens), (-3, cost), (-4, seconds)) AS told (kind, number)
    WHERE number > 0 GROUP BY 1, 2
"""


def _groups(what: Asked, rows: list[_Row]) -> Iterable[Group]:
    is_floor = sum(row[0] == _MOMENT for row in rows) > LOOKED_AT
    for kind in Facet:
        mine = sorted((row for row in rows if row[0] == kind), key=lambda row: (-row[3], row[1]))
        if mine:
            values = tuple(
                Value(
                    name=facets.opened(what.workspace.id, kind, row[1], bytes(row[2])),
                    count=row[3],
                    is_floor=is_floor,
                )
                for row in mine
            )
            yield Group(kind=kind, values=values, more=mine[0][5] - len(values))
