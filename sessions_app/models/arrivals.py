"""How logs arrive: watched folders, tokens of machines, receipts, and what was found wrong."""

import uuid

from django.db import models

from sessions_app.models.people import User, Workspace


class WatchedRoot(models.Model):
    """A folder or file of this machine whose logs are taken in as they are written."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="roots")
    path = models.CharField(max_length=1000)
    # What an admin says about it; formats are recognised by content whatever stands here.
    agent = models.CharField(max_length=40, blank=True)
    # Fixed name for all its sessions; empty: the log's own folder or working directory.
    project = models.CharField(max_length=200, blank=True)
    is_on = models.BooleanField(default=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    # Set by the watcher.
    files = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(null=True)
    lag_ms = models.PositiveIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)
    # Raised by a page: the watcher looks at everything again.
    retry_asked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "path"], name="one_root_a_path")
        ]

    def __str__(self) -> str:
        return self.path


class FindingKind(models.TextChoices):
    REWRITTEN = "rewritten", "Rewritten at its source"
    DELETED = "deleted", "Deleted at its source"
    UNREADABLE = "unreadable", "Cannot be read"
    REFUSED = "refused", "Refused"
    ASIDE = "aside", "Put aside: kills its reader"
    ENDANGERED = "endangered", "About to be deleted, not ingested"
    CONFLICT = "conflict", "Same id, different content"


class Finding(models.Model):
    """Something about a source that an admin should know. The path is sealed."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    root = models.ForeignKey(WatchedRoot, on_delete=models.CASCADE, null=True, related_name="+")
    session_id = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=12, choices=FindingKind.choices)
    place_key = models.BinaryField(max_length=16)
    sealed_path = models.BinaryField()
    message = models.CharField(max_length=300)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "place_key", "kind"],
                condition=models.Q(settled_at=None),
                name="one_open_finding_a_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.workspace_id}"


class IngestToken(models.Model):
    """Lets a machine write into one workspace, and nothing else. Only its hash is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80)
    hash = models.BinaryField(max_length=32, unique=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class ReceiptState(models.TextChoices):
    STAGED = "staged", "Waiting to be taken in"
    TAKEN = "taken", "Taken in"
    REFUSED = "refused", "Refused"


class Receipt(models.Model):
    """What was handed over, and what became of it. Bytes wait sealed in the staging folder."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    token = models.ForeignKey(IngestToken, on_delete=models.SET_NULL, null=True, related_name="+")
    # Keyed hash of what the sender calls this delivery.
    idempotency = models.BinaryField(max_length=16)
    place_key = models.BinaryField(max_length=16)
    sha256 = models.BinaryField(max_length=32)
    offset = models.BigIntegerField()
    length = models.BigIntegerField()
    state = models.CharField(
        max_length=7, choices=ReceiptState.choices, default=ReceiptState.STAGED
    )
    message = models.CharField(max_length=300, blank=True)
    session_id = models.BigIntegerField(null=True)
    lines = models.IntegerField(default=0)
    unreadable = models.IntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "idempotency"], name="one_receipt_a_key")
        ]
        indexes = [
            models.Index(fields=["created_at"], name="receipt_age"),
            models.Index(
                fields=["created_at"],
                condition=models.Q(state="staged"),
                include=["length"],
                name="receipt_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"receipt {self.id}"
