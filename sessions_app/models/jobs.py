"""Work as rows: Postgres knows every job, the broker only carries ids."""

import uuid

from django.db import models

from sessions_app.models.people import User, Workspace


class JobState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    QUARANTINED = "quarantined", "Quarantined"


class Job(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Null once the workspace it worked on is gone.
    workspace = models.ForeignKey(Workspace, on_delete=models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=40)
    # Ids and numbers only: no text of a session ever goes through here.
    arguments = models.JSONField(default=dict)
    state = models.CharField(max_length=11, choices=JobState.choices, default=JobState.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    # A new token for every claim: a worker whose lease was taken over can no longer write.
    claim = models.UUIDField(null=True)
    cancel_asked = models.BooleanField(default=False)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    note = models.CharField(max_length=200, blank=True)
    error = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    enqueued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["-created_at"], name="job_list"),
            models.Index(
                fields=["state", "lease_until"],
                condition=models.Q(state__in=["queued", "running"]),
                name="job_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class Pulse(models.Model):
    """A sign of life of a part that has no port to ask."""

    name = models.CharField(max_length=80, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at}"
