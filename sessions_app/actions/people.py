"""Writes about people, with their rules."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from sessions_app.domain.errors import BadInput, Refused
from sessions_app.models import Membership, User, Workspace
from sessions_app.models.people import Role
from sessions_app.store import keys, people

START_LINK = timedelta(hours=1)
INVITATION = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLink:
    reason: str  # unknown | used | expired


@transaction.atomic
def found_house() -> User:
    """The first admin and the first workspace, made once, whoever comes first."""
    people.one_at_a_time()
    admin = people.first_admin()
    if admin is not None:
        return admin
    admin, made = User.objects.get_or_create(
        username="admin", defaults={"display_name": "Admin", "is_active": True}
    )
    if made:
        admin.set_unusable_password()
        admin.save()
    Membership.objects.create(
        user=admin, workspace=keys.new_workspace("My workspace"), role=Role.ADMIN
    )
    return admin


def new_link(user: User, *, now: datetime, lifetime: timedelta) -> str:
    """The token is returned once and stored only as a hash."""
    token = secrets.token_urlsafe(32)
    people.keep_link(user, token, now=now, lifetime=lifetime)
    return token


@transaction.atomic
def redeem(token: str, *, now: datetime) -> User | BadLink:
    """Of two browsers with the same link, exactly one gets in."""
    link = people.link_by(token, lock=True)
    if link is None or not link.user.is_active:
        return BadLink(reason="unknown")
    if link.used_at is not None:
        return BadLink(reason="used")
    if link.expires_at <= now:
        return BadLink(reason="expired")
    link.used_at = now
    link.save(update_fields=["used_at"])
    return link.user


@transaction.atomic
def add_member(workspace: Workspace, *, username: str, email: str, role: str) -> Membership:
    user, made = User.objects.get_or_create(username=username, defaults={"email": email})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    member, added = Membership.objects.get_or_create(
        user=user, workspace=workspace, defaults={"role": role}
    )
    if not added:
        raise BadInput(f"{username} is a member already: change the role in the table.")
    return member


@transaction.atomic
def change_role(workspace: Workspace, member_id: int, role: str) -> Membership:
    member = people.member_in(workspace, member_id)
    if role != Role.ADMIN:
        _keep_an_admin(workspace, member)
    member.role = role
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove_member(workspace: Workspace, member_id: int) -> Membership:
    member = people.member_in(workspace, member_id)
    _keep_an_admin(workspace, member)
    Membership.objects.filter(id=member.id).delete()
    return member


def _keep_an_admin(workspace: Workspace, member: Membership) -> None:
    if member.role == Role.ADMIN and not people.admins_left(workspace, without=member):
        raise Refused("A workspace keeps at least one admin: make somebody else admin first.")
