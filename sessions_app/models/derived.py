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
