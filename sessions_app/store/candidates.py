"""Which chunks may hold what a query asks for, asked of the blind index, the newest month first.

A term is 32 bits: what is returned is a candidate until its chunk has been opened. The join with
the session keeps workspaces apart whatever terms collide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from sessions_app.domain import words
from sessions_app.domain.errors import BadInput
from sessions_app.domain.events import value
from sessions_app.domain.sought import Alternative, Beginning, Need
from sessions_app.store import keys
from sessions_app.store.narrowing import Narrowing
from sessions_app.vault.terms import as_values

# Months a search walks through one by one. What is older, or has no time, comes at the end.
MOST_MONTHS = 120
NO_MONTH = -1

Grow = Callable[[bytes], list[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What must be true of the terms of a chunk, as SQL."""

    # Of one of these all terms must be there.
    ways: tuple[tuple[int, ...], ...] = ((),)
    more: str = ""
    parameters: tuple[Any, ...] = ()
    is_impossible: bool = False

    def sql(self, also: str = "") -> str:
        """Each way on its own: the index answers a whole way, and nothing has to be unpacked to
        look for the rest of it. `also` is a term of a row beside it."""
        each = f"c.terms @> (%s::int4[] || {also})" if also else "c.terms @> %s::int4[]"
        if not also and not any(self.ways):
            return "true" + self.more
        return "(" + " OR ".join([each] * len(self.ways)) + ")" + self.more

    def values(self, *, has_also: bool = False) -> list[Any]:
        ways = [list(way) for way in self.ways] if has_also or any(self.ways) else []
        return [*ways, *self.parameters]


@dataclass(frozen=True, slots=True, kw_only=True)
class Months:
    """A stretch of months, the newest first. Months are counted from the year 0."""

    newest: int = 0
    terms: tuple[int, ...] = ()

    def number(self, at: int) -> int:
        """Of the month at a place in the stretch; behind all of them, `NO_MONTH`."""
        return self.newest - at if at < len(self.terms) else NO_MONTH

    def at(self, number: int) -> int:
        """The place of a month, or of the first one after it."""
        if number == NO_MONTH:
            return len(self.terms)
        return min(max(self.newest - number, 0), len(self.terms))


@value
class Candidate:
    """A session, and those of its chunks that may hold a hit in a month, the last first."""

    # Counted from the year 0.
    month: int
    session_id: int
    sort_at: datetime
    chunks: tuple[int, ...]
    # Which of their events may fit, by chunk; without it, any may.
    events: Mapping[int, Sequence[int]] | None = None


def condition(
    workspace_id: UUID, needs: Sequence[Need], grow: Grow, *, has_results: bool
) -> Condition:
    blind = _Blind(workspace_id, grow, has_results=has_results)
    out = Condition()
    for need in needs:
        out = _with(out, [blind.alternative(each) for each in need])
    return out


class _Blind:
    def __init__(self, workspace_id: UUID, grow: Grow, *, has_results: bool) -> None:
        self._blinder = keys.blinder(workspace_id)
        self._grow = grow
        self._has_results = has_results

    def alternative(self, each: Alternative) -> tuple[list[int], list[list[int]]]:
        """Terms that must all be there, and sets of which one must."""
        fixed = [one for one in each if isinstance(one, bytes)]
        grown = [self._grow(one.letters) for one in each if isinstance(one, Beginning)]
        if self._has_results:
            grown += [[one] for one in fixed if not words.is_facet(one)]
            fixed = [one for one in fixed if words.is_facet(one)]
            grown = [[*some, *map(words.printed, some)] for some in grown]
        return self._terms(fixed), [self._terms(one) for one in grown]

    def _terms(self, spellings: Sequence[bytes]) -> list[int]:
        return as_values(b"".join(self._blinder.term(each) for each in spellings))


# More ways than this are put together from their parts by the database.
MOST_WAYS = 8


def _with(before: Condition, alternatives: list[tuple[list[int], list[list[int]]]]) -> Condition:
    possible = [each for each in alternatives if all(each[1])]
    if not possible:
        return replace(before, is_impossible=True)
    is_plain = not any(grown for _, grown in possible)
    if is_plain and len(before.ways) * len(possible) <= MOST_WAYS:
        ways = [(*way, *fixed) for way in before.ways for fixed, _ in possible]
        return replace(before, ways=tuple(ways))
    if all(len(fixed) == 1 and not grown for fixed, grown in possible):
        one_of = [fixed[0] for fixed, _ in possible]
        return _added(before, " AND c.terms && %s::int4[]", [one_of])
    parts, parameters = [], []
    for fixed, grown in possible:
        tests = ["c.terms @> %s::int4[]"] * bool(fixed) + ["c.terms && %s::int4[]"] * len(grown)
        parts.append("(" + " AND ".join(tests) + ")")
        parameters += [*([fixed] if fixed else []), *grown]
    return _added(before, " AND (" + " OR ".join(parts) + ")", parameters)


