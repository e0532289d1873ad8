"""Sign-in, sign-out, the profile, members of a workspace, switching between workspaces."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.contrib.auth.forms import PasswordChangeForm as ChangeForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.actions import people as actions
from sessions_app.actions.people import BadLink
from sessions_app.domain.errors import BadInput, RecountError
from sessions_app.models import Membership
from sessions_app.models.people import Role
from sessions_app.store import people
from sessions_app.web.access import admin_only, choose, current, person, signed_in
from sessions_app.web.forms import MemberChoice, MemberForm, RoleForm, SettingsForm, ThemeForm

BACKEND = "django.contrib.auth.backends.ModelBackend"
ROLES = [
    {
        "value": "viewer",
        "label": "Viewer",
        "description": "Reads, verifies and exports sessions; changes nothing.",
    },
    {
        "value": "auditor",
        "label": "Auditor",
        "description": "As a viewer today; audits of incidents will ask for this role.",
    },
    {
        "value": "curator",
        "label": "Curator",
        "description": "Adds sessions by upload, and curates what agents remember.",
    },
    {
        "value": "admin",
        "label": "Admin",
        "description": "Does all of that, and manages members and the demo.",
    },
]


class SignIn(LoginView):
    template_name = "people/sign_in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        wanted = self.request.GET.get("next") or self.request.POST.get("next", "")
        return super().get_context_data(**kwargs, next=wanted)


def locked_out(request: HttpRequest, *_: object, **__: object) -> HttpResponse:
    """Called by django-axes after too many failures for one name from one address."""
    context = {
        "form": AuthenticationForm(request),
        "lockout": "Too many failed attempts for this name from your address. "
        "Wait 15 minutes, or use a sign-in link.",
    }
    response = render(request, "people/sign_in.html", context, status=429)
    response["Retry-After"] = "900"
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """A sign-in link. Whatever fetches ahead of a person (a preview, a prefetch) gets a page with
    a button and does not use the link up."""
    ahead = request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", "")
    if ahead:
        return render(request, "people/enter.html", {"token_ok": True})
    found = actions.redeem(token, now=timezone.now())
    if isinstance(found, BadLink):
        return render(request, "people/enter.html", {"reason": found.reason}, status=410)
    login(request, found, backend=BACKEND)
    return redirect("sessions:list")


@require_POST
@signed_in
def switch(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    membership = people.membership_for(person(request), workspace_id)
    choose(request, membership.workspace_id)
    return redirect("sessions:list")


# Profile --------------------------------------------------------------------------------------


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    posted = request.POST.get("form", "") if request.method == "POST" else ""
    if posted == "theme":
        return _change_theme(request)
    user = person(request)
    password_form = _password_form(request, posted == "password")
    settings_form = SettingsForm(request.POST if posted == "settings" else None, instance=user)
    if posted == "settings" and settings_form.is_valid():
        settings_form.save()
        messages.success(request, "Saved.")
        return redirect("people:profile")
    if posted == "password" and password_form.is_valid():
        update_session_auth_hash(request, password_form.save())
        messages.success(request, "Password changed. You are signed out everywhere else.")
        return redirect("people:profile")
    if posted == "settings":
        user.refresh_from_db()
    context = {"settings_form": settings_form, "password_form": password_form}
    return render(request, "people/profile.html", context, status=422 if posted else 200)


def _password_form(request: HttpRequest, is_posted: bool) -> "SetPasswordForm[Any]":
    """Whoever came by link has no old password to give."""
    user = person(request)
    form = ChangeForm if user.has_usable_password() else SetPasswordForm
    return form(user, request.POST if is_posted else None)


def _change_theme(request: HttpRequest) -> HttpResponse:
    form = ThemeForm(request.POST, instance=person(request))
    if not form.is_valid():
        raise BadInput("That theme does not exist.")
    form.save()
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}):
        return redirect(wanted)
    return redirect("people:profile")


# Members --------------------------------------------------------------------------------------


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    if request.method != "POST":
        return _members_page(request, membership, MemberForm())
    admin_only(membership)
    match request.POST.get("action"):
        case "add":
            return _add(request, membership)
        case "role":
            return _change_role(request, membership)
        case "remove":
            return _remove(request, membership)
        case "link":
            return _link(request, membership)
    raise BadInput("The form was sent without saying what to do.")


def _members_page(
    request: HttpRequest,
    membership: Membership,
    form: MemberForm,
    *,
    status: int = 200,
    link: str = "",
    link_for: str = "",
) -> HttpResponse:
    context = {
        "members": people.members_of(membership.workspace, person(request)),
        "roles": ROLES,
        "can_manage": membership.role == Role.ADMIN,
        "add_form": form,
        "new_link": link,
        "new_link_for": link_for,
    }
    return render(request, "people/members.html", context, status=status)


def _add(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _members_page(request, membership, form, status=422)
    try:
        added = actions.add_member(membership.workspace, **form.cleaned_data)
    except RecountError as error:
        form.add_error("username", error.message)
        return _members_page(request, membership, form, status=422)
    return _with_link(request, membership, added)


def _with_link(request: HttpRequest, membership: Membership, member: Membership) -> HttpResponse:
    token = actions.new_link(member.user, now=timezone.now(), lifetime=actions.INVITATION)
    link = request.build_absolute_uri(reverse("people:enter", args=[token]))
    return _members_page(request, membership, MemberForm(), link=link, link_for=str(member.user))


def _change_role(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise BadInput("That member or role does not exist.")
    changed = actions.change_role(membership.workspace, **_choice(form))
    messages.success(request, f"{changed.user} is now {changed.role}.")
    return redirect("people:members")


def _choice(form: RoleForm) -> dict[str, Any]:
    return {"member_id": form.cleaned_data["member"], "role": form.cleaned_data["role"]}


def _member_id(request: HttpRequest) -> int:
    form = MemberChoice(request.POST)
    if not form.is_valid():
        raise BadInput("That member does not exist.")
    chosen: int = form.cleaned_data["member"]
    return chosen


def _remove(request: HttpRequest, membership: Membership) -> HttpResponse:
    removed = actions.remove_member(membership.workspace, _member_id(request))
    messages.success(request, f"{removed.user} no longer sees this workspace.")
    return redirect("people:members")


@transaction.atomic
def _link(request: HttpRequest, membership: Membership) -> HttpResponse:
    return _with_link(
        request, membership, people.member_in(membership.workspace, _member_id(request))
    )
