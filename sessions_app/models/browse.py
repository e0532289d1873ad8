"""What the list of sessions needs beside the sessions: names behind blind terms, saved searches."""

import uuid

from django.db import models

from sessions_app.models.people import User, Workspace


class FacetValue(models.Model):
    """A name that sessions are filtered by. `Session.facets` holds its term; only the seal knows
    the name."""

    pk = models.CompositePrimaryKey("workspace_id", "kind", "term")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    kind = models.SmallIntegerField()
    term = models.IntegerField()
    sealed = models.BinaryField()

    class Meta:
        # Counting goes from the terms of sessions to their names.
        indexes = [models.Index(fields=["workspace", "term"], name="facet_names")]

    def __str__(self) -> str:
        return f"facet value of workspace {self.workspace_id}"


class SavedSearch(models.Model):
    """A query somebody gave a name, for everybody in the workspace. Both are sealed: a query
    quotes what people look for."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"saved search {self.id}"
