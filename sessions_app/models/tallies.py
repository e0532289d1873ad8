"""Sums over the record, so that a page about a year opens no row of its sessions.

They are derived from usage, call and event rows alone, and `Untallied` says which sessions changed
since: a sum that is shown has taken in everything that was written before it was asked for.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.models.people import Workspace


def _amount(*, null: bool = False) -> models.DecimalField:  # type: ignore[type-arg]
    """Counters of hostile logs go up to 2**53 each, and their sum beyond any integer column."""
    return models.DecimalField(max_digits=40, decimal_places=0, null=null)


class UsageDay(models.Model):
    """What one session's answers used on one day with one model. An answer that several sessions
    tell of is in the sum of the one that came first."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    session_id = models.BigIntegerField()
    # Where the lines name no time, that of their session.
    day = models.DateField()
    # What sums are told apart by. Of the session: whoever writes it notes that it changed.
    agent = models.CharField(max_length=40)
    project = models.IntegerField(help_text="blind term of its name, 0 for none")
    machine = models.IntegerField(help_text="blind term of its name, 0 for none")
    # “user” is a word of SQL.
    account = models.IntegerField(default=0, help_text="blind term of a user, 0 for none")
    model = models.CharField(max_length=80)
    answers = models.IntegerField()
    input = _amount()
    output = _amount()
    cache_read = _amount()
    cache_write = _amount()
    reasoning = _amount()
    # Over the answers that have a price; None if none has.
    cost = _amount(null=True)
    unpriced = models.IntegerField()
    reported = _amount(null=True)
    # The days of the price lists, the oldest and the newest.
    priced_from = models.DateField(null=True)
    priced_on = models.DateField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "day"], name="usage_days"),
            models.Index(fields=["session_id"], name="usage_day_session"),
        ]

    def __str__(self) -> str:
        return f"usage of session {self.session_id} on {self.day}"


class ToolDay(models.Model):
    """What one session called one tool for on one day."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    session_id = models.BigIntegerField()
    day = models.DateField()
    agent = models.CharField(max_length=40)
    tool = models.IntegerField(help_text="blind term of the tool's name, 0 for none")
    calls = models.IntegerField()
    answered = models.IntegerField(help_text="calls with a result")
    failed = models.IntegerField()
    untold = models.IntegerField(help_text="calls without an id: nothing tells their result")
    # Milliseconds from the line of a call to the line of its result, for those that have both.
    lengths = ArrayField(models.IntegerField())

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "day"], name="tool_days"),
            models.Index(fields=["session_id"], name="tool_day_session"),
        ]

    def __str__(self) -> str:
        return f"calls of session {self.session_id} on {self.day}"


class Copied(models.Model):
    """What a session tells again: it begins with lines of one that came before it."""

    session_id = models.BigIntegerField(primary_key=True)
    prompts = models.IntegerField()
    errors = models.IntegerField()

    def __str__(self) -> str:
        return f"what session {self.session_id} tells again"


class Untallied(models.Model):
    """A session whose rows changed since its sums were made. Written in the transaction that
    changes them, never updated: writers do not wait for each other here."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    session_id = models.BigIntegerField()
    since = models.IntegerField(help_text="rows from this line on are new")
    # Keys of answers whose rows went: other sessions may hold copies of them.
    gone = ArrayField(models.BigIntegerField())

    def __str__(self) -> str:
        return f"session {self.session_id} is to be tallied"