def _added(before: Condition, sql: str, parameters: list[list[int]]) -> Condition:
    return replace(before, more=before.more + sql, parameters=(*before.parameters, *parameters))


# Asking -------------------------------------------------------------------------------------


# The planner does not know that looking at the terms of every chunk means unpacking them: it would
# often rather do that than ask the index. Sent along with each question, because a way to the
# database and back takes as long as an answer.
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; "
# Dozens of words that are in every chunk would keep a connection busy for a minute.
PATIENCE_SECONDS = 10


def _told(sql: str, parameters: Sequence[Any]) -> list[list[Any]]:
    """Rows of each statement. Together they are one transaction, which is as long as the settings
    last."""
    answers = []
    patience = f"SET LOCAL statement_timeout = '{PATIENCE_SECONDS}s'; "
    try:
        with connection.cursor() as cursor:
            cursor.execute(patience + _BY_INDEX + sql, parameters)
            while cursor.nextset():
                if cursor.description is not None:
                    answers.append(cursor.fetchall())
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise BadInput(
                "That is too much to look for at once: use fewer words or beginnings of words."
            ) from None
        raise
    return answers


def month_of(at: datetime) -> int:
    at = at.astimezone(UTC)
    return at.year * 12 + at.month - 1


def month_name(number: int) -> str:
    return f"{number // 12}-{number % 12 + 1:02}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question about candidates."""

    workspace_id: UUID
    condition: Condition
    narrowing: Narrowing
    months: Months = field(default_factory=Months)
    # How many may hold it, as far as they were counted.
    chunks: int = 0


def begun(asked: Asked, *, most: int) -> Asked:
    """With the months there are, from the newest session's last time back to the oldest's, and
    with how many chunks may hold it; counted no further than `most`."""
    inner = ("SELECT 1", _FROM, "WHERE", asked.condition.sql(), "AND", _of_session(asked))
    sql = _joined(REACH + ";", "SELECT count(*) FROM (", *inner, "LIMIT %s) x")
    values = [*asked.condition.values(), *_session_values(asked), most]
    ((reach,), ((number,),)) = _told(sql, [asked.workspace_id, *values])
    return replace(asked, months=months(asked.workspace_id, *reach), chunks=number)


REACH = "SELECT max(sort_at), min(sort_at) FROM sessions_app_session WHERE workspace_id = %s"


def months(workspace_id: UUID, newest: datetime | None, oldest: datetime | None) -> Months:
    if newest is None or oldest is None:
        return Months()
    last, first = month_of(newest), max(month_of(oldest), month_of(newest) - MOST_MONTHS + 1)
    number_of = keys.blinder(workspace_id).number_of_facet
    blind = (number_of("month", month_name(number)) for number in range(last, first - 1, -1))
    return Months(newest=last, terms=tuple(blind))


def size(asked: Asked) -> int:
    """Raw bytes of the chunks that may hold it."""
    sql = _joined(
        *("SELECT coalesce(sum(c.raw_len), 0)", _FROM),
        *("WHERE", asked.condition.sql(), "AND", _of_session(asked)),
    )
    (((total,),),) = _told(sql, [*asked.condition.values(), *_session_values(asked)])
    return int(total)


def in_months(
    asked: Asked, lo: int, hi: int, *, after: tuple[datetime, int] | None, most: int
) -> list[Candidate]:
    """Of the months lo ≤ n < hi, up to `most` sessions of each."""
    if asked.condition.more:
        found = _shared_out(asked, lo, hi, after, most)
        return [replace(each, month=asked.months.number(each.month + lo - 1)) for each in found]
    sql = _joined(
        "SELECT m.no, x.* FROM unnest(%s::int4[]) WITH ORDINALITY AS m(term, no)",
        "CROSS JOIN LATERAL (SELECT s.id, s.sort_at, array_agg(c.no ORDER BY c.no DESC)",
        *(_FROM, "WHERE", asked.condition.sql("m.term")),
        *("AND", _of_session(asked), _AFTER if after else "", _NEWEST, ") x"),
        "ORDER BY m.no, x.sort_at DESC, x.id DESC",
    )
    parameters = [
        list(asked.months.terms[lo:hi]),
        *asked.condition.values(has_also=True),
        *_session_values(asked),
        *(after or ()),
        most,
    ]
    found = _candidates(sql, parameters)
    return [replace(each, month=asked.months.number(each.month + lo - 1)) for each in found]


