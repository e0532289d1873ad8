"""Machines that send their logs: their tokens, and the shipper they run."""

from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.actions import tokens as actions
from sessions_app.domain.errors import BadInput, RecountError
from sessions_app.ingest import shipper
from sessions_app.models import Membership
from sessions_app.models.people import Role
from sessions_app.store import tokens
from sessions_app.web.access import admin_only, current, person, signed_in
from sessions_app.web.forms import TokenChoice, TokenForm

# Where nobody listens between the two, as the shipper sees it.
LOCAL = {"localhost", "127.0.0.1", "::1"}


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def machines(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    if request.method != "POST":
        return _page(request, membership, TokenForm())
    admin_only(membership)
    match request.POST.get("action"):
        case "create":
            return _create(request, membership)
        case "revoke":
            return _revoke(request, membership)
    raise BadInput("The form was sent without saying what to do.")


def _page(
    request: HttpRequest,
    membership: Membership,
    form: TokenForm,
    *,
    status: int = 200,
    text: str = "",
    name: str = "",
) -> HttpResponse:
    base = request.build_absolute_uri("/").rstrip("/")
    place = urlsplit(base)
    run = f"python3 recount_ship.py --url {base} --discover"
    context = {
        "rows": tokens.rows_of(membership.workspace),
        "can_manage": membership.role == Role.ADMIN,
        "form": form,
        "new_token": text,
        "new_name": name,
        "download_command": f"curl -fsS -o recount_ship.py {base}/ship.py",
        "run_command": run,
        "install_command": f"{run} --install",
        "is_open": place.scheme == "http" and place.hostname not in LOCAL,
    }
    response = render(request, "machines/list.html", context, status=status)
    if text:
        response["Cache-Control"] = "no-store"
    return response


def _create(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, form, status=422)
    name = form.cleaned_data["name"]
    try:
        _, text = actions.create(membership.workspace, name=name, user=person(request))
    except RecountError as error:
        form.add_error("name", error.message)
        return _page(request, membership, form, status=422)
    return _page(request, membership, TokenForm(), text=text, name=name)


def _revoke(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = TokenChoice(request.POST)
    if not form.is_valid():
        raise BadInput("That token does not exist.")
    chosen: UUID = form.cleaned_data["token"]
    revoked = actions.revoke(membership.workspace, chosen, now=timezone.now())
    messages.success(request, f"The token {revoked.name} opens nothing any more.")
    return redirect("machines:list")


@require_safe
def ship(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """The shipper, for anybody: there is no secret in it."""
    headers = {"Content-Disposition": 'attachment; filename="recount_ship.py"'}
    return HttpResponse(_script(), content_type="text/x-python; charset=utf-8", headers=headers)


@lru_cache(maxsize=1)
def _script() -> bytes:
    return Path(shipper.__file__).with_name("recount_ship.py").read_bytes()
