"""Derive a session's meaning anew from its bytes: event rows, terms, counts, title, format.

The sealed chunks stay as they are; only what was read out of them is replaced.
"""

from bisect import bisect_right
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from django.db import connection, transaction

from sessions_app import formats
from sessions_app.domain.events import Flag
from sessions_app.models import Call, Event, Session, Tie
from sessions_app.store import (
    browse,
    facets,
    facts,
    fileindex,
    keys,
    read,
    strips,
    tally,
    tip,
    verify,
    vocabulary,
    write,
)
from sessions_app.store.append import oversized
from sessions_app.store.chunks import Owner
from sessions_app.store.facts import Facts
from sessions_app.store.project import Projector
from sessions_app.store.tip import Counts
from sessions_app.vault.terms import Blinder, as_values

FLUSH_ROWS = 4 * 1024 * 1024


@transaction.atomic
def session(session_id: int, *, now: datetime) -> Counts:
    """Under the session's lock, so that an appender waits and then sees the new rows."""
    row = Session.objects.select_for_update(no_key=True).get(id=session_id)
    held = tip.vouched(row)
    told = facts.opened(held.key, row)
    if vocabulary.lock(row.workspace_id) != keys.blinder(row.workspace_id).generation:
        keys.forget_blinders()
    fmt = formats.choose(sessions_head(row), row.raw_bytes, told.path)
    lines = Projector(
        session_id=session_id,
        owner=held,
        fmt=fmt.name,
        counts=Counts(),
        facts=_known_before(told),
        agent=fmt.agent,
        now=now,
    )
    for table in (Event, Call, Tie):
        table.objects.filter(session_id=session_id).delete()
    whole = tally.Change(workspace_id=row.workspace_id, session_id=session_id, since=0)
    tally.drop_usage(whole)
    tally.note([whole])
    fileindex.drop(session_id)
    strips.drop(session_id)
    _project(row, held, lines, _ends(row, fmt))
    _keep_words(row, lines.blinder)
    return _kept(row, held, fmt, lines)


def _keep_words(row: Session, blinder: Blinder) -> None:
    upto = blinder.learned()
    vocabulary.add(row.workspace_id, blinder.not_kept(upto))
    transaction.on_commit(lambda: blinder.keep(upto))


def _known_before(told: Facts) -> Facts:
    """What was known before the first line was read."""
    return Facts(path=told.path, project=told.project, machine=told.machine)


def _ends(row: Session, fmt: formats.Format) -> list[int] | None:
    """Where the records of a document end; None for lines. The last one of a document that grows
    has no end yet."""
    if fmt.cut is None:
        return None
    starts = fmt.cut(b"".join(read.stream(row)))
    return starts[1:] if fmt.grows else [*starts[1:], row.raw_bytes]


def sessions_head(row: Session) -> bytes:
    out = bytearray()
    for piece in read.stream(row):
        out += piece
        if len(out) >= formats.HEAD_BYTES:
            break
    return bytes(out[: formats.HEAD_BYTES])


@dataclass(slots=True)
class _Open:
    """A line that began in an earlier chunk."""

    chunk: int = 0
    start: int = 0
    length: int = 0
    held: bytearray | None = field(default_factory=bytearray)


def _project(row: Session, held: Owner, lines: Projector, ends: list[int] | None) -> None:
    waiting: _Open | None = None
    rows = bytearray()
    base = 0
    # Only what verifies is read: new rows over a forged record would lend it a fresh mark.
    for no, raw in verify.sound_chunks(row, held):
        lines.begin_chunk()
        is_last = no == row.chunks - 1
        waiting = _chunk(lines, no, _Cuts(raw, base, ends), waiting, is_last)
        whole = lines.notes.known()
        if waiting is not None and is_last:
            text = bytes(waiting.held or b"") if waiting.chunk == no else None
            _ended(lines, waiting, text, Flag.INCOMPLETE.value)
            lines.notes.facts = replace(lines.notes.facts, whole=asdict(whole))
        _put_terms(row, no, lines.chunk_terms())
        rows += lines.take_rows()
        if len(rows) >= FLUSH_ROWS or is_last:
            _put_rows(row, bytes(rows), lines)
            rows.clear()
        base += len(raw)


