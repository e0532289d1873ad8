"""The marks of a session's life, drawn and told in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sessions_app.domain import timeline
from sessions_app.domain.axis import SECOND, Axis, Window
from sessions_app.domain.timeline import Mark, Milestone, Stop
from sessions_app.store import timeline as store
from sessions_app.store.moments import Outline
from sessions_app.templatetags.show import duration
from sessions_app.web.drawing import pieces
from sessions_app.web.drawing.pieces import LETTER_PIXELS, fitting, per_cent

# Half a mark, and the same with the space to the words beside it.
HALF = 8
BESIDE = 14
MOST_LISTED = 50
MOST_MODELS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StopView:
    x: str
    look: str
    label: str
    words: str
    seq: int
    is_at_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A milestone in the list for those who do not see the drawing."""

    words: str
    at: datetime | None
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    stops: tuple[StopView, ...]
    listed: tuple[Listed, ...]
    # How many milestones the list leaves out.
    more: int


def life(known: Outline, made: Axis, shown: Window, found: Iterable[Milestone], width: int) -> Life:
    """The milestones found among the events, with those of the session itself."""
    stops = timeline.stops([*found, *_own(known, made)], made, shown, width=width)
    models = _models(known, stops)
    every = [each for stop in stops for each in stop.milestones]
    return Life(
        stops=tuple(_stop_views(stops, models, width)),
        listed=tuple(
            Listed(words=_words(each, models), at=pieces.at(made.unit, each.moment), seq=each.seq)
            for each in every[:MOST_LISTED]
        ),
        more=max(0, len(every) - MOST_LISTED),
    )


def _own(known: Outline, made: Axis) -> Iterable[Milestone]:
    yield Milestone(made.first, 0, Mark.START)
    yield Milestone(made.last, known.events - 1, Mark.END)
    yield from timeline.resumes(known.pauses)


def _models(known: Outline, stops: Sequence[Stop]) -> dict[int, str]:
    seqs = [e.seq for stop in stops for e in stop.milestones if e.mark is Mark.MODEL]
    return store.models_at(known, seqs[:MOST_MODELS])


def _words(each: Milestone, models: dict[int, str]) -> str:
    if each.mark is Mark.START:
        return "Start"
    if each.mark is Mark.END:
        return "Last event"
    if each.mark is Mark.RESUME:
        return f"Resumed after {duration(each.pause / SECOND)}"
    if each.mark is Mark.COMPACTION:
        # One takes two lines in some formats.
        return "Compaction" if each.times <= 2 else f"Compactions, {each.times:,} lines"
    name = models.get(each.seq, "")
    if each.times > 1:
        return f"{each.times:,} model changes"
    return f"Model: {name}" if name else "Model change"


def _stop_views(stops: Sequence[Stop], models: dict[int, str], width: int) -> Iterable[StopView]:
    """Words stand to the right of their mark, at the end of the lane to the left of it, and
    only where no other mark or word is."""
    taken = 0.0
    for number, stop in enumerate(stops):
        x = stop.share * width
        lead = _words(stop.lead, models)
        length = len(lead) * LETTER_PIXELS
        is_at_end = width - x < length + BESIDE
        after = stops[number + 1].share * width if number + 1 < len(stops) else width
        room = x - taken if is_at_end else after - x
        label = fitting(lead, room - BESIDE - HALF)
        # A beginning that could be anything says nothing.
        label = label if len(label) * 4 >= len(lead) * 3 else ""
        taken = x + BESIDE + (len(label) * LETTER_PIXELS if label and not is_at_end else 0)
        yield StopView(
            x=per_cent(stop.share),
            look=stop.lead.mark.value,
            label=label,
            words=_all_words(stop, models),
            seq=stop.lead.seq,
            is_at_end=is_at_end,
        )


def _all_words(stop: Stop, models: dict[int, str]) -> str:
    told = ", ".join(_words(each, models) for each in stop.milestones[:5])
    more = len(stop.milestones) - 5
    return f"{told} and {more:,} more" if more > 0 else told
