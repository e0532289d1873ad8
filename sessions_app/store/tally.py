"""Sums by session and day, kept in step with the rows they are made of.

A writer notes in its own transaction which session changed. Whoever asks for sums first has the
noted sessions summed anew. So a sum is never behind what was committed before it was asked for,
and a crash at any moment leaves either the note or the new sum.

An answer that several sessions tell of counts once: in the session with the lowest number, with
the largest of each counter over all of them. A change therefore concerns every session that holds
one of the answers it touched, and no other.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sessions_app.domain.events import Flag, TieKind
from sessions_app.formats import FORMATS
from sessions_app.models import Copied, Session, ToolDay, Untallied, UsageDay, Workspace
from sessions_app.store import totals

# Of these a changed source is a new generation.
DOCUMENTS = [fmt.name for fmt in FORMATS if fmt.cut and not fmt.grows]
# Notes taken up in one transaction: about a second's work, so that nobody waits long.
BATCH = 400
# What a page may spend on counting before it shows what there is and says what is missing.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Rows of a session from this line on are new."""

    workspace_id: UUID
    session_id: int
    since: int


# What writers say -----------------------------------------------------------------------------


def note(changes: Iterable[Change]) -> None:
    Untallied.objects.bulk_create(
        Untallied(workspace_id=c.workspace_id, session_id=c.session_id, since=c.since, gone=[])
        for c in changes
    )


def drop_usage(change: Change) -> None:
    """Usage rows from a line on go. Their keys are noted, because other sessions may hold copies
    of the same answers and then have to count them."""
    with connection.cursor() as cursor:
        cursor.execute(
            _DROP,
            [change.session_id, change.since, change.workspace_id, change.session_id, change.since],
        )


_DROP = """
    WITH dropped AS (
        DELETE FROM sessions_app_usage WHERE session_id = %s AND seq >= %s RETURNING key
    )
    INSERT INTO sessions_app_untallied (workspace_id, session_id, since, gone)
    SELECT %s, %s, %s, array_agg(DISTINCT key) FROM dropped HAVING count(*) > 0
"""


def settle(workspace_id: UUID, ties: Iterable[tuple[int, int]]) -> None:
    """Usage of wholes goes where a part of them tells its own. Whoever writes either waits here
    for who writes the other; `ties` are those written just now, as kinds and keys."""
    keys = [key for kind, key in ties if kind in _SETTLED]
    if not keys:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [workspace_id.int % 2**63])
        cursor.execute(_SETTLE, {"workspace": workspace_id, "keys": keys, "told": _PART_TOLD})
        changed = [row[0] for row in cursor.fetchall()]
    note(Change(workspace_id=workspace_id, session_id=each, since=0) for each in changed)
    # Whoever holds one of them counts it.
    free = Session.objects.select_for_update(no_key=True, skip_locked=True).filter(id__in=changed)
    totals.count(list(free.values_list("id", flat=True)))


_PART_TOLD = TieKind.PART_TOLD.value
_SETTLED = {_PART_TOLD, TieKind.WHOLE_TOLD.value}
# Rows that somebody else is dropping are written again, and settled then.
_SETTLE = """
    WITH dropped AS (
        DELETE FROM sessions_app_usage WHERE (session_id, seq, no) IN (
            SELECT session_id, seq, no FROM sessions_app_usage line
            WHERE key = ANY(%(keys)s) AND no < 0 AND EXISTS (
                SELECT FROM sessions_app_tie told WHERE told.key = line.key
                  AND told.workspace_id = %(workspace)s AND told.kind = %(told)s
            )
            FOR UPDATE SKIP LOCKED
        )
        RETURNING session_id
    )
    SELECT DISTINCT session_id FROM dropped
"""


def drop_session(workspace_id: UUID, session_id: int) -> None:
    """Everything counted of a session that is being erased. Under the lock of whoever counts:
    a sum in the making would otherwise come back."""
    _locked(workspace_id)
    drop_usage(Change(workspace_id=workspace_id, session_id=session_id, since=0))
    note(
        Change(workspace_id=workspace_id, session_id=other, since=0)
        for other in _kin(workspace_id, [session_id]).difference([session_id])
    )
    for table in (UsageDay, ToolDay, Copied):
        table.objects.filter(session_id=session_id).delete()


