"""Which sessions a person had open last."""

from django.db import models

from sessions_app.models.people import User
from sessions_app.models.record import Session


class Visit(models.Model):
    """Ids and a time. What the session is called stays sealed."""

    pk = models.CompositePrimaryKey("user_id", "session_id")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["user", "-at"], name="visit_newest")]

    def __str__(self) -> str:
        return f"visit of {self.user_id} to session {self.session_id}"
