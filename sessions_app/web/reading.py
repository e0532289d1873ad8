"""Pages of one session's transcript: all of it, a section, one event, its prompts, its sums.

A page holds one filled section; the others are fetched as they come into view. What takes long to
count is asked for after the page is there.
"""

from dataclasses import replace
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain.sorts import Sort, Sought, sought
from sessions_app.models import Session
from sessions_app.store import digest, read, sessions, sift, threads, usage, visits
from sessions_app.store.sift import SECTION
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.query import number
from sessions_app.web.transcript import filters, outlines, sections
from sessions_app.web.transcript.desk import Density
from sessions_app.web.transcript.sections import Reader, SectionView, prefix_of

DENSITY = "recount_density"
# The page around them takes some bytes, too.
PAGE_ROOM = 44_000
YEAR = 365 * 24 * 3600
# How tall an event is on average; sections that are not filled take as much room as they will.
TALL = {Density.COMFORTABLE: 150, Density.NORMAL: 56, Density.COMPACT: 34, Density.SKIM: 24}


@require_safe
@signed_in
def session(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The section that holds `?seq=` comes filled, so that a deep link works without a script."""
    found = sessions.session_for(person(request), uid)
    if "density" in request.GET:
        return _with_density(request)
    visits.note(person(request), found, at=timezone.now())
    wanted, seq = _sought(request), number(request, "seq")
    reader = replace(_reader(request), room=PAGE_ROOM)
    view, before, after = _at(found, wanted, seq, reader)
    density = _density(request)
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "section": view,
        "size": SECTION,
        "tall": TALL[density],
        "density": density.value,
        "densities": [each.value for each in Density],
        "filters": filters.shown(wanted),
        "query": f"&{wanted.query}" if wanted.query else "",
        "before": before,
        "after": after,
        "outline": outlines.first(found, seq),
    }
    return render(request, "sessions/session.html", context)


def _at(
    found: Session, wanted: Sought, seq: int, reader: Reader
) -> tuple[SectionView, int | None, int | None]:
    """The section that holds an event, and where those beside it begin."""
    if not wanted.is_everything:
        stretch = sift.section(found, wanted, seq)
        view = sections.picked(found, wanted, stretch.seqs, reader)
        return view, stretch.before, stretch.after
    lo = min(seq, max(found.events - 1, 0)) // SECTION * SECTION
    view = sections.window(found, lo, lo + SECTION, reader)
    before = lo - SECTION if lo else None
    return view, before, lo + SECTION if lo + SECTION < found.events else None


def _with_density(request: HttpRequest) -> HttpResponse:
    """Kept by the browser; the address stays what it was."""
    query = request.GET.copy()
    wanted = str(query.pop("density")[-1])
    response = redirect(f"{request.path}?{query.urlencode()}" if query else request.path)
    if wanted in set(Density):
        response.set_cookie(DENSITY, wanted, max_age=YEAR, samesite="Lax")
    return response


def _density(request: HttpRequest) -> Density:
    kept = request.COOKIES.get(DENSITY, "")
    return Density(kept) if kept in set(Density) else Density.NORMAL


def _reader(request: HttpRequest) -> Reader:
    target = number(request, "seq") if "seq" in request.GET else None
    return Reader(density=_density(request), target=target)


def _sought(request: HttpRequest) -> Sought:
    names = ",".join(request.GET.getlist("show")).split(",")
    return sought(names, request.GET.get("tool", ""))


@require_safe
@signed_in
def events(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One section of the transcript; opened as a page it is the transcript at that place."""
    found = sessions.session_for(person(request), uid)
    lo = number(request, "lo")
    if not respond.is_fragment(request):
        return redirect(f"{reverse('sessions:session', args=[uid])}?seq={lo}")
    hi = number(request, "hi", lo + SECTION)
    wanted, reader = _sought(request), _reader(request)
    if wanted.is_everything:
        view = sections.window(found, lo, hi, reader)
    else:
        end = hi if "hi" in request.GET else None
        view = sections.picked(found, wanted, tuple(sift.between(found, wanted, lo, end)), reader)
    return render(request, "sessions/_section.html", {"section": view})


@require_safe
@signed_in
def event(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One event with everything in it."""
    found = sessions.session_for(person(request), uid)
    reader = _reader(request)
    if respond.is_fragment(request) and "in" in request.GET:
        reader = _inside(reader, uid)
    shown = sections.whole(found, number(request, "seq"), reader)
    context = {
        "session": sessions.shown(found, now=timezone.now()),
        "event": shown,
        "events": [shown],
        "total": found.events,
    }
    return respond.either(request, "sessions/event.html", "sessions/_events.html", context)


@require_safe
@signed_in
def inline(request: HttpRequest, uid: UUID) -> HttpResponse:
    """A session inside the page of another: its sections one after the other."""
    found = sessions.session_for(person(request), uid)
    lo = number(request, "lo")
    if not respond.is_fragment(request):
        return redirect(f"{reverse('sessions:session', args=[uid])}?seq={lo}")
    reader = _inside(_reader(request), uid)
    view = sections.window(found, lo, lo + SECTION, reader)
    following = lo + SECTION if lo + SECTION < found.events else None
    context = {"section": view, "uid": uid, "following": following}
    return render(request, "sessions/_inline.html", context)


def _inside(reader: Reader, uid: UUID) -> Reader:
    base = reverse("sessions:session", args=[uid])
    return replace(reader, base=base, prefix=prefix_of(uid))


@require_safe
@signed_in
def turn(request: HttpRequest, uid: UUID) -> HttpResponse:
    """What one turn took."""
    found = sessions.session_for(person(request), uid)
    seq = number(request, "seq")
    if not respond.is_fragment(request):
        return redirect(f"{reverse('sessions:session', args=[uid])}?seq={seq}")
    item = sections.turn(found, seq, Reader())
    return render(request, "sessions/_turn.html", {"item": item})


@require_safe
@signed_in
def index(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Where the sections of a filtered transcript begin, and how many events each holds."""
    found = sessions.session_for(person(request), uid)
    return JsonResponse({"sections": sift.index(found, _sought(request))})


@require_safe
@signed_in
def step(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The next prompt or error after an event, or the one before it."""
    found = sessions.session_for(person(request), uid)
    of = Sort.ERRORS if request.GET.get("of") == "errors" else Sort.PROMPTS
    at, is_back = number(request, "at"), "back" in request.GET
    only = Sought(sorts=frozenset({of}))
    return JsonResponse({"seq": sift.step(found, only, at, is_back=is_back)})


@require_safe
@signed_in
def outline(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The prompts of a session, a page at a time."""
    found = sessions.session_for(person(request), uid)
    context: dict[str, object] = {"outline": outlines.page(found, number(request, "at"))}
    if not respond.is_fragment(request):
        context["session"] = sessions.shown(found, now=timezone.now())
    return respond.either(request, "sessions/outline.html", "sessions/_outline.html", context)


@require_safe
@signed_in
def kinds(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The filters of a transcript, with how many events each would show."""
    found = sessions.session_for(person(request), uid)
    wanted = _sought(request)
    if not respond.is_fragment(request):
        return redirect(f"{reverse('sessions:session', args=[uid])}?{wanted.query}")
    told = digest.of(found)
    counted = filters.shown(wanted, told.sorts, sift.tools(found, told.tools))
    return render(request, "sessions/_filters.html", {"filters": counted, "is_counted": True})


@require_safe
@signed_in
def facts(request: HttpRequest, uid: UUID) -> HttpResponse:
    """What takes long to count, for the head of a session's pages."""
    found = sessions.session_for(person(request), uid)
    if not respond.is_fragment(request):
        return redirect("sessions:session", uid)
    told = digest.of(found)
    used = told.models
    newer, older = sessions.neighbours(found)
    context = {
        "usage": used,
        "tokens": sum(row.tokens for row in used),
        "cost": _cost(used),
        "call_counts": told.calls,
        "links": threads.of(found),
        "newer": newer,
        "older": older,
    }
    return render(request, "sessions/_facts.html", context)


def _cost(used: list[usage.ModelUsage]) -> int | None:
    known = [row.cost if row.cost is not None else row.reported for row in used]
    priced = [cost for cost in known if cost is not None]
    return sum(priced) if priced else None


@require_safe
@signed_in
def markdown(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """A range of events, or a turn, as text to paste elsewhere."""
    found = sessions.session_for(person(request), uid)
    lo, hi = _range(request, found)
    text = outlines.excerpt(found, lo, hi)
    name = f"session-{found.uid}-{lo}-{hi - 1}.md"
    return HttpResponse(
        text,
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _range(request: HttpRequest, found: Session) -> tuple[int, int]:
    if "turn" in request.GET:
        lo = number(request, "turn")
        only = Sought(sorts=frozenset({Sort.PROMPTS}))
        return lo, sift.step(found, only, lo) or found.events
    lo = number(request, "lo")
    return lo, max(lo, number(request, "hi", lo)) + 1


@require_safe
@signed_in
def picture(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """A picture of an event, by the bytes it is made of and by nothing a log says of it."""
    found = sessions.session_for(person(request), uid)
    seq, no = number(request, "seq"), number(request, "no")
    shown = read.picture(found, seq, no)
    return HttpResponse(
        shown.data,
        content_type=shown.media_type,
        headers={
            "Content-Disposition": f'inline; filename="event-{seq}-{no}.{shown.suffix}"',
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "private, max-age=3600",
        },
    )
