"""Names behind blind terms, opened only for what a page shows."""

from collections.abc import Collection
from uuid import UUID

from sessions_app.domain.facets import Facet
from sessions_app.models import FacetValue
from sessions_app.store import facets


def of(workspace_id: UUID, kind: Facet, terms: Collection[int]) -> dict[int, str]:
    """Terms without a name are left out."""
    rows = FacetValue.objects.filter(workspace_id=workspace_id, kind=kind, term__in=terms)
    return {
        term: facets.opened(workspace_id, kind, term, bytes(sealed))
        for term, sealed in rows.values_list("term", "sealed")
    }