# What readers ask -----------------------------------------------------------------------------


def refresh(workspace_id: UUID, *, seconds: float = PATIENCE) -> int:
    """Take in what was noted. Returns how many sessions still wait, if time ran out."""
    end = time.monotonic() + seconds
    while _has_notes(workspace_id):
        if time.monotonic() >= end:
            return waiting(workspace_id)
        _step(workspace_id)
    return 0


def waiting(workspace_id: UUID) -> int:
    notes = Untallied.objects.filter(workspace_id=workspace_id)
    return notes.order_by().values("session_id").distinct().count()


def behind() -> list[UUID]:
    """Workspaces in which something is to be counted."""
    found = Untallied.objects.order_by().values_list("workspace_id", flat=True).distinct()
    return list(found)


def _has_notes(workspace_id: UUID) -> bool:
    return Untallied.objects.filter(workspace_id=workspace_id).exists()


@transaction.atomic
def _step(workspace_id: UUID) -> None:
    _locked(workspace_id)
    with connection.cursor() as cursor:
        # A session's rows lie together: to look answers up by their keys is cheaper than to read
        # the whole table, which is what the planner would do for a few hundred sessions.
        cursor.execute("SET LOCAL random_page_cost = 1.1; SET LOCAL work_mem = '64MB'")
        cursor.execute(_TAKE, [workspace_id, BATCH])
        notes = cursor.fetchall()
        changed = list({session_id for session_id, _, _ in notes})
        gone = [key for _, _, keys in notes for key in keys]
        cursor.execute(_CONCERNED, [[n[0] for n in notes], [n[1] for n in notes], gone])
        concerned = list({*changed, *(row[0] for row in cursor.fetchall())})
        UsageDay.objects.filter(workspace_id=workspace_id, session_id__in=concerned).delete()
        cursor.execute(_USAGE, {"sessions": concerned, "workspace": workspace_id})
        # Whoever told of these answers told of the calls in them.
        kin = _kin(workspace_id, concerned)
        calling = list({*concerned, *kin})
        kin |= _kin(workspace_id, list(kin.difference(concerned)))
        ToolDay.objects.filter(workspace_id=workspace_id, session_id__in=calling).delete()
        cursor.execute(_CALLS, {"sessions": calling, "akin": list({*calling, *kin})})
        Copied.objects.filter(session_id__in=calling).delete()
        # Who has no kin copies nothing.
        copies = list(kin.intersection(calling))
        if copies:
            cursor.execute(_COPIED, {**_MARKS, "sessions": copies, "workspace": workspace_id})


def _kin(workspace_id: UUID, session_ids: list[int]) -> set[int]:
    """All sessions of the workspace that can hold copies of calls of these."""
    if not session_ids:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_AKIN, {"sessions": session_ids, "self": TieKind.SELF.value})
        found = [row[0] for row in cursor.fetchall()]
    own = Session.objects.filter(workspace_id=workspace_id, id__in=found)
    return set(own.values_list("id", flat=True))


def _locked(workspace_id: UUID) -> None:
    """One counts at a time. Weaker than what an insert into the workspace conflicts with."""
    rows = Workspace.objects.select_for_update(no_key=True).filter(id=workspace_id)
    list(rows.values_list("id"))


_TAKE = """
    DELETE FROM sessions_app_untallied WHERE id IN (
        SELECT id FROM sessions_app_untallied WHERE workspace_id = %s ORDER BY id LIMIT %s
    )
    RETURNING session_id, since, gone
"""

