"""Which events of a session are of a kind, from their rows alone: no seal is opened to find them.

A section of such a list holds at most so many events out of at most so many chunks: however far
apart they lie, showing one section opens few chunks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from sessions_app.domain.events import gist_of
from sessions_app.domain.sorts import Sort, Sought
from sessions_app.models import Chunk, Session
from sessions_app.store import keys, read
from sessions_app.vault.terms import as_values

SECTION = 100
# Of a filtered list: about what a short session has of a kind.
FOUND = 24
CHUNKS = 4
MOST_TOOLS = 12
# Formats that write one block of an answer a line: a line that calls a tool says nothing else.
BLOCK_BY_BLOCK = {"claude-code", "codex"}

# `flags & 9` is what the index of prompts and errors is about; without it no plan would use it.
_PROMPTS = "(flags & 9 <> 0 AND flags & 8 <> 0)"
_ERRORS = "(flags & 9 <> 0 AND flags & 1 <> 0)"
_SORTS = {
    Sort.PROMPTS: _PROMPTS,
    Sort.ANSWERS: "(kind = 2 AND flags & 512 = 0)",
    # A line of a user that is neither a prompt nor a repetition is a result.
    Sort.TOOLS: "(tool <> 0 OR kind = 4 OR (kind = 1 AND flags & 520 = 0))",
    Sort.ERRORS: _ERRORS,
    Sort.THINKING: "flags & 64 <> 0",
    Sort.SYSTEM: "(kind IN (3, 5, 6) OR (kind = 1 AND flags & 512 <> 0))",
}
_ANSWER_LINES = "(kind = 2 AND tool = 0 AND flags & 576 = 0)"
_FAILED = """(tool = %(tool)s AND EXISTS (
    SELECT FROM sessions_app_call c JOIN sessions_app_call r
      ON r.session_id = c.session_id AND r.key = c.key AND r.is_result AND r.is_error
    WHERE c.session_id = e.session_id AND c.seq = e.seq AND NOT c.is_result))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Events of one section, and the nearest of the kind on both sides."""

    seqs: tuple[int, ...] = ()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCount:
    name: str
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    seq: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a window has to know of the events around it."""

    prompts_before: int
    next_prompt: int | None
    latest: datetime | None


# One list of events ------------------------------------------------------------------------------


