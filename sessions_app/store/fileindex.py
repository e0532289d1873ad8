"""The index of a session's files: kept sealed beside it, made in steps that keep nobody waiting.

It follows from the record alone. It is made when it is first asked for, grows with its session,
and is dropped when the record is read anew.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from time import monotonic
from typing import Any

import zstandard
from django.db import IntegrityError as DatabaseIntegrityError
from django.db import connection, transaction

from sessions_app.domain import fileindex
from sessions_app.domain.filehistory import stepped
from sessions_app.domain.fileindex import Draft, Entry, Histories, Index, entry_of, source_of
from sessions_app.domain.files import Deal, Erased
from sessions_app.domain.texts import UNSEEN, Known, State
from sessions_app.formats.file_deals import Reader
from sessions_app.formats.file_tools import NAMES
from sessions_app.models import FileIndex, Session
from sessions_app.store import files, keys, read, sessions
from sessions_app.store.chunks import Owner
from sessions_app.store.files import LONGEST_LINE, Look
from sessions_app.store.tip import vouched
from sessions_app.vault import seal
from sessions_app.vault.terms import as_values

VERSION = 1
SEQS = 20_000
LARGEST = 64 * 1024 * 1024
# Texts kept in memory while the index is made; a file that was let go is read again.
MOST_CHARACTERS = 32_000_000


def of(session: Session, *, seconds: float) -> Index:
    """As far as it is known, taken further for about so many seconds."""
    owner = vouched(session)
    index = _kept(session, owner)
    if index.upto >= whole(session):
        return index
    grown = _grown(session, index, monotonic() + seconds)
    _keep(session, owner, grown)
    return grown


def whole(session: Session) -> int:
    """Events that are whole lines: one that is being written will be read again."""
    return session.events - (session.tail_bytes > 0)


# Growing ------------------------------------------------------------------------------------------


def _grown(session: Session, index: Index, end: float) -> Index:
    reader = Reader(session.format, sessions.facts_of(session).cwd)
    waiting = sorted({entry.asked for entry in index.open})
    for line in read.whole(session, waiting, longest=LONGEST_LINE):
        list(reader.line(line.seq, line.reading.body, line.raw))
    book = _Book(session, index)
    walk = _walk(session, index.upto, reader, book)
    upto = next(walk)
    while monotonic() < end and (further := next(walk, None)):
        upto = further
    return book.draft.index(upto, book.open(reader))


def _walk(session: Session, upto: int, reader: Reader, book: "_Book") -> Iterator[int]:
    """Line by line; yields up to where it has come."""
    while seqs := _seqs(session, upto):
        for line in read.whole(session, seqs, longest=LONGEST_LINE):
            book.draft.unread += line.is_cut
            for deal in reader.line(line.seq, line.reading.body, line.raw):
                book.add(deal)
            yield line.seq + 1
        upto = seqs[-1] + 1
    yield whole(session)


def _seqs(session: Session, lo: int) -> list[int]:
    blind = keys.blinder(session.workspace_id)
    tools = [as_values(blind.of_facet("tool", name))[0] for name in NAMES]
    values: dict[str, Any] = {
        "id": session.id,
        "lo": lo,
        "hi": whole(session),
        "tools": tools,
        "most": SEQS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SEQS, values)
        return [seq for (seq,) in cursor.fetchall()]


# Lines that call a tool for files, those that answer such a call, and where a call has no id the
# line after it. Each table is walked once: of a session that was just written the planner expects
# few rows, and would compare each of them with all others.
_SEQS = """
    SELECT seq FROM (
        SELECT seq FROM (
            SELECT seq, bool_or(NOT is_result AND tool = ANY(%(tools)s)) OVER (PARTITION BY key)
                AS is_wanted
            FROM sessions_app_call WHERE session_id = %(id)s AND key IS NOT NULL
        ) paired WHERE is_wanted
        UNION
        SELECT e.seq + step.n FROM sessions_app_event e CROSS JOIN (VALUES (0), (1)) AS step (n)
        WHERE e.session_id = %(id)s AND e.tool = ANY(%(tools)s) AND e.seq NOT IN (
            SELECT seq FROM sessions_app_call WHERE session_id = %(id)s AND key IS NOT NULL
        )
    ) found
    WHERE seq >= %(lo)s AND seq < %(hi)s ORDER BY seq LIMIT %(most)s
