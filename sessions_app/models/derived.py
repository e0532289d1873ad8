"""What is kept beside the record because making it anew would keep a reader waiting.

All of it follows from the record and goes with it.
"""

from django.db import models

from sessions_app.models.record import Session


class FileIndex(models.Model):
    """The files a session touched, sealed like the session itself: paths are content."""

    session = models.OneToOneField(
        Session, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    # Of the rules it was made by; one of other rules is made anew.
    version = models.SmallIntegerField()
    upto = models.IntegerField(help_text="events below this one were looked at")
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return f"files of session {self.session_id}"


class Strip(models.Model):
    """Some thousand events as columns of numbers: what a timeline counts. Holds nothing that event
    rows do not, so it is no more sealed than they are."""

    pk = models.CompositePrimaryKey("session_id", "no")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+", db_index=False)
    no = models.IntegerField()
    # Of the rules it was made by, and what was known of the session then.
    version = models.SmallIntegerField()
    first = models.BigIntegerField(null=True)
    is_subagent = models.BooleanField()
    beyond = models.BigIntegerField(
        null=True, help_text="the earliest time that was too late to be true"
    )
    events = models.IntegerField()
    reached = models.BigIntegerField(null=True, help_text="when its last event happened")
    data = models.BinaryField()

    def __str__(self) -> str:
        return f"strip {self.no} of session {self.session_id}"


class Digest(models.Model):
    """What all rows of a long session come to: counts and sums, nothing that they do not say."""

    session = models.OneToOneField(
        Session, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    # Of the rows it was made from; one of others says nothing of the session as it stands.
    version = models.CharField(max_length=100)
    data = models.JSONField()

    def __str__(self) -> str:
        return f"digest of session {self.session_id}"
