"""Wrapped keys. No row here can be opened without the root key, which is not in the database."""

from django.db import models

from sessions_app.models.people import Workspace
from sessions_app.models.record import Session


class Canary(models.Model):
    """A known value wrapped by the root key: opening it tells the right key from a wrong one."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    provider = models.CharField(max_length=20)
    key_id = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    wrapped = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_canary")]

    def __str__(self) -> str:
        return f"canary of {self.provider} key {self.key_id}"


class WorkspaceKey(models.Model):
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="keys")
    version = models.PositiveIntegerField()
    root_key_id = models.CharField(max_length=100)
    root_version = models.PositiveIntegerField()
    wrapped = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "version"], name="one_key_a_version")
        ]

    def __str__(self) -> str:
        return f"key {self.version} of workspace {self.workspace_id}"


class SessionKey(models.Model):
    """Deleting this row shreds the session: nothing else can open its seals."""

    session = models.OneToOneField(
        Session, on_delete=models.CASCADE, primary_key=True, related_name="key"
    )
    version = models.PositiveIntegerField(help_text="version of the workspace key that wraps it")
    wrapped = models.BinaryField()

    def __str__(self) -> str:
        return f"key of session {self.session_id}"
