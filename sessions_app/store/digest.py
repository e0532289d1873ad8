"""What all rows of a session come to: tokens and cost, calls, kinds of events, tools.

Counting takes longer the longer a session is. Of a long one the counts are kept when it was
written, and by whoever first asks for them after it grew. They follow from rows alone.
"""

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from django.db import IntegrityError, transaction

from sessions_app.domain import spending
from sessions_app.domain.sorts import Sort
from sessions_app.models import Digest as Kept
from sessions_app.models import Session
from sessions_app.models.record import Part
from sessions_app.store import calls, sift, usage
from sessions_app.store.calls import CallCounts
from sessions_app.store.strips import LONG, version_of
from sessions_app.store.usage import Group, ModelUsage, Reach

# Of the rules by which it is made.
RULES = 2
MOST_BARS = 120
MOST_POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    models: list[ModelUsage]
    calls: CallCounts
    # So many turns share a group.
    together: int
    groups: list[Group]
    growth: list[Reach]
    sorts: dict[Sort, int]
    # How often a tool was called, and the event that did so first.
    tools: list[tuple[int, int]]


def of(session: Session) -> Digest:
    if session.events < LONG:
        return _counted(session)
    version = _version(session)
    row = Kept.objects.filter(session_id=session.id, version=version).first()
    if row is not None:
        return _read(row.data)
    found = _counted(session)
    if _version(Session.objects.get(id=session.id)) == version:
        _keep(session.id, version, found)
    return found


def keep(session_ids: list[int]) -> None:
    """In the transaction that wrote the rows."""
    for session in Session.objects.filter(id__in=session_ids, events__gte=LONG):
        _keep(session.id, _version(session), _counted(session))


def _version(session: Session) -> str:
    return f"{RULES} {version_of(session)}"


def _counted(session: Session) -> Digest:
    together = spending.group_size(session.prompts + 1, MOST_BARS)
    is_subagent = session.part == Part.SUBAGENT
    return Digest(
        models=usage.of_session(session.id),
        calls=calls.counts(session),
        together=together,
        groups=usage.groups(session.id, together=together),
        growth=usage.growth(session.id, most=MOST_POINTS, is_subagent=is_subagent),
        sorts=sift.counts(session),
        tools=sift.tool_calls(session),
    )


def _keep(session_id: int, version: str, found: Digest) -> None:
    try:
        with transaction.atomic():
            Kept.objects.update_or_create(
                session_id=session_id, defaults={"version": version, "data": _written(found)}
            )
    except IntegrityError:
        # The session was erased meanwhile.
        return


def _written(found: Digest) -> dict[str, Any]:
    return {
        **asdict(found),
        "models": [_plain(each) for each in found.models],
        "groups": [_plain(each) for each in found.groups],
    }


def _plain(sums: spending.Sums) -> dict[str, Any]:
    days = {name: day.isoformat() for name, day in asdict(sums).items() if isinstance(day, date)}
    return asdict(sums) | days


def _read(data: dict[str, Any]) -> Digest:
    return Digest(
        models=[ModelUsage(**_dated(each)) for each in data["models"]],
        calls=CallCounts(**data["calls"]),
        together=data["together"],
        groups=[Group(**_dated(each)) for each in data["groups"]],
        growth=[Reach(**each) for each in data["growth"]],
        sorts={Sort(name): number for name, number in data["sorts"].items()},
        tools=[(number, seq) for number, seq in data["tools"]],
    )


def _dated(values: dict[str, Any]) -> dict[str, Any]:
    days = {
        name: date.fromisoformat(values[name])
        for name in ("priced_from", "priced_on")
        if values[name] is not None
    }
    return values | days
