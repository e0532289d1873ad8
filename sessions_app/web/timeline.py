"""The timeline of a session: what is asked of it, and the address of every view of it."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain import axis, searchquery, times
from sessions_app.domain.axis import MILLISECOND, SECOND, Axis, Mode, Unit, Window
from sessions_app.domain.errors import BadInput
from sessions_app.models import Session
from sessions_app.store import moments, sessions
from sessions_app.store.moments import Outline
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.drawing import lanes, pieces, selection, tracks
from sessions_app.web.drawing.lanes import Lane
from sessions_app.web.query import number

NARROWEST, USUAL, WIDEST = 240, 1_100, 4_000
# Widths are rounded, so that a scroll bar more or less does not count everything again.
WIDTH_STEP = 20
PAN = 0.25
MOST_PINS, LONGEST_PIN = 20, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A stretch of a session as it is looked at."""

    outline: Outline
    axis: Axis
    mode: Mode
    natural: Mode
    shown: Window
    width: int
    selected: Window | None = None
    picked: int | None = None
    # Keys of lanes that are kept on top.
    pinned: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        return self.outline.unit

    @property
    def is_whole(self) -> bool:
        return axis.is_whole(self.axis, self.shown)


def query(view: View) -> str:
    """The address of a view: only what differs from what is shown anyway."""
    asked = QueryDict(mutable=True)
    if not view.is_whole:
        asked["from"], asked["to"] = written(view.unit, view.shown)
    if view.selected is not None:
        asked["since"], asked["until"] = written(view.unit, view.selected)
    if view.picked is not None:
        asked["pick"] = str(view.picked)
    if view.pinned:
        asked.setlist("pin", list(view.pinned))
    if view.mode is not view.natural:
        asked["mode"] = view.mode.value
    if view.width != USUAL:
        asked["w"] = str(view.width)
    return f"timeline?{asked.urlencode()}"


