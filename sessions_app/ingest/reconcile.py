"""The disk beside the record: what is there, what is in, what is missing, what is about to go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import orjson

from sessions_app.domain.errors import RecountError
from sessions_app.formats import FORMATS, HEAD_BYTES, UNKNOWN, otel, recognise
from sessions_app.ingest import discover, sources
from sessions_app.ingest.following import is_below
from sessions_app.ingest.roots import Root, claude_settings, known_roots
from sessions_app.ingest.sources import NO_LOG, DiskFile, Skipped
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
LABELS = {
    "on_disk": "On disk",
    "ingested": "Ingested",
    "growing": "Growing",
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
        "The agent's own clean-up will delete it soon, and it is not all ingested.",
    ),
}
SAME_ID = (
    "Another session has the same id and other content. Both are kept. Its thread shows where they "
    "part: if neither is a copy that went on elsewhere, one was edited; find out who did. "
    "Settle this when it is explained."
)
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
        return not (counts["missing"] or counts["growing"] or counts["refused"])

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        return [(name, label, self.counts[name]) for name, label in LABELS.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Where Claude Code deletes what nobody touched for so many days."""

    days: int
    folder: str

    @classmethod
    def of(cls, environ: Mapping[str, str], home: Path) -> "CleanUp":
        """As it was told in the account Recount runs under."""
        settings = claude_settings(environ, home)
        return cls(days=_days_in(settings), folder=str(settings.parent))

    def endangers(self, item: sources.SourceFile, now: datetime) -> bool:
        """Another account's folder lies elsewhere, but is called the same."""
        if not isinstance(item, DiskFile):
            return False
        if "/.claude/" not in item.path and not is_below(item.path, self.folder):
            return False
        touched = datetime.fromtimestamp(max(item.mtime_ns, 0) / 1e9, tz=UTC)
        return touched < now - timedelta(days=self.days) + WARNED


def _days_in(settings: Path) -> int:
    try:
        with settings.open("rb") as file:
            told = orjson.loads(file.read(SETTINGS_LIMIT))
    except (OSError, ValueError):
        return USUAL_DAYS
    days = told.get("cleanupPeriodDays") if isinstance(told, dict) else None
    is_days = isinstance(days, int) and not isinstance(days, bool) and 0 < days < 100_000
    return int(days) if is_days and days is not None else USUAL_DAYS


def everything(environ: Mapping[str, str], home: Path, *, now: datetime) -> list[Compared]:
    """Every source, those that are switched off too; what an admin must know becomes a finding."""
    clean_up = CleanUp.of(environ, home)
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
    files, there = [], set()
    for item in discover.found([root.path], has_others=True):
        if isinstance(item, Skipped):
            states, note = (OTHER, "") if item.reason is NO_LOG else (REFUSED, item.reason)
            files.append(FileState(path=item.path, states=states, note=note))
            continue
        key = marks.of_place(item.machine, item.path, item.identity)
        there.add(key)
        files.append(_state(item, held.get(key), is_dying=clean_up.endangers(item, now)))
    files += _deleted(root, held, there)
    files.sort(key=lambda file: file.path)
    return Compared(root_id=root.id, path=root.path, is_on=root.is_on, files=tuple(files))


REFUSED, OTHER = frozenset({"refused"}), frozenset({"other"})


def _state(item: sources.SourceFile, held: Held | None, *, is_dying: bool) -> FileState:
    size = item.size
    is_unknown = held is None and _is_no_log(item)
    states = {"on_disk"}
    # A packed log is compared by the size it was read with: unpacked it is larger.
    behind = size if held is None else max(size - max(held.raw_bytes, held.size), 0)
    if held is None:
        states |= {"unknown" if is_unknown else "missing"} if size else set()
    else:
        states |= {"ingested", *_about(held)}
        states |= {"growing"} if behind else set()
    if behind and not is_unknown and is_dying:
        states.add("endangered")
    return FileState(
        path=item.path,
        states=frozenset(states),
        behind=0 if is_unknown else behind,
        malformed=held.unreadable if held else 0,
        uid=held.uid if held else None,
    )


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


def _deleted(root: WatchedRoot, held: dict[bytes, Held], there: set[bytes]) -> list[FileState]:
    """Places below the root that the record knows and the disk does not."""
    absent = {one.session_id: one for key, one in held.items() if key not in there}
    here, base = sources.this_machine(), str(Path(root.path).resolve())
    places = reconcile.places_of(list(absent))
    return [
        FileState(path=path, states=frozenset({"deleted"}), uid=absent[session_id].uid)
        for session_id, (machine, path) in places.items()
        if machine == here and is_below(path, base)
    ]


def _alert(root: WatchedRoot, table: Compared, *, now: datetime) -> None:
    """Settled when it is over."""
    machine = sources.this_machine()
    found = [
        Found(kind=kind, machine=machine, path=file.path, message=message, root_id=root.id)
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
