"""What lists and timelines say of sessions, kept with every batch: the names they are filtered by,
what they used, of long ones also their events as columns and what these come to. Counted per
batch, never per line."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sessions_app.store import digest, facets, strips, totals
from sessions_app.store.facets import Facets


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the row of a session said before."""

    facets: Sequence[int] = ()
    totals_events: int = 0


NEW = Stored()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    session_id: int
    workspace_id: UUID
    events: int
    facets: Facets
    before: Stored
    # The log may go on at once: what is counted over all of it is counted at its end.
    is_last: bool = True


def keep(changed: Sequence[Changed]) -> None:
    for workspace_id in {each.workspace_id for each in changed}:
        here = [each for each in changed if each.workspace_id == workspace_id]
        facets.keep(workspace_id, [name for each in here for name in each.facets.names])
        facets.drop_unused(workspace_id, set().union(*(_gone(each) for each in here)))
    totals.count([each.session_id for each in changed if _is_counted(each)])
    long = [each for each in changed if each.is_last and each.events >= strips.LONG]
    strips.keep([each.session_id for each in long])
    very_long = [each for each in long if each.events > totals.SMALL]
    digest.keep([each.session_id for each in very_long if _is_counted(each)])


def _gone(changed: Changed) -> set[int]:
    return set(changed.before.facets).difference(changed.facets.terms)


def _is_counted(changed: Changed) -> bool:
    counted = changed.before.totals_events
    return changed.is_last and totals.is_due(events=changed.events, counted=counted)
