"""The demo button: a workspace of its own, filled by a job."""

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from sessions_app.models import Membership, User, Workspace
from sessions_app.models.people import Role
from sessions_app.store import jobs, keys
from sessions_app.web.access import admin_only, choose, current, person, signed_in
from sessions_app.web.enqueue import job

NAME = "Demo"


@require_POST
@signed_in
def load(request: HttpRequest) -> HttpResponse:
    admin_only(current(request))
    user = person(request)
    workspace = _workspace(user)
    choose(request, workspace.id)
    if jobs.open_job("demo.load", workspace.id) is None:
        job("demo.load", user=user, workspace_id=workspace.id)
    messages.success(request, "The demo is being loaded. Its sessions appear as they are ready.")
    return redirect("jobs:list")


def _workspace(user: User) -> Workspace:
    """There is one demo workspace; whoever asks for it is let in as its admin."""
    try:
        with transaction.atomic():
            workspace = Workspace.objects.filter(is_demo=True).first()
            workspace = workspace or keys.new_workspace(NAME, is_demo=True)
    except IntegrityError:
        workspace = Workspace.objects.get(is_demo=True)
    Membership.objects.get_or_create(user=user, workspace=workspace, defaults={"role": Role.ADMIN})
    return workspace
