"""Tokens of machines: kept as hashes, found by them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.db.models import Q

from sessions_app.domain.errors import NotFound
from sessions_app.models import IngestToken, User, Workspace

# Known to this much: a write for every request would cost more than the request.
USED_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    id: UUID
    name: str
    created_by: str
    created_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None


def hash_of(text: str) -> bytes:
    """A fast hash is right for 256 random bits: there is nothing to guess."""
    return sha256(text.encode()).digest()


def keep(workspace: Workspace, *, name: str, text: str, user: User) -> IngestToken:
    return IngestToken.objects.create(
        workspace=workspace, name=name, hash=hash_of(text), created_by=user
    )


def number_valid(workspace: Workspace) -> int:
    return IngestToken.objects.filter(workspace=workspace, revoked_at=None).count()


def rows_of(workspace: Workspace) -> list[TokenRow]:
    """Valid ones first, the newest on top."""
    found = IngestToken.objects.select_related("created_by").filter(workspace=workspace)
    rows = [
        TokenRow(
            id=token.id,
            name=token.name,
            created_by=str(token.created_by or ""),
            created_at=token.created_at,
            used_at=token.used_at,
            revoked_at=token.revoked_at,
        )
        for token in found.order_by("-created_at")
    ]
    return sorted(rows, key=lambda row: row.revoked_at is not None)


def token_in(workspace: Workspace, token_id: UUID) -> IngestToken:
    found = IngestToken.objects.filter(workspace=workspace, id=token_id).first()
    if found is None:
        raise NotFound("There is no such token in this workspace.")
    return found


def revoke(token: IngestToken, now: datetime) -> None:
    IngestToken.objects.filter(id=token.id, revoked_at=None).update(revoked_at=now)


def valid(text: str) -> IngestToken | None:
    return IngestToken.objects.filter(hash=hash_of(text), revoked_at=None).first()


def used(token: IngestToken, now: datetime) -> None:
    if token.used_at is None or token.used_at < now - USED_AGAIN:
        old = Q(used_at=None) | Q(used_at__lt=now - USED_AGAIN)
        IngestToken.objects.filter(old, id=token.id).update(used_at=now)
