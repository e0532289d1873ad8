"""The Sources page: folders of this machine that are watched, and what is wrong with them."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.actions import roots as actions
from sessions_app.domain.errors import BadInput, RecountError
from sessions_app.ingest import reconcile
from sessions_app.ingest.reconcile import CleanUp
from sessions_app.ingest.roots import Root, known_roots
from sessions_app.models import Membership, WatchedRoot, Workspace
from sessions_app.models.arrivals import FindingKind
from sessions_app.models.people import Role
from sessions_app.store import findings, roots
from sessions_app.web import respond
from sessions_app.web.access import admin_only, current, person, signed_in
from sessions_app.web.forms import FindingChoice, RootChoice, RootEditForm, RootForm

SHOWN_FILES = 500


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def sources(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    if request.method != "POST":
        return _page(request, membership, RootForm())
    admin_only(membership)
    act = ACTIONS.get(request.POST.get("action", ""))
    if act is None:
        raise BadInput("The form was sent without saying what to do.")
    return act(request, membership)


def _page(
    request: HttpRequest, membership: Membership, form: RootForm, *, status: int = 200
) -> HttpResponse:
    workspace = membership.workspace
    can_manage = membership.role == Role.ADMIN
    context: dict[str, object] = {
        "rows": roots.in_workspace(workspace),
        "findings": findings.latest(workspace),
        "can_manage": can_manage,
        "suggestions": _suggestions(workspace) if can_manage else [],
        "form": form,
    }
    if respond.is_fragment(request):
        return render(request, "sources/_rows.html", context)
    return render(request, "sources/list.html", context, status=status)


def _suggestions(workspace: Workspace) -> list[Root]:
    known = {root.path for root in roots.in_workspace(workspace)}
    return [root for root in known_roots(os.environ, Path.home()) if root.path not in known]


def _add(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = RootForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, form, status=422)
    try:
        actions.add(membership.workspace, user=person(request), **form.cleaned_data)
    except RecountError as error:
        form.add_error("path", error.message)
        return _page(request, membership, form, status=422)
    messages.success(request, "It is watched from now on. What is there already is taken in first.")
    return redirect("roots:list")


def _root(request: HttpRequest, membership: Membership) -> WatchedRoot:
    form = RootChoice(request.POST)
    if not form.is_valid():
        raise BadInput("That source does not exist.")
    return roots.root_in(membership.workspace, form.cleaned_data["root"])


def _edit(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = RootEditForm(request.POST)
    if not form.is_valid():
        raise BadInput("Agent and project are at most 40 and 200 characters long.")
    actions.edit(_root(request, membership), **form.cleaned_data)
    messages.success(request, "Saved. It holds for what is taken in from now on.")
    return redirect("roots:list")


def _switch(request: HttpRequest, membership: Membership) -> HttpResponse:
    is_on = request.POST.get("on") == "1"
    actions.switch(_root(request, membership), is_on=is_on)
    messages.success(request, "Watched again." if is_on else "No longer watched. What is in stays.")
    return redirect("roots:list")


def _retry(request: HttpRequest, membership: Membership) -> HttpResponse:
    actions.retry(_root(request, membership), now=timezone.now())
    messages.success(request, "Everything there is looked at again.")
    return redirect("roots:list")


def _remove(request: HttpRequest, membership: Membership) -> HttpResponse:
    actions.remove(_root(request, membership))
    messages.success(request, "Removed from the list. What was taken in stays.")
    return redirect("roots:list")


def _settle(request: HttpRequest, membership: Membership) -> HttpResponse:
    if request.POST.get("finding") == "all":
        findings.settle_all(membership.workspace, timezone.now())
        return redirect("roots:list")
    form = FindingChoice(request.POST)
    if not form.is_valid():
        raise BadInput("That finding does not exist.")
    findings.settle(membership.workspace, form.cleaned_data["finding"], timezone.now())
    return redirect("roots:list")


Action = Callable[[HttpRequest, Membership], HttpResponse]
ACTIONS: dict[str, Action] = {
    "add": _add,
    "edit": _edit,
    "switch": _switch,
    "retry": _retry,
    "remove": _remove,
    "settle": _settle,
}


@require_safe
@signed_in
def edit(request: HttpRequest, root_id: UUID) -> HttpResponse:
    membership = current(request)
    root = roots.root_in(membership.workspace, root_id)
    admin_only(membership)
    form = RootEditForm(initial={"agent": root.agent, "project": root.project})
    return render(request, "sources/edit.html", {"root": root, "form": form})


@require_safe
@signed_in
def compared(request: HttpRequest) -> HttpResponse:
    """What is on disk beside what is in the record, as of this moment."""
    membership = current(request)
    workspace = membership.workspace
    is_admin = membership.role == Role.ADMIN
    now, clean_up = timezone.now(), CleanUp(os.environ, Path.home())
    tables = [
        reconcile.compared(root, now=now, clean_up=clean_up)
        for root in roots.in_workspace(workspace)
    ]
    wanted = request.GET.get("show", "")
    context = {
        "tables": tables,
        "unwatched": reconcile.unwatched(os.environ, Path.home()) if is_admin else [],
        "conflicts": findings.latest(workspace, FindingKind.CONFLICT),
        "now": now,
        "labels": reconcile.LABELS,
        "show": wanted,
        "show_label": reconcile.LABELS.get(wanted, ""),
        "files": _chosen(tables, wanted, request.GET.get("root", ""))[:SHOWN_FILES],
    }
    return render(request, "sources/reconcile.html", context)


def _chosen(
    tables: list[reconcile.Compared], wanted: str, root_id: str
) -> list[reconcile.FileState]:
    chosen = [table for table in tables if str(table.root_id) == root_id]
    return [file for table in chosen for file in table.files if wanted in file.states]
