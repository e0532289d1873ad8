"""What tools were called for: how often, with what result, how long it took."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.domain.calendar import Days
from sessions_app.domain.facets import Facet
from sessions_app.store import names, tally
from sessions_app.store.days import inside

UNNAMED = "tool without a name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    term: int
    name: str
    # Who called it.
    agents: tuple[str, ...]
    sessions: int
    calls: int
    answered: int
    failed: int
    # Calls whose log gives no id: nothing tells what became of them.
    untold: int
    # Milliseconds from the line of a call to the line of its result: of half and of nearly all.
    median: int | None
    slow: int | None

    @property
    def sorted_name(self) -> str:
        return self.name.casefold()

    @property
    def missing(self) -> int:
        return self.calls - self.answered - self.untold

    @property
    def error_rate(self) -> float | None:
        """Of the calls with a result; the others tell nothing."""
        return self.failed / self.answered if self.answered else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    rows: list[Tool]
    # Sessions not counted yet.
    waiting: int


def called(
    workspace_id: UUID, days: Days, *, agent: str | None = None, is_split: bool = False
) -> Tools:
    """By tool, of one agent or of all; split, every agent has lines of its own."""
    waiting = tally.refresh(workspace_id)
    parts, values = inside(workspace_id, days)
    if agent is not None:
        parts.append("agent = %s")
        values.append(agent)
    own = "agent" if is_split else "''"
    with connection.cursor() as cursor:
        cursor.execute(_CALLED.format(own=own, where=" AND ".join(parts)), values)
        counted = cursor.fetchall()
        cursor.execute(_LENGTHS.format(own=own, where=" AND ".join(parts)), values)
        lengths = {(term, of): tuple(told) for term, of, told in cursor.fetchall()}
    known = names.of(workspace_id, Facet.TOOL, {row[0] for row in counted})
    rows = [_tool(row, known, lengths.get(row[:2], (None, None))) for row in counted]
    return Tools(rows=rows, waiting=waiting)


def agents(workspace_id: UUID) -> list[str]:
    """Everybody who ever called a tool."""
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, [workspace_id])
        return [row[0] for row in cursor.fetchall()]


def _tool(
    row: tuple[Any, ...], known: dict[int, str], lengths: tuple[int | None, int | None]
) -> Tool:
    term, _, who, *numbers = row
    sessions, calls, answered, failed, untold = map(int, numbers)
    return Tool(
        term=term,
        name=known.get(term, UNNAMED),
        agents=tuple(who),
        sessions=sessions,
        calls=calls,
        answered=answered,
        failed=failed,
        untold=untold,
        median=lengths[0],
        slow=lengths[1],
    )


# By session first: to count distinct ones among all rows would sort them all.
_CALLED = """
    WITH each AS (
        SELECT tool, agent, session_id, sum(calls) AS calls, sum(answered) AS answered,
               sum(failed) AS failed, sum(untold) AS untold
        FROM sessions_app_toolday WHERE {where} GROUP BY tool, agent, session_id
    ), of_agent AS (
        SELECT tool, agent, count(*) AS sessions, sum(calls) AS calls, sum(answered) AS answered,
               sum(failed) AS failed, sum(untold) AS untold
        FROM each GROUP BY tool, agent
    )
    SELECT tool, {own}, array_agg(agent ORDER BY agent), sum(sessions), sum(calls),
           sum(answered), sum(failed), sum(untold)
    FROM of_agent GROUP BY 1, 2
"""
_LENGTHS = """
    SELECT tool, {own}, percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY length)
    FROM sessions_app_toolday, unnest(lengths) length WHERE {where} GROUP BY 1, 2
"""
_AGENTS = "SELECT DISTINCT agent FROM sessions_app_toolday WHERE workspace_id = %s ORDER BY 1"
