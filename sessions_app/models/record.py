"""The record: sessions, their sealed chunks, one slim row per line, and where the bytes came from.

Every big table leads its key with the session, so that the tables can be spread by it.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from sessions_app.models.people import Workspace


class Session(models.Model):
    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="sessions")
    agent = models.CharField(max_length=40)
    format = models.CharField(max_length=40)
    # Title, source path, project and machine, as one seal: they are content too.
    sealed_facts = models.BinaryField()
    generation = models.PositiveIntegerField(default=1)

    started_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    ingested_at = models.DateTimeField()
    # The list is ordered by this: the log's last time, or its arrival where it names none.
    sort_at = models.DateTimeField()

    events = models.PositiveIntegerField(default=0)
    prompts = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    unreadable = models.PositiveIntegerField(default=0)

    raw_bytes = models.BigIntegerField(default=0)
    # Bytes at the end that are not yet a whole line. They are replaced when the line is complete.
    tail_bytes = models.BigIntegerField(default=0)
    chunks = models.PositiveIntegerField(default=0)
    head_hash = models.BinaryField(max_length=32)
    head_mark = models.BinaryField(max_length=32)

    # The last verdict on this record: when, and what was wrong.
    verified_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=300, blank=True)
    bad_chunk = models.IntegerField(null=True)

    held = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "-sort_at", "-id"], name="session_list")]

    def __str__(self) -> str:
        return f"session {self.uid}"


class Chunk(models.Model):
    pk = models.CompositePrimaryKey("session_id", "no")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+", db_index=False)
    no = models.IntegerField()
    first_seq = models.IntegerField()
    lines = models.IntegerField()
    first_byte = models.BigIntegerField()
    raw_len = models.IntegerField()
    previous = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)
    sealed = models.BinaryField()
    terms = ArrayField(models.IntegerField())

    class Meta:
        indexes = [
            # Without the pending list ingest is 2.5 times slower; the list is merged by vacuum
            # or when it outgrows the limit (in kB).
            GinIndex(
                fields=["terms"],
                name="chunk_terms",
                fastupdate=True,
                gin_pending_list_limit=32768,
            )
        ]

    def __str__(self) -> str:
        return f"chunk {self.no} of session {self.session_id}"


class Event(models.Model):
    """One row per line, without any of its text. No foreign key: a check per row would cost more
    than the row, and rows are written and erased only together with their session."""

    pk = models.CompositePrimaryKey("session_id", "seq")
    session_id = models.BigIntegerField()
    seq = models.IntegerField()
    chunk = models.IntegerField()
    start = models.IntegerField(help_text="first byte inside its chunk")
    length = models.IntegerField(help_text="bytes of the line, its line end included")
    at = models.DateTimeField(null=True)
    kind = models.SmallIntegerField()
    flags = models.SmallIntegerField()
    tool = models.IntegerField(help_text="blind term of the tool's name, 0 for none")

    def __str__(self) -> str:
        return f"event {self.seq} of session {self.session_id}"


class Source(models.Model):
    """Where a session's bytes came from, and how far they were read."""

    session = models.OneToOneField(
        Session, on_delete=models.CASCADE, primary_key=True, related_name="source"
    )
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    # Keyed hash of machine and path: the path itself is sealed with the session.
    place_key = models.BinaryField(max_length=16)
    generation = models.PositiveIntegerField()
    size = models.BigIntegerField(default=0)
    mtime_ns = models.BigIntegerField(default=0)
    # Keyed hashes of the first and the last stretch of what was read: a file whose bytes no
    # longer agree with them was rewritten and becomes a new generation.
    head_len = models.IntegerField(default=0)
    head_key = models.BinaryField(max_length=16)
    tail_len = models.IntegerField(default=0)
    tail_key = models.BinaryField(max_length=16)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "place_key", "generation"], name="one_source_a_generation"
            )
        ]

    def __str__(self) -> str:
        return f"source of session {self.session_id}"
