"""Pages of the search: across sessions, as a scan with progress, and inside one session."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.domain import matching, searchquery
from sessions_app.domain.errors import RecountError
from sessions_app.domain.searchquery import Query
from sessions_app.store import answers, find, scan, sessions
from sessions_app.store.search import Found, Hit, Results
from sessions_app.web import respond
from sessions_app.web.access import current, person, signed_in

NDJSON = "application/x-ndjson"
# Hits on a page about one session.
LISTED = 100
# Splits the page of a scan in two: what is found goes in between.
HERE = "<!-- found -->"
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def asked(request: HttpRequest) -> Query:
    return searchquery.parse(request.GET.get("q", "").replace("\0", " "))


@never_cache
@require_safe
@signed_in
def page(request: HttpRequest) -> HttpResponse:
    query = asked(request)
    context: dict[str, object] = {**_field(query), "is_asked": _asks(query)}
    if (_asks(query) or query.filters) and not _has_pattern(query):
        workspace_id = current(request).workspace_id
        cursor = request.GET.get("from", "")
        found = answers.page(workspace_id, query, now=timezone.now(), cursor=cursor)
        context |= _shown(found, query) | {"is_first": not cursor}
    answer = respond.either(request, "search/page.html", "search/_answer.html", context)
    if respond.is_fragment(request) and "said" in context:
        answer["HX-Trigger"] = json.dumps({"toast": {"message": context["said"], "level": "quiet"}})
    return answer


def _asks(query: Query) -> bool:
    return not matching.question(query).is_empty


def _has_pattern(query: Query) -> bool:
    return bool(matching.question(query).patterns)


def _field(query: Query) -> dict[str, object]:
    """The field, and links that rewrite its text: the text is the single truth."""
    link = reverse("search:page")
    has_results = matching.question(query).has_results
    return {
        "query": query,
        "url": link,
        "newest_url": _with(link, searchquery.replaced(query, "sort", [])),
        "best_url": _with(link, searchquery.replaced(query, "sort", ["best"])),
        "is_best": query.sort == "best",
        "results_url": _with(link, searchquery.replaced(query, "in", ["results"])),
        "plain_url": _with(link, searchquery.replaced(query, "in", [])),
        "has_results": has_results,
        "is_implied": has_results and not query.has_results,
        "has_pattern": _has_pattern(query),
        "scan_url": _with(reverse("search:scan"), query.text),
        "export_url": _with(reverse("sessions:exports"), query.text),
        "nav": "search",
    }


def _with(link: str, text: str, **more: str) -> str:
    return f"{link}?{urlencode({'q': text, **more})}"


def _shown(found: Results, query: Query) -> dict[str, object]:
    link = reverse("search:page")
    older = _with(link, query.text, **{"from": found.older}) if found.older else None
    return {
        "results": found,
        "months": _by_month(found.found, query),
        "older": older,
        "reached": month_name(found.reached),
        "said": _said(found),
    }


def _said(found: Results) -> str:
    number = len(found.found)
    if not number:
        return "Nothing found so far." if found.is_cut else "Nothing found."
    sessions_ = "1 session" if number == 1 else f"{number} sessions"
    return f"{sessions_} on this page." if found.older else f"{sessions_}."


def month_name(name: str) -> str:
    """2026-11 as people say it."""
    year, _, month = name.partition("-")
    return f"{MONTHS[int(month) - 1]} {year}" if month else ""


def _by_month(found: tuple[Found, ...], query: Query) -> list[dict[str, object]]:
    """In the order they came, a heading wherever the month changes. The best ones have none."""

    def name(each: Found) -> str:
        return "" if query.sort == "best" else month_name(each.month) or "Without a time"

    return [
        {"name": month, "sessions": [_session(each, query) for each in some]}
        for month, some in groupby(found, key=name)
    ]


def _session(each: Found, query: Query) -> dict[str, object]:
    uid = each.session.id
    link = reverse("sessions:session", args=[uid])
    return {
        "row": each.session,
        "url": link,
        "hits": [{"hit": hit, "url": hit_url(link, hit)} for hit in each.hits],
        "more": each.more,
        "is_all": each.is_all,
        "find_url": _with(reverse("sessions:find", args=[uid]), query.text),
    }


def hit_url(link: str, hit: Hit) -> str:
    return f"{link}?seq={hit.seq}#e{hit.seq}"


# A scan -------------------------------------------------------------------------------------


@never_cache
@require_safe
@signed_in
def scanned(request: HttpRequest) -> HttpResponseBase:
    """Regular expressions: a stream of what is found and how far it is. Leaving the page stops
    it, because nothing is done ahead of what was sent."""
    query = asked(request)
    if not _asks(query):
        return render(request, "search/page.html", {**_field(query), "is_asked": False})
    steps = scan.steps(
        current(request).workspace_id,
        query,
        now=timezone.now(),
        cursor=request.GET.get("from", ""),
    )
    # The first step is taken here, so that what is wrong is answered as usual.
    begun = chain([next(steps)], steps)
    if request.headers.get("Accept", "").startswith(NDJSON):
        pieces, kind = _as_lines(begun, query), NDJSON
    else:
        pieces, kind = _as_page(request, begun, query), "text/html; charset=utf-8"
    return StreamingHttpResponse(
        respond.in_steps(request, pieces),
        content_type=kind,
        headers={"X-Accel-Buffering": "no"},
    )


def _as_lines(steps: Iterator[scan.Step], query: Query) -> Iterator[bytes]:
    for step in steps_or_trouble(steps):
        if isinstance(step, RecountError):
            told: dict[str, object] = {"trouble": step.message}
        else:
            told = {
                "html": _step_html(step, query),
                "bytes": step.bytes,
                "total": step.total,
                "reached": month_name(step.reached),
                "skipped": step.skipped,
                "is_last": step.is_last,
                "older": _older(step, query),
            }
        yield json.dumps(told).encode() + b"\n"


def _as_page(request: HttpRequest, steps: Iterator[scan.Step], query: Query) -> Iterator[bytes]:
    """Without a script: the browser shows what has come so far, and its own button stops it."""
    context = {**_field(query), "is_asked": True, "is_streamed": True}
    head, _, tail = render_to_string("search/page.html", context, request).partition(HERE)
    yield head.encode()
    for step in steps_or_trouble(steps):
        if isinstance(step, RecountError):
            yield render_to_string("components/_trouble.html", {"message": step.message}).encode()
            continue
        yield _step_html(step, query).encode()
        if step.is_last:
            last = {"step": step, "older": _older(step, query)}
            yield render_to_string("search/_scanned.html", last).encode()
    yield tail.encode()


def steps_or_trouble(steps: Iterator[scan.Step]) -> Iterator[scan.Step | RecountError]:
    """Behind the first byte an error can only be told in the stream."""
    try:
        yield from steps
    except RecountError as error:
        yield error


def _step_html(step: scan.Step, query: Query) -> str:
    shown = [_session(each, query) for each in step.found]
    return "".join(
        render_to_string("search/_session.html", {"session": each, "level": 2}) for each in shown
    )


def _older(step: scan.Step, query: Query) -> str | None:
    if step.older is None:
        return None
    return _with(reverse("search:scan"), query.text, **{"from": step.older})


# Inside a session ---------------------------------------------------------------------------


@never_cache
@require_safe
@signed_in
def inside(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Numbers of events for the bar of the transcript, a list of hits for everybody else."""
    session = sessions.session_for(person(request), uid)
    query = asked(request)
    chunk = _number(request.GET.get("chunk", ""))
    is_asked = _asks(query)
    is_listed = not respond.wants_json(request)
    most = LISTED if is_listed else find.MOST
    found = find.in_session(session, query, chunk=chunk, most=most) if is_asked else find.NOTHING
    if not is_listed:
        return JsonResponse(
            {
                "seqs": found.seqs,
                "next": found.next,
                "marks": _marks(query),
                "bad": [each.message for each in query.bad],
            }
        )
    link = reverse("sessions:session", args=[uid])
    here = reverse("sessions:find", args=[uid])
    after = _number(request.GET.get("after", "")) if "after" in request.GET else -1
    hits = [hit for hit in found.shown() if hit.seq > after]
    context = {
        **_field(query),
        "session": sessions.shown(session, now=timezone.now()),
        "is_asked": is_asked,
        "hits": [{"hit": hit, "url": hit_url(link, hit)} for hit in hits[:LISTED]],
        "next": _further(here, query, chunk, found, hits),
        "is_first": chunk == 0 and after < 0,
        "results_url": _with(here, searchquery.replaced(query, "in", ["results"])),
        "plain_url": _with(here, searchquery.replaced(query, "in", [])),
        "nav": "sessions",
    }
    return render(request, "sessions/find.html", context)


def _further(
    here: str, query: Query, chunk: int, found: find.Inside, hits: Sequence[Hit]
) -> str | None:
    """One chunk may hold more hits than a page lists."""
    if len(hits) > LISTED:
        return _with(here, query.text, chunk=str(chunk), after=str(hits[LISTED - 1].seq))
    return _with(here, query.text, chunk=str(found.next)) if found.next is not None else None


def _marks(query: Query) -> list[str]:
    """What the page can mark by itself, in small letters."""
    said = [each for group in query.wanted for each in group if not each.is_negated]
    return [each.text.lower() for each in said if not isinstance(each, searchquery.Pattern)]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