def _shared_out(
    asked: Asked, lo: int, hi: int, after: tuple[datetime, int] | None, most: int
) -> list[Candidate]:
    """A condition of many parts takes the index long: it is asked once for all months."""
    sql = _joined(
        "WITH hits AS MATERIALIZED (SELECT session_id, no FROM sessions_app_chunk c WHERE",
        *(asked.condition.sql(), "),", _OF_MONTHS),
        "SELECT m.month, x.* FROM (SELECT DISTINCT month FROM found) m",
        "CROSS JOIN LATERAL (SELECT s.id, s.sort_at, array_agg(c.no ORDER BY c.no DESC)",
        "FROM found c JOIN sessions_app_session s ON s.id = c.session_id WHERE c.month = m.month",
        *("AND", _of_session(asked), _AFTER if after else "", _NEWEST, ") x"),
        "ORDER BY m.month, x.sort_at DESC, x.id DESC",
    )
    parameters = [
        *asked.condition.values(),
        list(asked.months.terms[lo:hi]),
        *_session_values(asked),
        *(after or ()),
        most,
    ]
    return _candidates(sql, parameters)


def in_no_month(asked: Asked, *, after: tuple[datetime, int] | None, most: int) -> list[Candidate]:
    """What no month of the walk holds: logs without times, and times out of all proportion."""
    chunks = _joined("SELECT session_id, no FROM sessions_app_chunk c WHERE", asked.condition.sql())
    sql = _joined(
        "SELECT %s, s.id, s.sort_at, array_agg(c.no ORDER BY c.no DESC) FROM",
        *("(", chunks, "EXCEPT", chunks, "AND c.terms && %s::int4[] ) c"),
        "JOIN sessions_app_session s ON s.id = c.session_id",
        *("WHERE", _of_session(asked), _AFTER if after else "", _NEWEST),
    )
    values = asked.condition.values()
    months = list(asked.months.terms)
    parameters = [*values, *values, months, *_session_values(asked), *(after or ()), most]
    return _candidates(sql, [NO_MONTH, *parameters])


def of_session(where: Condition, session_id: int, *, first: int = 0) -> list[int]:
    """Chunks of one session that may hold it, in order, from one on."""
    sql = _joined(
        "SELECT c.no FROM sessions_app_chunk c WHERE c.session_id = %s",
        *("AND c.no >= %s AND", where.sql(), "ORDER BY c.no"),
    )
    (rows,) = _told(sql, [session_id, first, *where.values()])
    return [no for (no,) in rows]


def of_session_in_months(asked: Asked, session_id: int, lo: int, hi: int) -> list[int]:
    wanted = list(asked.months.terms[lo:hi])
    where = _added(asked.condition, " AND c.terms && %s::int4[]", [wanted])
    return of_session(where, session_id)


def _joined(*parts: str) -> str:
    """Only words of this module and places for values: nothing anybody typed."""
    return " ".join(parts)


_FROM = "FROM sessions_app_chunk c JOIN sessions_app_session s ON s.id = c.session_id"
_OF_MONTHS = """
    placed AS MATERIALIZED (
        SELECT m.no AS month, c.session_id, c.no
        FROM unnest(%s::int4[]) WITH ORDINALITY AS m(term, no)
        CROSS JOIN LATERAL (
            SELECT session_id, no FROM sessions_app_chunk c WHERE c.terms @> ARRAY[m.term]
        ) c
    ),
    found AS MATERIALIZED (
        SELECT p.month, p.session_id, p.no
        FROM hits JOIN placed p ON p.session_id = hits.session_id AND p.no = hits.no
    )
"""
_AFTER = "AND (s.sort_at, s.id) < (%s, %s)"
_NEWEST = "GROUP BY s.id ORDER BY s.sort_at DESC, s.id DESC LIMIT %s"


def _of_session(asked: Asked) -> str:
    return "s.workspace_id = %s" + asked.narrowing.sql


def _session_values(asked: Asked) -> list[Any]:
    return [asked.workspace_id, *asked.narrowing.parameters]


def _candidates(sql: str, parameters: list[Any]) -> list[Candidate]:
    (rows,) = _told(sql, parameters)
    return [
        Candidate(month=month, session_id=number, sort_at=at, chunks=tuple(chunks))
        for month, number, at, chunks in rows
    ]
