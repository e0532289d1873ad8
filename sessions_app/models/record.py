"""The record: sessions, their sealed chunks, one slim row per line, and where the bytes came from.

Every big table leads its key with the session, so that the tables can be spread by it.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Coalesce

from sessions_app.domain.lifecycle import Ending
from sessions_app.models.people import Workspace


class Part(models.IntegerChoices):
    """What a source is in the thread it belongs to."""

    MAIN = 0, "Session"
    SUBAGENT = 1, "Subagent"
    # A file beside a log that is no conversation of its own: a large tool result, a description.
    SIDE = 2, "Side file"


def _sorted_by(name: str, of: models.F | Coalesce) -> models.Index:
    """Keyset pages of the list in another order than time. An unknown number is below all."""
    return models.Index(
        models.F("workspace"), of, models.F("id"), condition=_IN_LISTS, name=f"session_{name}"
    )


# Written as the list asks, or the planner does not see that an index fits.
_IN_LISTS = models.Q(part__lt=Part.SIDE)
_NEWEST = ["workspace", "-sort_at", "-id"]


class Session(models.Model):
    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="sessions")
    agent = models.CharField(max_length=40)
    format = models.CharField(max_length=40)
    part = models.SmallIntegerField(choices=Part.choices, default=Part.MAIN)
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
    # Between its first and its last time.
    seconds = models.BigIntegerField(null=True)
    # How the log stands at its end: one of `domain.lifecycle.Ending`.
    ending = models.SmallIntegerField(default=Ending.NOTHING.value)
    # Blind terms of what it can be filtered by: agent, project, tools, words of the title …
    facets = ArrayField(models.IntegerField(), default=list)
    # Some of them apart, because sessions are counted by them; 0 for none.
    project_term = models.IntegerField(default=0)
    machine_term = models.IntegerField(default=0)
    user_term = models.IntegerField(default=0)

    # What its answers used, each counted once; null where the log does not say. Costs are in
    # millionths of a millionth of a dollar.
    tokens = models.BigIntegerField(null=True)
    cost = models.BigIntegerField(null=True)
    unpriced = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    # How many events these four were counted over: fewer than there are, and they are stale.
    totals_events = models.PositiveIntegerField(default=0)

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

    # The transaction that wrote this row last; the database sets it.
    changed = models.BigIntegerField(db_default=0, editable=False)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "changed"], name="session_changes"),
            models.Index(fields=_NEWEST, condition=_IN_LISTS, name="session_list"),
            models.Index(fields=_NEWEST, condition=models.Q(part=Part.MAIN), name="session_main"),
            # Few, and asked for across all time.
            models.Index(fields=_NEWEST, condition=models.Q(held=True), name="session_held"),
            models.Index(
                fields=_NEWEST,
                condition=models.Q(archived_at__isnull=False),
                name="session_archived",
            ),
            _sorted_by("tokens", Coalesce("tokens", -1)),
            _sorted_by("cost", Coalesce("cost", -1)),
            _sorted_by("seconds", Coalesce("seconds", -1)),
            _sorted_by("errors", models.F("errors")),
            _sorted_by("events", models.F("events")),
            # A question reads the pending list from end to end: it stays short.
            GinIndex(
                fields=["facets"],
                name="session_facets",
                fastupdate=True,
                gin_pending_list_limit=512,
            ),
        ]

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
                gin_pending_list_limit=16384,
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


class Usage(models.Model):
    """Tokens as one line tells them. Rows with the same key, in one session or in several, tell
    of the same answer of a provider: the largest of each counter counts, once."""

    pk = models.CompositePrimaryKey("session_id", "seq", "no")
    session_id = models.BigIntegerField()
    seq = models.IntegerField()
    no = models.SmallIntegerField(help_text="of several in one line")
    key = models.BigIntegerField(help_text="keyed hash of the provider's ids")
    at = models.DateTimeField(null=True)
    # Names from hostile logs, cut; they are no content, and statistics need them.
    model = models.CharField(max_length=80)
    provider = models.CharField(max_length=40)
    input = models.BigIntegerField()
    output = models.BigIntegerField()
    cache_read = models.BigIntegerField()
    cache_write = models.BigIntegerField()
    cache_write_1h = models.BigIntegerField()
    reasoning = models.BigIntegerField()
    # In millionths of a millionth of a dollar: by the price list, and as the log says.
    cost = models.BigIntegerField(null=True)
    reported = models.BigIntegerField(null=True)
    # The day of the price list `cost` was taken from.
    priced_on = models.DateField(null=True)

    class Meta:
        # Which sessions tell of the same answer.
        indexes = [models.Index(fields=["key"], name="usage_copies")]

    def __str__(self) -> str:
        return f"usage {self.seq} of session {self.session_id}"


class Call(models.Model):
    """A tool call or a tool result in a line. The two with the same key belong together."""

    pk = models.CompositePrimaryKey("session_id", "seq", "no")
    session_id = models.BigIntegerField()
    seq = models.IntegerField()
    no = models.SmallIntegerField(help_text="of several in one line")
    # Null for a call without an id: nothing tells its result.
    key = models.BigIntegerField(null=True, help_text="keyed hash of the call's id")
    tool = models.IntegerField(help_text="blind term of the tool's name, 0 for none")
    is_result = models.BooleanField()
    is_error = models.BooleanField()

    class Meta:
        indexes = [models.Index(fields=["session_id", "key"], name="call_pairs")]

    def __str__(self) -> str:
        return f"call {self.seq} of session {self.session_id}"


class Tie(models.Model):
    """An id by which sessions find each other, as a keyed hash."""

    pk = models.CompositePrimaryKey("session_id", "kind", "key")
    session_id = models.BigIntegerField()
    kind = models.SmallIntegerField()
    key = models.BigIntegerField()
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        indexes = [models.Index(fields=["workspace", "key"], name="tie_ends")]

    def __str__(self) -> str:
        return f"tie of session {self.session_id}"


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
        # An upload is known again by its content. The beginning of a log stays as it grows.
        indexes = [models.Index(fields=["workspace", "head_key"], name="source_content")]

    def __str__(self) -> str:
        return f"source of session {self.session_id}"


class VocabularySegment(models.Model):
    """Distinct words of a workspace, sealed: what the beginning of a word grows into. Several may
    hold the same word; small ones are joined from time to time."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    # Bound into the seal.
    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    words = models.IntegerField()
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.words} words of workspace {self.workspace_id}"
