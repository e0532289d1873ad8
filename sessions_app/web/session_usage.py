"""Tokens and cost of a session: by turn, by model, and how its context grew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain import events, spending
from sessions_app.models import Session
from sessions_app.store import digest, read, sessions
from sessions_app.store import usage as store
from sessions_app.store.usage import Group, Reach, Turn
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.drawing import barcharts
from sessions_app.web.drawing.barcharts import Chart
from sessions_app.web.query import number

PAGE = 25
# A prompt is named by its first words; of a longer line only the head is read.
PROMPT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    line: str
    most: str
    least: str
    peak: int
    last: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A bar and the turns it stands for."""

    x: int
    label: str
    url: str
    told: Group


@require_safe
@signed_in
def usage(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    first = number(request, "turn") // PAGE * PAGE
    told = digest.of(found)
    together = told.together
    groups = _every(told.groups, together, found.prompts)
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "models": told.models,
        "total": spending.added(told.models),
        "call_counts": told.calls,
        "turns": _named(found, store.turns(found.id, first=first, size=PAGE)),
        "together": together,
        "groups": [
            _group_view(n, group, together, found.prompts) for n, group in enumerate(groups)
        ],
        "charts": _charts(groups),
        "curve": _curve(told.growth),
        "earlier": f"usage?turn={first - PAGE}#turns" if first else "",
        "later": f"usage?turn={first + PAGE}#turns" if first + PAGE <= found.prompts else "",
    }
    return respond.either(request, "sessions/usage.html", "sessions/_usage_page.html", context)


def _named(found: Session, turns: Sequence[Turn]) -> list[tuple[Turn, str]]:
    """Turns with the first words of their prompts. Opens the chunks of this page's prompts."""
    seqs = [turn.seq for turn in turns if turn.seq is not None]
    lines = read.some(found, seqs, shown=PROMPT_BYTES)
    words = {line.seq: events.title_of(line.reading.body) for line in lines}
    return [(turn, "" if turn.seq is None else words.get(turn.seq, "")) for turn in turns]


def _every(groups: Sequence[Group], together: int, turns: int) -> list[Group]:
    """With those between that no answer belongs to: a turn without one has its place, too."""
    known = {group.number: group for group in groups}
    start = 0 if 0 in known or together > 1 else 1
    numbers = range(start, turns + 1, together)
    return [known.get(n) or Group(number=n, context=0) for n in numbers]


def _group_view(place: int, group: Group, together: int, turns: int) -> GroupView:
    last = min(group.number + together - 1, turns)
    # Turn 0 is what comes before the first prompt; with others in its bar it needs no mention.
    start = max(group.number, 1) if together > 1 else group.number
    label = f"Turn {start}" if start >= last else f"Turns {start} to {last}"
    url = f"usage?turn={group.number}#turns"
    return GroupView(x=place, label=label, url=url, told=group)


def _charts(groups: Sequence[Group]) -> dict[str, Chart]:
    taken_in = barcharts.stacked(
        [
            ("cache-read", "Read from cache", [group.cache_read for group in groups]),
            ("cache-write", "Written to cache", [group.cache_write for group in groups]),
            ("input", "Not cached", [group.input for group in groups]),
        ]
    )
    given_out = barcharts.stacked([("output", "Output", [group.output for group in groups])])
    costs: list[float | None] = [
        group.cost if group.cost is not None else group.reported for group in groups
    ]
    cost = barcharts.stacked([("cost", "Cost", costs)])
    stubs = barcharts.stubs(
        [bool(group.unpriced) and group.reported is None for group in groups], "Price unknown"
    )
    shares = [group.cache_share for group in groups]
    return {
        "input": taken_in,
        "output": given_out,
        "cost": Chart(bars=cost.bars, layers=(*cost.layers, stubs), peak=cost.peak),
        "share": barcharts.stacked([("cache-read", "Read from cache", shares)], top=1),
    }


def _curve(points: Sequence[Reach]) -> Curve | None:
    if not points:
        return None
    peak = max(point.tokens for point in points)
    last = points[-1].number
    line, most = barcharts.line(_placed(points, last), peak)
    _, least = barcharts.line(_placed([replace(p, tokens=p.least) for p in points], last), peak)
    end = points[-1].tokens
    return Curve(line=line, most=most, least=least, peak=peak, last=end, answers=last)


def _placed(points: Sequence[Reach], last: int) -> list[tuple[float, int]]:
    """From the first answer at the left to the last at the right."""
    across = max(last - 1, 1)
    placed = [((point.number - 1) / across, point.tokens) for point in points]
    return [*placed, (1.0, placed[-1][1])]
