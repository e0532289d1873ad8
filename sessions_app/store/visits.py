"""The sessions a person had open last, so that they find them again."""

from datetime import datetime

from sessions_app.models import Session, User, Visit, Workspace

KEPT = 50


def note(user: User, session: Session, *, at: datetime) -> None:
    """Only the newest are kept: this is a convenience, not a record of who saw what."""
    Visit.objects.bulk_create(
        [Visit(user=user, session=session, at=at)],
        update_conflicts=True,
        unique_fields=["user", "session"],
        update_fields=["at"],
    )
    mine = Visit.objects.filter(user=user).order_by("-at")
    oldest = mine.values_list("at", flat=True)[KEPT - 1 : KEPT]
    Visit.objects.filter(user=user, at__lt=oldest).delete()


def recent(user: User, workspace: Workspace, *, most: int) -> list[Session]:
    rows = (
        Visit.objects.filter(
            user=user, session__workspace=workspace, session__workspace__memberships__user=user
        )
        .select_related("session__key", "session__workspace")
        .order_by("-at")
    )
    return [row.session for row in rows[:most]]
