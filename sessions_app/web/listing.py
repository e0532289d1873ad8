"""The list of sessions: one text field that says everything, and everything that rewrites it."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.actions import searches as rules
from sessions_app.domain import searchquery
from sessions_app.domain.facets import BY_KEY
from sessions_app.domain.searchquery import Query
from sessions_app.store import listing, overview, searches, sessions, suggest
from sessions_app.store.conditions import Asked
from sessions_app.store.listing import Page
from sessions_app.web import panel, respond
from sessions_app.web.access import current, signed_in
from sessions_app.web.sessions import greeting, ways_in

SORTS = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "tokens": "Most tokens",
    "cost": "Most expensive",
    "errors": "Most errors",
    "duration": "Longest",
    "events": "Most events",
}
NUMBERS = (("tokens", "Tokens"), ("cost", "Cost in $"), ("duration", "Duration"))


@require_safe
@signed_in
def index(request: HttpRequest) -> HttpResponse:
    """Rows alone for whoever looks again, else the page around them."""
    workspace = current(request).workspace
    query = searchquery.parse(request.GET.get("q", ""))
    if not request.GET and not sessions.has_any(workspace):
        return greeting(request)
    rewritten = _rewritten(request, query)
    if rewritten is not None:
        return redirect(panel.link(rewritten))
    asked = listing.asked(workspace, query, now=timezone.now())
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    page = listing.page(asked, after=after, before=before)
    # The first page shows what comes in, unless looking again would mean searching again.
    is_live = not (after or before or query.has_text)
    if respond.is_fragment(request):
        return _again(request, asked, page, is_live=is_live)
    return _whole(request, asked, page, is_live=is_live)


def _again(request: HttpRequest, asked: Asked, page: Page, *, is_live: bool) -> HttpResponse:
    if is_live and request.GET.get("seen") == page.mark:
        return HttpResponse(status=204)
    count, is_cut = overview.number(asked)
    label = overview.count_label(count, is_cut=is_cut)
    shown = _page(asked, page, label, is_live=is_live)
    return render(request, "sessions/_rows.html", {"page": shown})


def _whole(request: HttpRequest, asked: Asked, page: Page, *, is_live: bool) -> HttpResponse:
    query, membership = asked.query, current(request)
    found = overview.of(asked, wide=BY_KEY.get(request.GET.get("more", "")))
    label = overview.count_label(found.count, is_cut=found.is_cut)
    context = {
        "page": _page(asked, page, label, is_live=is_live),
        "query": query,
        "chips": panel.chips(asked),
        "panel": panel.panel(query, found),
        "times": panel.times(query, found),
        "numbers": [panel.limits(query, key, label, found) for key, label in NUMBERS],
        "hidden": panel.hidden(query, found),
        "sorts": [(key, label, key == query.sort) for key, label in SORTS.items()],
        "searches": searches.of_workspace(membership.workspace),
        "can_save": rules.may_save(membership),
        **ways_in(request),
    }
    return render(request, "sessions/list.html", context)


@require_safe
@signed_in
def suggestions(request: HttpRequest) -> HttpResponse:
    """Options for the text field; opened as a page it is the list."""
    text = request.GET.get("q", "")
    if not respond.is_fragment(request):
        return redirect(panel.link(text))
    at = request.GET.get("at", "")
    cursor = int(at) if at.isascii() and at.isdigit() and len(at) < 6 else len(text)
    found = suggest.suggestions(current(request).workspace, text, cursor, now=timezone.now())
    return render(request, "sessions/_suggestions.html", {"options": found})


# What forms beside the field say becomes part of the text ---------------------------------------


def _rewritten(request: HttpRequest, query: Query) -> str | None:
    """The text with what a form added to it; None if no form did."""
    given = request.GET
    text: str | None = None
    if "sort" in given:
        wanted = given["sort"] if given["sort"] in SORTS else "newest"
        text = searchquery.replaced(query, "sort", [] if wanted == "newest" else [wanted])
    if {"from", "to", "until"} & given.keys():
        end = given.get("until", "") or panel.day_after(given.get("to", ""))
        text = panel.between(query, given.get("from", ""), end)
    for key, _ in NUMBERS:
        if f"min-{key}" in given or f"max-{key}" in given:
            low, high = given.get(f"min-{key}", "").strip(), given.get(f"max-{key}", "").strip()
            text = searchquery.bounded(query, key, at_least=low, at_most=high)
    return text


# What is shown ------------------------------------------------------------------------------------


def _page(asked: Asked, page: Page, label: str, *, is_live: bool) -> dict[str, object]:
    query, drawn = asked.query, listing.activity_of(page.found)
    rows = [
        _row(shown, drawn.get(stored.id, []), page.now)
        for shown, stored in zip(page.rows(), page.found, strict=True)
    ]
    return {
        "rows": rows,
        "older": _turned(query, "after", page.older),
        "newer": _turned(query, "before", page.newer),
        "total_label": label,
        "again": panel.link(query.text, seen=page.mark) if is_live else "",
        "is_filtered": bool(query.tokens),
        "is_cut": asked.is_cut,
        "search_url": f"{reverse('search:page')}?{urlencode({'q': query.text})}",
        "export_url": f"{reverse('sessions:exports')}?{urlencode({'q': query.text})}",
        "headers": _headers(query),
        "clear_url": reverse("sessions:list"),
    }


def _turned(query: Query, name: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    asked = {"q": query.text} if query.text.strip() else {}
    return f"?{urlencode({**asked, name: cursor})}"


def _row(row: sessions.SessionRow, drawn: list[int], now: datetime) -> dict[str, object]:
    facts = {name: getattr(row, name) for name in row.__slots__}
    return {
        **facts,
        "url": reverse("sessions:session", args=[row.id]),
        "activity": drawn,
        "models_label": ", ".join(row.models) or row.model,
        "more_models": len(row.models) - 1,
        "keeps": _keeps(row, now),
    }


def _keeps(row: sessions.SessionRow, now: datetime) -> dict[str, str] | None:
    """What will become of it, where anything is settled."""
    if row.held:
        return {"text": "On hold", "tone": "info", "icon": "lock"}
    if row.expires_at is None:
        return None
    days = (row.expires_at - now).days
    when = "Purge due" if days < 0 else "Purge today" if days == 0 else f"Purge in {days:,} d"
    return {"text": when, "tone": "warn" if days < 30 else "quiet", "icon": "clock"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    label: str
    url: str
    direction: str
    width: str = "number"


def _headers(query: Query) -> dict[str, Header]:
    """A click sorts; on time, a second one turns the order round."""
    newest = query.sort in ("newest", "best")
    return {
        "time": Header(
            label="Last event",
            url=_sorted_by(query, "oldest" if newest else "newest"),
            direction="descending" if newest else "ascending" if query.sort == "oldest" else "",
            width="time",
        ),
        **{
            key: Header(
                label=label,
                url=_sorted_by(query, key),
                direction="descending" if query.sort == key else "",
                width=width,
            )
            for key, label, width in (
                ("duration", "Duration", "time"),
                ("events", "Events", "number"),
                ("errors", "Errors", "small"),
                ("tokens", "Tokens", "small"),
                ("cost", "Cost", "number"),
            )
        },
    }


def _sorted_by(query: Query, key: str) -> str:
    return panel.link(searchquery.replaced(query, "sort", [] if key == "newest" else [key]))