_CONCERNED = """
    SELECT DISTINCT copy.session_id
    FROM unnest(%s::bigint[], %s::int[]) AS note (session_id, since)
    JOIN sessions_app_usage fresh
      ON fresh.session_id = note.session_id AND fresh.seq >= note.since
    JOIN sessions_app_usage copy
      ON copy.key = fresh.key AND copy.session_id <> fresh.session_id
    UNION
    SELECT DISTINCT session_id FROM sessions_app_usage WHERE key = ANY(%s::bigint[])
"""

# Lines of one answer may name the model only in part of them: the largest name is a name.
_USAGE = """
    WITH told AS (
        SELECT DISTINCT key FROM sessions_app_usage WHERE session_id = ANY(%(sessions)s)
    ), answers AS (
        SELECT min(line.session_id) AS session_id, min(line.at) AS at, max(line.model) AS model,
               max(line.input) AS input, max(line.output) AS output,
               max(line.cache_read) AS cache_read, max(line.cache_write) AS cache_write,
               max(line.reasoning) AS reasoning, max(line.cost) AS cost,
               max(line.reported) AS reported, max(line.priced_on) AS priced_on
        FROM told
        JOIN sessions_app_usage line ON line.key = told.key
        JOIN sessions_app_session s
          ON s.id = line.session_id AND s.workspace_id = %(workspace)s
        GROUP BY told.key
    )
    INSERT INTO sessions_app_usageday (
        workspace_id, session_id, day, agent, project, machine, account, model, answers, input,
        output, cache_read, cache_write, reasoning, cost, unpriced, reported, priced_from, priced_on
    )
    SELECT s.workspace_id, s.id, (coalesce(a.at, s.sort_at) AT TIME ZONE 'UTC')::date, s.agent,
           s.project_term, s.machine_term, s.user_term, a.model, count(*), sum(a.input),
           sum(a.output), sum(a.cache_read), sum(a.cache_write), sum(a.reasoning), sum(a.cost),
           count(*) - count(a.cost), sum(a.reported), min(a.priced_on), max(a.priced_on)
    FROM answers a JOIN sessions_app_session s ON s.id = a.session_id
    WHERE s.id = ANY(%(sessions)s)
    GROUP BY s.id, 3, a.model
"""

# A later generation of the same place.
_HAS_LATER = """EXISTS (
    SELECT FROM sessions_app_source later WHERE later.workspace_id = own.workspace_id
      AND later.place_key = own.place_key AND later.generation > own.generation)"""

# Copies begin with what they copy: all before the last answer that an earlier session tells of. A
# document is written anew as a whole: the last generation tells everything that those before told.
_COPIED = """
    WITH told AS (
        SELECT DISTINCT key FROM sessions_app_usage WHERE session_id = ANY(%(sessions)s)
    ), first AS (
        SELECT told.key, min(line.session_id) AS session_id
        FROM told JOIN sessions_app_usage line ON line.key = told.key
        JOIN sessions_app_session s ON s.id = line.session_id AND s.workspace_id = %(workspace)s
        GROUP BY told.key HAVING count(DISTINCT line.session_id) > 1
    ), ends AS (
        SELECT line.session_id, max(line.seq) AS seq
        FROM first JOIN sessions_app_usage line
          ON line.key = first.key AND line.session_id > first.session_id
        WHERE line.session_id = ANY(%(sessions)s) GROUP BY line.session_id
        UNION ALL
        SELECT own.session_id, 2147483647 FROM sessions_app_source own
        JOIN sessions_app_session s ON s.id = own.session_id AND s.format = ANY(%(documents)s)
        WHERE own.session_id = ANY(%(sessions)s) AND {has_later}
    ), told_again AS (
        SELECT session_id, max(seq) AS seq FROM ends GROUP BY session_id
    )
    INSERT INTO sessions_app_copied (session_id, prompts, errors)
    SELECT line.session_id, count(*) FILTER (WHERE flags & %(prompt)s <> 0),
           count(*) FILTER (WHERE flags & %(error)s <> 0)
    FROM told_again JOIN sessions_app_event line
      ON line.session_id = told_again.session_id AND line.seq <= told_again.seq
    GROUP BY line.session_id
""".replace("{has_later}", _HAS_LATER)
_MARKS: dict[str, Any] = {
    "prompt": Flag.PROMPT.value,
    "error": Flag.ERROR.value,
    "documents": DOCUMENTS,
}