"""


class _Book:
    """Goes through the acts in order and remembers what each file held last."""

    def __init__(self, session: Session, index: Index) -> None:
        self.draft = Draft.of(index)
        self._session = session
        self._entries: dict[int, list[Entry]] = defaultdict(list)
        for entry in index.entries:
            self._entries[entry.path].append(entry)
        self._states: dict[str, State] = {}
        self._renamed: dict[str, State] = {}
        self._characters = 0

    def add(self, deal: Deal) -> None:
        entry = self._entry(deal)
        if entry is not None:
            self.draft.add(entry)
            self._entries[entry.path].append(entry)

    def open(self, reader: Reader) -> list[Entry]:
        found = (self._entry(deal) for deal in reader.open())
        return [entry for entry in found if entry is not None]

    def _entry(self, deal: Deal) -> Entry | None:
        path = self.draft.number(deal.act.path)
        if path is None:
            return None
        step = stepped(self._before(deal, path), deal)
        if deal.answered is not None:
            self._remember(deal.act.path, step.after)
        change = deal.act.change
        if isinstance(change, Erased) and change.target:
            self._renamed[change.target] = step.before
        return entry_of(step, path, self.draft.paths.get(source_of(deal)))

    def _before(self, deal: Deal, path: int) -> State:
        if source_of(deal):
            return self._renamed.pop(deal.act.path, UNSEEN)
        if deal.act.path not in self._states:
            self._states[deal.act.path] = self._read_again(path)
        return self._states[deal.act.path]

    def _read_again(self, path: int) -> State:
        """What earlier acts left: found in an earlier step, or let go to save memory."""
        number = len(self._entries[path])
        if not number:
            return UNSEEN
        acts = Histories(paths=list(self.draft.paths), entries=self._entries)
        look = Look(path=path, lo=number - 1, hi=number)
        found = files.steps(self._session, acts, look)
        return found[-1].after if found else UNSEEN

    def _remember(self, path: str, state: State) -> None:
        self._characters += len(state.text) if isinstance(state, Known) else 0
        if self._characters > MOST_CHARACTERS:
            self._states.clear()
            self._characters = 0
        self._states[path] = state


# Keeping ------------------------------------------------------------------------------------------


def drop(session_id: int) -> None:
    """The record was read anew: what followed from the old reading no longer does."""
    FileIndex.objects.filter(session_id=session_id).delete()


def _kept(session: Session, owner: Owner) -> Index:
    row = FileIndex.objects.filter(session_id=session.id, version=VERSION).first()
    if row is None or row.upto > session.events:
        return Index()
    name = f"files of session {session.uid}"
    packed = seal.unseal(owner.key, _place(owner, row.upto), bytes(row.sealed), name=name)
    reader = zstandard.ZstdDecompressor().decompress(packed, max_output_size=LARGEST)
    values = json.loads(reader)
    return fileindex.unpacked(values) if values.pop("format") == session.format else Index()


def _place(owner: Owner, upto: int) -> bytes:
    return seal.place("files", str(owner.workspace_id), str(owner.uid), VERSION, upto)


def _keep(session: Session, owner: Owner, index: Index) -> None:
    values = {**fileindex.packed(index), "format": session.format}
    packed = zstandard.ZstdCompressor(level=3).compress(json.dumps(values).encode())
    sealed = seal.seal(owner.key, _place(owner, index.upto), packed)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_KEEP, [session.id, VERSION, index.upto, sealed])
    except DatabaseIntegrityError:
        # The session was erased meanwhile.
        return


# Of two readers who make it at once the one who came further wins.
_KEEP = """
    INSERT INTO sessions_app_fileindex (session_id, version, upto, sealed) VALUES (%s, %s, %s, %s)
    ON CONFLICT (session_id) DO UPDATE
    SET version = excluded.version, upto = excluded.upto, sealed = excluded.sealed
    WHERE sessions_app_fileindex.version <> excluded.version
       OR sessions_app_fileindex.upto < excluded.upto
"""
