"""Writes about the tokens of machines, with their rules."""

import secrets
from datetime import datetime
from uuid import UUID

from sessions_app.domain.errors import Refused
from sessions_app.models import IngestToken, User, Workspace
from sessions_app.store import tokens

PREFIX = "rct_"
MOST = 200


def create(workspace: Workspace, *, name: str, user: User) -> tuple[IngestToken, str]:
    """The text is returned once and stored only as a hash."""
    if tokens.number_valid(workspace) >= MOST:
        raise Refused(f"A workspace has {MOST} valid tokens at the most: revoke one first.")
    text = PREFIX + secrets.token_urlsafe(32)
    return tokens.keep(workspace, name=name, text=text, user=user), text


def revoke(workspace: Workspace, token_id: UUID, *, now: datetime) -> IngestToken:
    token = tokens.token_in(workspace, token_id)
    tokens.revoke(token, now)
    return token
