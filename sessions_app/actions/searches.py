"""Saved searches with their rules: shared by a workspace, changed by whoever made them."""

from uuid import UUID

from django.db import transaction

from sessions_app.domain.errors import BadInput, Forbidden, Refused
from sessions_app.domain.searchquery import LONGEST
from sessions_app.models import Membership, SavedSearch
from sessions_app.models.people import Role
from sessions_app.store import searches

LONGEST_NAME = 80


def may_save(membership: Membership) -> bool:
    return membership.role != Role.VIEWER


def may_change(membership: Membership, created_by_id: int | None) -> bool:
    """Whoever made it, and those who look after the workspace."""
    keeps_order = membership.role in (Role.CURATOR, Role.ADMIN)
    return keeps_order or (may_save(membership) and created_by_id == membership.user_id)


@transaction.atomic
def save(membership: Membership, *, name: str, query: str) -> UUID:
    if not may_save(membership):
        raise Forbidden("A viewer reads. To save a search, ask an admin for another role.")
    if not query.strip() or len(query) > LONGEST:
        raise BadInput(f"A search to save has 1 to {LONGEST:,} characters.")
    if searches.number_in(membership.workspace) >= searches.MOST:
        raise Refused(f"There are {searches.MOST} saved searches already: remove some first.")
    return searches.add(
        membership.workspace, membership.user, name=_named(name), query=query.strip()
    )


def rename(membership: Membership, search: SavedSearch, name: str) -> None:
    _changing(membership, search)
    searches.rename(search, _named(name))


def remove(membership: Membership, search: SavedSearch) -> None:
    _changing(membership, search)
    searches.remove(search)


def _changing(membership: Membership, search: SavedSearch) -> None:
    if not may_change(membership, search.created_by_id):
        raise Forbidden("Only whoever saved this search, a curator or an admin may change it.")


def _named(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise BadInput(f"A saved search needs a name of 1 to {LONGEST_NAME} characters.")
    return name