# Copies of a call lie in sessions that share an answer, an id or a place with its own.
_AKIN = """
    WITH asked AS (
        SELECT session_id, key FROM sessions_app_usage WHERE session_id = ANY(%(sessions)s)
        GROUP BY session_id, key
    )
    SELECT copy.session_id FROM asked JOIN sessions_app_usage copy
      ON copy.key = asked.key AND copy.session_id <> asked.session_id
    UNION
    SELECT copy.session_id FROM sessions_app_tie own JOIN sessions_app_tie copy
      ON copy.workspace_id = own.workspace_id AND copy.key = own.key AND copy.kind = own.kind
      AND copy.session_id <> own.session_id
    WHERE own.session_id = ANY(%(sessions)s) AND own.kind = %(self)s
    UNION
    SELECT copy.session_id FROM sessions_app_source own JOIN sessions_app_source copy
      ON copy.workspace_id = own.workspace_id AND copy.place_key = own.place_key
      AND copy.session_id <> own.session_id
    WHERE own.session_id = ANY(%(sessions)s)
"""

# A call that several sessions tell of counts in the first of them, and is answered where one of
# them tells its result. A call and its result on one line, or with times that run backwards, tell
# no length.
_CALLS = """
    WITH pairs AS (
        SELECT key, min(session_id) FILTER (WHERE NOT is_result) AS session_id,
               max(tool) FILTER (WHERE NOT is_result) AS tool,
               bool_or(is_result) AS is_answered, bool_or(is_error) AS is_failed
        FROM sessions_app_call WHERE session_id = ANY(%(akin)s) AND key IS NOT NULL
        GROUP BY key HAVING bool_or(NOT is_result)
    ), places AS (
        SELECT pairs.key, min(line.seq) FILTER (WHERE NOT is_result) AS asked,
               min(line.seq) FILTER (WHERE is_result) AS answered
        FROM pairs JOIN sessions_app_call line
          ON line.session_id = pairs.session_id AND line.key = pairs.key
        WHERE pairs.session_id = ANY(%(sessions)s) GROUP BY pairs.key
    ), calls AS (
        SELECT pairs.session_id, pairs.tool, question.at, is_answered, is_failed,
               false AS is_untold,
               CASE WHEN answered > asked AND answer.at >= question.at
                    THEN least(extract(epoch FROM answer.at - question.at) * 1000, 2147483647)::int
               END AS length
        FROM pairs JOIN places USING (key)
        JOIN sessions_app_event question
          ON question.session_id = pairs.session_id AND question.seq = asked
        LEFT JOIN sessions_app_event answer
          ON answer.session_id = pairs.session_id AND answer.seq = answered
        UNION ALL
        SELECT line.session_id, line.tool, question.at, false, false, true, NULL
        FROM sessions_app_call line
        JOIN sessions_app_source own ON own.session_id = line.session_id
        JOIN sessions_app_event question
          ON question.session_id = line.session_id AND question.seq = line.seq
        WHERE line.session_id = ANY(%(sessions)s) AND line.key IS NULL AND NOT {has_later}
    )
    INSERT INTO sessions_app_toolday (
        workspace_id, session_id, day, agent, tool, calls, answered, failed, untold, lengths
    )
    SELECT s.workspace_id, s.id, (coalesce(c.at, s.sort_at) AT TIME ZONE 'UTC')::date, s.agent,
           c.tool, count(*), count(*) FILTER (WHERE is_answered),
           count(*) FILTER (WHERE is_failed), count(*) FILTER (WHERE is_untold),
           coalesce(array_agg(length ORDER BY length) FILTER (WHERE length IS NOT NULL), '{}')
    FROM calls c JOIN sessions_app_session s ON s.id = c.session_id
    GROUP BY s.id, 3, c.tool
""".replace("{has_later}", _HAS_LATER)
