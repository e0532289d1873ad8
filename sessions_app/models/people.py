"""Who may see what: people, workspaces, memberships, and links that sign a person in once."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Theme(models.TextChoices):
    AUTO = "auto", "As the system"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class User(AbstractUser):
    # Held by a keyboard setting because single-letter keys disturb speech input (WCAG 2.1.4).
    shortcuts = models.BooleanField("keyboard shortcuts", default=True)
    theme = models.CharField(max_length=5, choices=Theme.choices, default=Theme.AUTO)
    display_name = models.CharField(max_length=80, blank=True)
    # Ids of the workspaces they are in, where those were asked for together with the person.
    workspaces_at_hand: list[uuid.UUID] | None = None

    def __str__(self) -> str:
        return self.display_name or self.username


class Workspace(models.Model):
    """A tenant: its own keys, people and sessions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80)
    is_demo = models.BooleanField(default=False)
    # Wrapped by the workspace key of `index_key_version`; it stays the same over rotations,
    # because changing it would mean reading every word again.
    index_key = models.BinaryField()
    index_key_version = models.PositiveIntegerField()
    # Grows when the vocabulary is made anew: whoever knows words of an earlier one starts over.
    vocabulary_generation = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    # The transaction that erased a session last; the database sets it.
    erased = models.BigIntegerField(db_default=0, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_demo"], condition=models.Q(is_demo=True), name="one_demo_workspace"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    AUDITOR = "auditor", "Auditor"
    CURATOR = "curator", "Curator"
    ADMIN = "admin", "Admin"


class Membership(models.Model):
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "workspace"], name="one_membership_each")
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.workspace}"


class SigninLink(models.Model):
    """Only the hash of the token is stored; the link itself is shown once."""

    token_hash = models.BinaryField(max_length=32, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signin_links")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}"