def section(session: Session, sought: Sought, at: int) -> Stretch:
    """The section that holds `at`, or the first event of the kind after it, or the last before."""
    found = _first(session, sought, at) or _last(session, sought, at)
    if found is None:
        return Stretch()
    seq, chunk = found
    seqs = _in_chunks(session, sought, chunk // CHUNKS * CHUNKS)
    size = _size(sought)
    start = seqs.index(seq) // size * size
    shown = seqs[start : start + size]
    before, after = _last(session, sought, shown[0]), _first(session, sought, shown[-1] + 1)
    return Stretch(
        seqs=tuple(shown), before=before[0] if before else None, after=after[0] if after else None
    )


def index(session: Session, sought: Sought) -> list[tuple[int, int]]:
    """First event and number of events of every section."""
    return [(lo, number) for lo, number in _asked(_INDEX, session, sought)]


def step(session: Session, sought: Sought, at: int, *, is_back: bool = False) -> int | None:
    """The nearest event of the kind after (or before) this one."""
    found = _last(session, sought, at) if is_back else _first(session, sought, at + 1)
    return found[0] if found else None


def between(session: Session, sought: Sought, lo: int, hi: int | None = None) -> list[int]:
    """Events of the kind lo ≤ seq < hi, as far as one section may reach."""
    end = session.events if hi is None else hi
    found = _asked(_BETWEEN, session, sought, lo=lo, hi=end)
    reach = found[0][1] + 2 * CHUNKS if found else 0
    return [seq for seq, chunk in found if chunk < reach]


def _first(session: Session, sought: Sought, at: int) -> tuple[int, int] | None:
    return next(iter(_asked(_FIRST, session, sought, at=at)), None)


def _last(session: Session, sought: Sought, at: int) -> tuple[int, int] | None:
    return next(iter(_asked(_LAST, session, sought, at=at)), None)


def _in_chunks(session: Session, sought: Sought, no: int) -> list[int]:
    """Of the chunks from this one on. Their rows say between which events to look."""
    ends = dict(
        Chunk.objects.filter(session_id=session.id, no__in=(no, no + CHUNKS)).values_list(
            "no", "first_seq"
        )
    )
    lo, hi = ends.get(no, 0), ends.get(no + CHUNKS, session.events)
    rows = _asked(_IN_CHUNKS, session, sought, lo=lo, hi=hi, no=no, end=no + CHUNKS)
    return [seq for (seq,) in rows]


_FIRST = """
    SELECT seq, chunk FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq >= %(at)s AND {wanted} ORDER BY seq LIMIT 1
"""
_LAST = """
    SELECT seq, chunk FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq < %(at)s AND {wanted} ORDER BY seq DESC LIMIT 1
"""
_BETWEEN = """
    SELECT seq, chunk FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq >= %(lo)s AND seq < %(hi)s AND {wanted}
    ORDER BY seq LIMIT %(size)s
"""
_IN_CHUNKS = """
    SELECT seq FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq >= %(lo)s AND seq <= %(hi)s
      AND chunk >= %(no)s AND chunk < %(end)s AND {wanted}
    ORDER BY seq
"""
_INDEX = """
    SELECT min(seq), count(*) FROM (
        SELECT seq, chunk / %(chunks)s AS block, row_number() OVER (
            PARTITION BY chunk / %(chunks)s ORDER BY seq
        ) AS place
        FROM sessions_app_event e WHERE session_id = %(session)s AND {wanted}
    ) found
    GROUP BY block, (place - 1) / %(size)s ORDER BY 1
"""


def _asked(question: str, session: Session, sought: Sought, **more: int) -> list[Any]:
    known = {"session": session.id, "chunks": CHUNKS, "size": _size(sought)}
    with connection.cursor() as cursor:
        cursor.execute(
            question.format(wanted=_wanted(session, sought)),
            {**known, "tool": _blind(session, sought.tool), **more},
        )
        return list(cursor.fetchall())


def _size(sought: Sought) -> int:
    """Calls of one tool bring their results along, and errors what was called: both are more to
    write out than most."""
    return FOUND // 3 if sought.tool or Sort.ERRORS in sought.sorts else FOUND


def _wanted(session: Session, sought: Sought) -> str:
    named = dict(_SORTS)
    if session.format in BLOCK_BY_BLOCK:
        named[Sort.ANSWERS] = _ANSWER_LINES
    if sought.tool:
        named |= {Sort.TOOLS: "tool = %(tool)s", Sort.ERRORS: _FAILED}
    wanted = [named[sort] for sort in Sort if sort in sought.sorts]
    return f"({' OR '.join(wanted)})" if wanted else "true"


def _blind(session: Session, tool: str) -> int:
    if not tool:
        return 0
    term = keys.blinder(session.workspace_id).of_facet("tool", tool.casefold())
    return as_values(term)[0]


# Counts ------------------------------------------------------------------------------------------


def counts(session: Session) -> dict[Sort, int]:
    """How many events there are of each kind."""
    named = dict(_SORTS)
    if session.format in BLOCK_BY_BLOCK:
        named[Sort.ANSWERS] = _ANSWER_LINES
    columns = ", ".join(f"count(*) FILTER (WHERE {named[sort]})" for sort in Sort)
    (row,) = _asked(_COUNTS.replace("{columns}", columns), session, Sought())
    return dict(zip(Sort, row, strict=True))


def tool_calls(session: Session) -> list[tuple[int, int]]:
    """How often the tools called most were called, and the first event that did so."""
    return [(number, seq) for number, seq in _asked(_TOOLS, session, Sought(), most=MOST_TOOLS)]


def tools(session: Session, rows: Sequence[tuple[int, int]]) -> list[ToolCount]:
    """With their names. Rows hold none: one line of each tool is opened to learn it."""
    named = {
        line.seq: gist_of(line.reading.body).tool
        for line in read.some(session, sorted(seq for _, seq in rows))
    }
    return [ToolCount(name=named[seq], calls=number) for number, seq in rows if named.get(seq)]


_COUNTS = "SELECT {columns} FROM sessions_app_event e WHERE session_id = %(session)s"
_TOOLS = """
    SELECT count(*), min(seq) FROM sessions_app_event
    WHERE session_id = %(session)s AND tool <> 0 AND kind = 2
    GROUP BY tool ORDER BY 1 DESC, 2 LIMIT %(most)s
"""


# Prompts -----------------------------------------------------------------------------------------

_ONLY_PROMPTS = Sought(sorts=frozenset({Sort.PROMPTS}))


def prompts(session: Session, *, at: int, size: int) -> list[Prompt]:
    """The prompts from this event on, each with its number in the session."""
    before = _asked(_NUMBER, session, _ONLY_PROMPTS, lo=at)[0][0]
    rows = _asked(_BETWEEN, session, _ONLY_PROMPTS, lo=at, hi=session.events, size=size)
    return [
        Prompt(seq=seq, number=number) for number, (seq, _) in enumerate(rows, start=before + 1)
    ]


def prompts_before(session: Session, *, at: int, size: int) -> int:
    """The event from which on there are so many prompts before this one."""
    rows = _asked(_SO_MANY, session, _ONLY_PROMPTS, lo=at, size=size)
    return min((seq for (seq,) in rows), default=0)


def surroundings(session: Session, lo: int, hi: int) -> Surroundings:
    """Of the window lo ≤ seq < hi."""
    (row,) = _asked(_SURROUNDINGS, session, _ONLY_PROMPTS, lo=lo, hi=hi, near=lo - NEAR)
    number, following, latest = row
    return Surroundings(prompts_before=number, next_prompt=following, latest=latest)


# Times of a log go back and forth: the latest of a few lines is when it last stirred.
NEAR = 20
_NUMBER = """
    SELECT count(*) FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq < %(lo)s AND {wanted}
"""
_SO_MANY = """
    SELECT seq FROM sessions_app_event e
    WHERE session_id = %(session)s AND seq < %(lo)s AND {wanted}
    ORDER BY seq DESC LIMIT %(size)s
"""
_SURROUNDINGS = """
    SELECT
        (SELECT count(*) FROM sessions_app_event e
         WHERE session_id = %(session)s AND seq < %(lo)s AND {wanted}),
        (SELECT seq FROM sessions_app_event e
         WHERE session_id = %(session)s AND seq >= %(hi)s AND {wanted} ORDER BY seq LIMIT 1),
        (SELECT max(at) FROM sessions_app_event
         WHERE session_id = %(session)s AND seq >= %(near)s AND seq < %(lo)s)
"""
