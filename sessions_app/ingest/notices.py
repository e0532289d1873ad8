"""What an admin should know of what became of sources, as findings."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from sessions_app import formats
from sessions_app.ingest.pipeline import Result
from sessions_app.ingest.sources import Skipped, this_machine
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings
from sessions_app.store.findings import Found
from sessions_app.store.sources import Fingerprints

# What is found again by looking at everything, and is over when it is not.
BY_LOOKING = (FindingKind.ASIDE, FindingKind.REFUSED, FindingKind.UNREADABLE)
STAYS = (FindingKind.ASIDE, FindingKind.REWRITTEN)
REWRITTEN = "Its earlier bytes changed: they are kept as they were, and the new ones beside them."


def of_result(result: Result, root_id: UUID | None = None) -> Iterator[Found]:
    if result.state == "died":
        yield about(FindingKind.ASIDE, result.path, result.message, root_id)
    if result.state == "failed":
        yield about(FindingKind.UNREADABLE, result.path, result.message, root_id)
    if is_news(result):
        yield about(FindingKind.REWRITTEN, result.path, REWRITTEN, root_id)


def elsewhere(result: Result, machine: str) -> Iterator[Found]:
    """Of a source that lies on another machine, which sends it."""
    is_told = result.state == "died" or is_news(result)
    kind = FindingKind.ASIDE if result.state == "died" else FindingKind.REWRITTEN
    if is_told:
        yield Found(
            kind=kind,
            machine=machine,
            path=result.path,
            message=REWRITTEN if kind is FindingKind.REWRITTEN else result.message,
            shown=f"{machine}: {result.path}",
        )


def is_news(result: Result) -> bool:
    """A document is written anew at each save: nobody need be told."""
    return result.state == "rewritten" and not is_rewritten_always(result.format)


def is_rewritten_always(name: str) -> bool:
    fmt = formats.BY_NAME.get(name, formats.UNKNOWN)
    return fmt.cut is not None and not fmt.grows


def refused(item: Skipped, root_id: UUID) -> Found:
    return about(FindingKind.REFUSED, item.path, item.reason, root_id)


def about(kind: FindingKind, path: str, message: str, root_id: UUID | None) -> Found:
    # A message may name the path: it is sealed where it belongs.
    told = message.removeprefix(f"{path}: ")
    return Found(kind=kind, machine=this_machine(), path=path, message=told, root_id=root_id)


class Aside:
    """Places of this machine whose sources killed their readers."""

    def __init__(self, workspace_id: UUID) -> None:
        self._marks = Fingerprints(workspace_id)
        self.keys = findings.places(workspace_id, FindingKind.ASIDE)

    def key_of(self, path: str) -> bytes:
        return self._marks.of_place(this_machine(), path)

    def holds(self, path: str) -> bool:
        return bool(self.keys) and self.key_of(path) in self.keys

    def add(self, path: str) -> None:
        self.keys.add(self.key_of(path))


def tell(workspace_id: UUID, results: Iterable[Result], *, now: datetime) -> None:
    """After a run of which a person heard the rest: what stays true, and what is over."""
    results, aside = list(results), Aside(workspace_id)
    told = [one for result in results for one in of_result(result)]
    findings.raised(workspace_id, [one for one in told if one.kind in STAYS], now=now)
    read = {result.path for result in results if result.state != "died"}
    # The sessions of a database are results of their own.
    for path in read | {path.partition("#")[0] for path in read}:
        if aside.holds(path):
            findings.settle_place(workspace_id, aside.key_of(path), [FindingKind.ASIDE], now)


def summary(found: Iterable[Found]) -> str:
    wrong = sum(one.kind in BY_LOOKING for one in found)
    if not wrong:
        return ""
    paths = "1 path is" if wrong == 1 else f"{wrong:,} paths are"
    return f"{paths} not read: see the findings."
