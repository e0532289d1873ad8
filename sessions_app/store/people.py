"""People and the workspaces they are in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q

from sessions_app.domain.errors import NotFound
from sessions_app.models import Membership, SigninLink, User, Workspace
from sessions_app.models.people import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    id: int
    name: str
    username: str
    email: str
    role: str
    last_login: datetime | None
    is_you: bool


def memberships_of(user: User) -> list[Membership]:
    """A person's own workspaces first, the demo last."""
    rows = Membership.objects.select_related("workspace").filter(user=user)
    return list(rows.order_by("workspace__is_demo", "workspace__created_at"))


def workspaces_of(user: User) -> list[UUID]:
    """Only which they are."""
    if user.workspaces_at_hand is not None:
        return user.workspaces_at_hand
    return list(Membership.objects.filter(user=user).values_list("workspace_id", flat=True))


def membership_for(user: User, workspace_id: UUID) -> Membership:
    found = (
        Membership.objects.select_related("workspace")
        .filter(user=user, workspace_id=workspace_id)
        .first()
    )
    if found is None:
        raise NotFound("There is no such workspace, or you are not in it.")
    return found


def members_of(workspace: Workspace, you: User) -> list[MemberRow]:
    rows = Membership.objects.select_related("user").filter(workspace=workspace)
    return [
        MemberRow(
            id=row.id,
            name=str(row.user),
            username=row.user.username,
            email=row.user.email,
            role=row.role,
            last_login=row.user.last_login,
            is_you=row.user_id == you.id,
        )
        for row in rows.order_by("user__username")
    ]


def member_in(workspace: Workspace, member_id: int) -> Membership:
    """The row is locked: two admins must not demote each other at the same moment."""
    found = (
        Membership.objects.select_related("user")
        .select_for_update(of=("self",))
        .filter(workspace=workspace, id=member_id)
        .first()
    )
    if found is None:
        raise NotFound("There is no such member in this workspace.")
    return found


def admins_left(workspace: Workspace, *, without: Membership) -> int:
    # Locking all admins of the workspace makes two demotions wait for each other.
    admins = Membership.objects.select_for_update().filter(workspace=workspace, role=Role.ADMIN)
    return sum(admin.id != without.id for admin in admins)


def one_at_a_time() -> None:
    """Until the end of the transaction: two first commands must not found two houses."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('recount.people'))")


def first_admin() -> User | None:
    """The admin of most workspaces, oldest first: whom `make run` signs in."""
    return (
        User.objects.filter(is_active=True, memberships__role=Role.ADMIN)
        .annotate(n=Count("memberships", filter=Q(memberships__workspace__is_demo=False)))
        .filter(n__gt=0)
        .order_by("id")
        .first()
    )


# Links that sign a person in once --------------------------------------------------------------


def token_hash(token: str) -> bytes:
    """A fast hash is right for 256 random bits: there is nothing to guess."""
    return sha256(token.encode()).digest()


def keep_link(user: User, token: str, *, now: datetime, lifetime: timedelta) -> None:
    SigninLink.objects.filter(expires_at__lt=now - timedelta(days=30)).delete()
    SigninLink.objects.create(user=user, token_hash=token_hash(token), expires_at=now + lifetime)


def link_by(token: str, *, lock: bool = False) -> SigninLink | None:
    rows = SigninLink.objects.select_related("user")
    if lock:
        rows = rows.select_for_update(of=("self",))
    return rows.filter(token_hash=token_hash(token)).first()
