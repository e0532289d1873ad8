"""The disk beside the record: what is there, what is in, what is missing, what is about to go."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import orjson

from sessions_app.domain.errors import RecountError
from sessions_app.formats import FORMATS, HEAD_BYTES, UNKNOWN, otel, recognise
from sessions_app.ingest import discover, pipeline, sources
from sessions_app.ingest.following import is_below
from sessions_app.ingest.roots import Root, claude_settings, known_roots, managed_settings
from sessions_app.ingest.sources import DiskFile, Skipped
from sessions_app.models import WatchedRoot
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import conflicts, findings, reconcile, roots
from sessions_app.store.findings import Found
from sessions_app.store.reconcile import Held
from sessions_app.store.sources import Fingerprints

# What Claude Code keeps a transcript that nobody touches, unless it is told otherwise.
USUAL_DAYS = 30
WARNED = timedelta(days=7)
SETTINGS_LIMIT = 1_000_000
MOST_DAYS = 100_000
LABELS = {
    "on_disk": "On disk",
    "ingested": "Ingested",
    "growing": "Growing",
    "changed": "Changed since it was read",
    "missing": "Not ingested",
    "malformed": "Malformed lines",
    "unknown": "Unknown format",
    "rewritten": "Rewritten",
    "deleted": "Deleted at source",
    "endangered": "About to be deleted, not ingested",
    "refused": "Not read",
    "other": "Not a log by its name",
}
ALERTS = {
    "deleted": (FindingKind.DELETED, "It is gone from disk; what was ingested is kept."),
    "endangered": (
        FindingKind.ENDANGERED,
        "The agent's own clean-up is about to delete it, and it is not all ingested.",
    ),
}
SAME_ID = (
    "Another session has the same id and other content. Both are kept. Its thread shows where they "
    "part: if neither is a copy that went on elsewhere, one was edited; find out who did. "
    "Settle this when it is explained."
)
NOT_ALL_IN = ("missing", "growing", "changed", "refused")
# Of these, a copy that is older is the beginning of the newer one. A document is written anew at
# each save, and spans of one conversation come from several services.
GROWING = [fmt.name for fmt in FORMATS if fmt.cut is None and fmt is not otel.FORMAT]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    path: str
    states: frozenset[str]
    behind: int = 0
    malformed: int = 0
    uid: UUID | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    root_id: UUID
    path: str
    is_on: bool
    files: tuple[FileState, ...]

    @property
    def counts(self) -> dict[str, int]:
        return {name: sum(name in file.states for file in self.files) for name in LABELS}

    @property
    def behind(self) -> int:
        return sum(file.behind for file in self.files)

    @property
    def malformed_lines(self) -> int:
        return sum(file.malformed for file in self.files)

    @property
    def is_complete(self) -> bool:
        counts = self.counts
        return not any(counts[name] for name in NOT_ALL_IN)

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        return [(name, label, self.counts[name]) for name, label in LABELS.items()]


class CleanUp:
    """When Claude Code deletes what nobody touches: each account's folder has its own settings."""

    def __init__(self, environ: Mapping[str, str], home: Path) -> None:
        self._own = os.path.realpath(claude_settings(environ, home).parent)
        self._managed = next(filter(None.__ne__, map(_days_in, managed_settings())), None)
        self._days: dict[str, int | None] = {}

    def date_of(self, item: sources.SourceFile) -> datetime | None:
        """From when on it may be gone; nothing where no clean-up comes."""
        folder, below, _ = item.path.rpartition("/projects/")
        if not isinstance(item, DiskFile) or not below:
            return None
        if folder not in self._days:
            self._days[folder] = self._days_of(folder)
        days = self._days[folder]
        touched = datetime.fromtimestamp(max(item.mtime_ns, 0) / 1e9, tz=UTC)
        return None if days is None else touched + timedelta(days=days)

    def _days_of(self, folder: str) -> int | None:
        """Another account's folder lies elsewhere, but is called the same, or its settings say
        whose they are."""
        told = _days_in(Path(folder) / "settings.json")
        if told is None and folder != self._own and not folder.endswith("/.claude"):
            return None
        if self._managed is not None:
            return self._managed
        return USUAL_DAYS if told is None else told


def _days_in(settings: Path) -> int | None:
    """Nothing if they do not say. With 0, Claude Code deletes at its next start, or refuses its
    settings: the worse of the two counts."""
    try:
        with settings.open("rb") as file:
            told = orjson.loads(file.read(SETTINGS_LIMIT))
    except (OSError, ValueError):
        return None
    days = told.get("cleanupPeriodDays") if isinstance(told, dict) else None
    is_days = isinstance(days, int) and not isinstance(days, bool) and 0 <= days < MOST_DAYS
    return days if is_days else None


def everything(environ: Mapping[str, str], home: Path, *, now: datetime) -> list[Compared]:
    """Every source, those that are switched off too; what an admin must know becomes a finding."""
    clean_up = CleanUp(environ, home)
    tables = []
    for root in roots.every():
        tables.append(compared(root, now=now, clean_up=clean_up))
        _alert(root, tables[-1], now=now)
    for workspace_id in reconcile.workspaces():
        _tell_conflicts(workspace_id, now=now)
    return tables


def unwatched(environ: Mapping[str, str], home: Path) -> list[Root]:
    """Folders where agents of this machine log and that no source covers: nothing of them is in
    the comparison."""
    bases = [str(Path(root.path).resolve()) for root in roots.every()]
    return [
        root
        for root in known_roots(environ, home)
        if not any(is_below(str(Path(root.path).resolve()), base) for base in bases)
    ]


