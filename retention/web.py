"""Pages and posts of retention."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from sessions_app.domain.errors import Refused
from sessions_app.models import User, Workspace
from sessions_app.store import jobs, people
from sessions_app.web.access import admin_only, signed_in
from sessions_app.web.enqueue import job


@require_POST
@signed_in
def remove_demo(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    workspace = Workspace.objects.filter(is_demo=True).first()
    if workspace is None:
        raise Refused("There is no demo workspace to remove.")
    admin_only(people.membership_for(user, workspace.id))
    loading = jobs.open_job("demo.load", workspace.id)
    if loading is not None:
        jobs.ask_cancel(loading)
    job("demo.remove", user=user, workspace_id=None, arguments={"workspace": str(workspace.id)})
    messages.success(request, "The demo workspace is being removed.")
    return redirect("jobs:list")