def _put_rows(row: Session, rows: bytes, lines: Projector) -> None:
    usage, calls, ties = lines.notes.take()
    write.event_rows(rows)
    write.usage_rows(usage)
    write.call_rows(calls)
    write.ties([(row.id, kind, key, row.workspace_id) for kind, key in ties])
    tally.settle(row.workspace_id, ties)


@dataclass(frozen=True, slots=True)
class _Cuts:
    """A chunk, and where records end in it."""

    raw: bytes
    base: int
    ends: list[int] | None

    def end_after(self, at: int) -> int:
        """Behind the record that covers `at`; 0 if it goes on beyond this chunk."""
        if self.ends is None:
            return self.raw.find(b"\n", at) + 1
        next_one = bisect_right(self.ends, self.base + at)
        if next_one == len(self.ends):
            return 0
        end = self.ends[next_one] - self.base
        return end if end <= len(self.raw) else 0


def _chunk(
    lines: Projector, no: int, cuts: _Cuts, waiting: _Open | None, is_last: bool
) -> _Open | None:
    at = 0
    raw, is_lines = cuts.raw, cuts.ends is None
    while at < len(raw):
        cut = cuts.end_after(at)
        piece = raw[at : cut or len(raw)]
        if waiting is None and cut:
            lines.line(piece[:-1] if is_lines else piece, no, at, len(piece))
        else:
            waiting = waiting or _Open(chunk=no, start=at)
            _grown(waiting, piece)
            # A line over several chunks is indexed as it passes, one that waits for its end not.
            if waiting.chunk < no or not is_last:
                lines.text(piece)
            if cut:
                _ended(lines, waiting, b"", 0)
                waiting = None
        at += len(piece)
    return waiting


def _grown(waiting: _Open, piece: bytes) -> None:
    waiting.length += len(piece)
    if waiting.held is not None:
        waiting.held += piece
        if waiting.length > formats.PARSE_LIMIT:
            waiting.held = None


def _ended(lines: Projector, waiting: _Open, text: bytes | None, flags: int) -> None:
    if waiting.held is None:
        reading, flags = oversized(), flags | Flag.OVERSIZED.value
    else:
        reading = lines.read(bytes(waiting.held))
    lines.reading(reading, text, waiting.chunk, waiting.start, waiting.length, flags)


def _put_terms(row: Session, no: int, terms: bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET terms = %s WHERE session_id = %s AND no = %s",
            [as_values(terms), row.id, no],
        )


def _kept(row: Session, held: Owner, fmt: formats.Format, lines: Projector) -> Counts:
    counts = lines.counts.frozen()
    row.events = counts.events
    told = lines.notes.known()
    found = _facets(row, fmt, counts, told)
    sealed = facts.sealed(held.key, told, workspace_id=row.workspace_id, uid=row.uid)
    Session.objects.filter(id=row.id).update(
        format=fmt.name,
        agent=fmt.agent,
        part=write.part_of(fmt.name, told),
        sealed_facts=sealed,
        started_at=counts.started_at,
        last_at=counts.last_at,
        sort_at=counts.last_at or row.sort_at,
        events=counts.events,
        prompts=counts.prompts,
        errors=counts.errors,
        unreadable=counts.unreadable,
        seconds=tip.seconds_of(counts),
        ending=told.ending,
        **found.columns(),
        head_mark=tip.mark_of(row, held.key),
    )
    browse.keep(
        [
            browse.Changed(
                session_id=row.id,
                workspace_id=row.workspace_id,
                events=counts.events,
                facets=found,
                before=browse.Stored(facets=row.facets),
            )
        ]
    )
    return counts


def _facets(row: Session, fmt: formats.Format, counts: Counts, told: Facts) -> facets.Facets:
    return facets.of_session(
        row.workspace_id,
        agent=fmt.agent,
        fmt=fmt.name,
        part=write.part_of(fmt.name, told),
        counts=counts,
        told=told,
        tail_bytes=row.tail_bytes,
    )