def compared(root: WatchedRoot, *, now: datetime, clean_up: CleanUp) -> Compared:
    marks = Fingerprints(root.workspace_id)
    held = reconcile.held(root.workspace_id)
    files, there, hidden = [], set(), []
    for item in discover.found([root.path], has_others=True):
        if isinstance(item, Skipped):
            files.append(_not_read(item))
            hidden += [] if item.why in ("gone", "other") else [item.path]
            continue
        key = marks.of_place(item.machine, item.path, item.identity)
        there.add(key)
        files.append(_state(root.workspace_id, item, held.get(key), clean_up, now))
    files += _deleted(root, held, there, hidden)
    files.sort(key=lambda file: file.path)
    return Compared(root_id=root.id, path=root.path, is_on=root.is_on, files=tuple(files))


def _not_read(item: Skipped) -> FileState:
    if item.why == "other":
        return FileState(path=item.path, states=frozenset({"other"}))
    states = {"on_disk", "unknown"} if item.why == "foreign" else {"refused"}
    return FileState(path=item.path, states=frozenset(states), note=item.reason)


def _state(
    workspace_id: UUID,
    item: sources.SourceFile,
    held: Held | None,
    clean_up: CleanUp,
    now: datetime,
) -> FileState:
    note, states = "", {"on_disk"}
    if held is None:
        is_unknown = _is_no_log(item)
        behind = 0 if is_unknown else item.size
        states |= {"unknown" if is_unknown else "missing"} if item.size else set()
    else:
        states |= {"ingested", *_about(held)}
        behind, how, note = _behind(workspace_id, item, held)
        states |= {how} if how else set()
    deleted_at = clean_up.date_of(item) if behind else None
    if deleted_at is not None and deleted_at < now + WARNED:
        states.add("endangered")
        note = note or f"It may be deleted from {deleted_at:%Y-%m-%d} on."
    return FileState(
        path=item.path,
        states=frozenset(states),
        behind=behind,
        malformed=held.unreadable if held else 0,
        uid=held.uid if held else None,
        note=note,
    )


def _behind(workspace_id: UUID, item: sources.SourceFile, held: Held) -> tuple[int, str, str]:
    """How many bytes are not in, what that is called, and what else is to be said."""
    is_packed = isinstance(item, DiskFile) and bool(item.at)
    if item.size > held.raw_bytes and not is_packed:
        return item.size - held.raw_bytes, "growing", ""
    if item.mtime_ns and (item.size, item.mtime_ns) == (held.size, held.mtime_ns):
        # As it was when it was read to its end.
        return 0, "", ""
    try:
        is_in = pipeline.is_all_in(workspace_id, item)
    except (OSError, RecountError) as error:
        return item.size, "changed", getattr(error, "strerror", "") or str(error)
    return (0, "", "") if is_in else (item.size, "changed", "")


def _is_no_log(item: sources.SourceFile) -> bool:
    """A file that was come upon is kept only if a format knows it."""
    if item.is_wanted:
        return False
    try:
        with item.open() as stream:
            return recognise(stream.read(HEAD_BYTES)) is UNKNOWN
    except (OSError, RecountError):
        return False


def _about(held: Held) -> set[str]:
    is_so = {
        "malformed": held.unreadable > 0,
        "unknown": held.format == UNKNOWN.name,
        "rewritten": held.generation > 1,
    }
    return {name for name, holds in is_so.items() if holds}


def _deleted(
    root: WatchedRoot, held: dict[bytes, Held], there: set[bytes], hidden: list[str]
) -> list[FileState]:
    """Places below the root that the record knows and the disk does not. What lies behind a folder
    that cannot be looked into may still be there."""
    absent = {one.session_id: one for key, one in held.items() if key not in there}
    here, base = sources.this_machine(), os.path.realpath(root.path)
    places = reconcile.places_of(list(absent))
    return [
        FileState(path=path, states=frozenset({"deleted"}), uid=absent[session_id].uid)
        for session_id, (machine, path) in places.items()
        if machine == here
        and is_below(path, base)
        and not any(is_below(path.partition("#")[0], each) for each in hidden)
    ]


def _alert(root: WatchedRoot, table: Compared, *, now: datetime) -> None:
    """Settled when it is over."""
    machine = sources.this_machine()
    found = [
        Found(
            kind=kind,
            machine=machine,
            path=file.path,
            message=f"{message} {file.note}".rstrip(),
            root_id=root.id,
        )
        for name, (kind, message) in ALERTS.items()
        for file in table.files
        if name in file.states
    ]
    still = findings.raised(root.workspace_id, found, now=now)
    findings.settle_others(root.id, [kind for kind, _ in ALERTS.values()], still, now)


def _tell_conflicts(workspace_id: UUID, *, now: datetime) -> None:
    """What a person has settled stays so: bytes that are stored do not change any more."""
    kind = FindingKind.CONFLICT
    numbers = conflicts.of(workspace_id, GROWING)
    told = findings.settled_sessions(workspace_id, kind)
    found = [
        Found(
            kind=kind,
            machine=machine,
            path=path,
            message=SAME_ID,
            shown=f"{machine}: {path}",
            session_id=number,
        )
        for number, (machine, path) in reconcile.places_of(numbers).items()
        if number not in told
    ]
    findings.raised(workspace_id, found, now=now)
    findings.settle_gone(workspace_id, kind, now)
