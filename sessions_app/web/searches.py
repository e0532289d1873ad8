"""Saved searches: the page that lists them, and what is done with one."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from sessions_app.actions import searches as actions
from sessions_app.domain import searchquery
from sessions_app.models import Membership, SavedSearch
from sessions_app.store import people, searches
from sessions_app.web import panel
from sessions_app.web.access import current, person, signed_in


@signed_in
def saved(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    if request.method == "POST":
        text = request.POST.get("q", "")
        actions.save(membership, name=request.POST.get("name", ""), query=text)
        messages.success(request, "Saved. Everybody in this workspace finds it in the list.")
        return redirect(panel.link(text))
    found = searches.of_workspace(membership.workspace)
    context = {
        "rows": [_row(membership, each) for each in found],
        "can_save": actions.may_save(membership),
        "q": request.GET.get("q", "")[: searchquery.LONGEST],
    }
    return render(request, "searches/list.html", context)


def _row(membership: Membership, each: searches.Saved) -> dict[str, object]:
    return {
        "id": each.id,
        "name": each.name,
        "query": each.query,
        "url": panel.link(each.query),
        "created_by": each.created_by,
        "created_at": each.created_at,
        "can_change": actions.may_change(membership, each.created_by_id),
    }


@require_POST
@signed_in
def rename(request: HttpRequest, search_id: UUID) -> HttpResponse:
    membership, search = _found(request, search_id)
    actions.rename(membership, search, request.POST.get("name", ""))
    messages.success(request, "Renamed.")
    return redirect("searches:list")


@require_POST
@signed_in
def remove(request: HttpRequest, search_id: UUID) -> HttpResponse:
    membership, search = _found(request, search_id)
    actions.remove(membership, search)
    messages.success(request, "Removed.")
    return redirect("searches:list")


def _found(request: HttpRequest, search_id: UUID) -> tuple[Membership, SavedSearch]:
    """A search, and the membership by which the person sees it."""
    search = searches.search_for(person(request), search_id)
    return people.membership_for(person(request), search.workspace_id), search