def written(unit: Unit, window: Window) -> tuple[str, str]:
    """The two ends as fields and addresses hold them, rounded so that nothing is cut off."""
    if unit is Unit.EVENT:
        return str(window.lo), str(window.hi)
    lo = window.lo // MILLISECOND * MILLISECOND
    hi = -(-window.hi // MILLISECOND) * MILLISECOND
    return _iso(lo), _iso(hi)


def _iso(moment: int) -> str:
    at = axis.datetime_of(moment).replace(tzinfo=None)
    return at.isoformat(timespec="milliseconds")


@require_safe
@signed_in
def timeline(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    row = sessions.shown(found, now=timezone.now())
    context: dict[str, object] = {"session": row}
    if found.events:
        view = _asked(request, moments.outline(found))
        context |= _drawn(found, view)
    return respond.either(request, "sessions/timeline.html", "sessions/_timeline.html", context)


def _asked(request: HttpRequest, known: Outline) -> View:
    wall, compressed = known.axis(Mode.WALL), known.axis(Mode.COMPRESSED)
    natural = axis.natural(wall, compressed)
    mode = _mode(request.GET.get("mode", ""), natural)
    made = compressed if mode is Mode.COMPRESSED else wall
    lo, hi, since, until = (
        _moment(request, name, known.unit) for name in ("from", "to", "since", "until")
    )
    is_selected = since is not None or until is not None
    picked = number(request, "pick") if request.GET.get("pick") else None
    return View(
        outline=known,
        axis=made,
        mode=mode,
        natural=natural,
        shown=axis.window(made, lo, hi),
        width=_width(number(request, "w", USUAL)),
        selected=axis.window(made, since, until) if is_selected else None,
        picked=None if picked is None else min(picked, known.events - 1),
        pinned=_pinned(request),
    )


def _pinned(request: HttpRequest) -> tuple[str, ...]:
    """What names no lane of this session is kept: a lane may come with the next line of the log."""
    named = [key[:LONGEST_PIN] for key in request.GET.getlist("pin") if key]
    return tuple(dict.fromkeys(named))[:MOST_PINS]


def _mode(text: str, natural: Mode) -> Mode:
    if not text:
        return natural
    try:
        return Mode(text)
    except ValueError:
        raise BadInput("“mode” is either “wall” or “compressed”.") from None


def _width(asked: int) -> int:
    return min(max(asked, NARROWEST), WIDEST) // WIDTH_STEP * WIDTH_STEP


def _moment(request: HttpRequest, name: str, unit: Unit) -> int | None:
    text = request.GET.get(name, "").strip()
    if not text:
        return None
    if unit is Unit.EVENT:
        return number(request, name)
    at = times.read(text)
    if at is None:
        raise BadInput(f"“{name}” must be a time like 2026-11-17T09:30:00.")
    return axis.moment_of(at)


def _drawn(found: Session, view: View) -> dict[str, object]:
    drawing = tracks.drawn(found, view.outline, view.axis, view.shown, view.width)
    chosen = selection.chosen(
        found, view.outline, drawing.tools, view.axis, view.selected, view.picked
    )
    return {
        "timeline": drawing,
        "chosen": chosen,
        "marked": pieces.marked(view.axis, view.shown, view.selected),
        "marked_on_map": pieces.marked(view.axis, axis.whole(view.axis), view.selected),
        "picked_at": _stands_at(view, chosen.picked),
        "picked_links": _picked_links(view, chosen.picked),
        "view": view,
        "lanes": [
            {"lane": lane, "pin": _pin(view, lane)}
            for lane in lanes.ordered(drawing, view.pinned, is_timed=view.unit is Unit.TIME)
        ],
        "links": _links(view),
        "window": written(view.unit, view.shown),
        "range": written(view.unit, view.selected) if view.selected else ("", ""),
        "ends": written(view.unit, axis.whole(view.axis)),
    }


def _pin(view: View, lane: Lane) -> str:
    """The address of the same view with the lane pinned, or released."""
    others = tuple(key for key in view.pinned if key != lane.key)
    return query(replace(view, pinned=others if lane.is_pinned else (*others, lane.key)))


def _stands_at(view: View, picked: selection.Picked | None) -> str:
    return pieces.stands_at(view.axis, view.shown, picked.moment) if picked else ""


def _picked_links(view: View, picked: selection.Picked | None) -> dict[str, str]:
    if picked is None:
        return {}
    links = {"close": query(replace(view, picked=None))}
    for name, seq in (("earlier", picked.earlier), ("later", picked.later)):
        if seq is not None:
            links[name] = query(replace(view, picked=seq))
    return links


def _links(view: View) -> dict[str, str]:
    made, shown = view.axis, view.shown
    windows = {
        "closer": axis.zoomed(made, shown, 0.5),
        "farther": axis.zoomed(made, shown, 2),
        "earlier": axis.panned(made, shown, -PAN),
        "later": axis.panned(made, shown, PAN),
        "whole": axis.whole(made),
        "fit": view.selected or axis.whole(made),
    }
    links = {name: query(replace(view, shown=window)) for name, window in windows.items()}
    for mode in Mode:
        links[mode.value] = query(replace(view, mode=mode))
    if view.selected is not None and view.unit is Unit.TIME:
        links["incident"] = _incident(view.selected)
    links["clear"] = query(replace(view, selected=None, picked=None))
    links["here"] = query(view)
    return links


def _incident(selected: Window) -> str:
    """The sessions that were active in the window, rounded so that none is lost."""
    ends = (selected.lo // SECOND * SECOND, -(-selected.hi // SECOND) * SECOND)
    lo, hi = (axis.datetime_of(end).replace(tzinfo=None).isoformat() for end in ends)
    query_ = urlencode({"q": searchquery.written("during", [f"{lo}..{hi}"])})
    return f"{reverse('sessions:list')}?{query_}"
