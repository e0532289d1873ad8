"""Three people: Alice owns the workspace, Bob is on the team, Charlie must see nothing."""

from dataclasses import dataclass

from django.test import Client

from sessions_app.models import Session, User, Workspace
from tests import build


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    workspace: Workspace
    session: Session
    alice: User
    bob: User
    charlie: User


def cast() -> Cast:
    workspace = build.workspace("Alice's")
    return Cast(
        workspace=workspace,
        session=build.session(workspace),
        alice=build.member("alice", workspace, "admin"),
        bob=build.member("bob", workspace, "viewer"),
        charlie=build.member("charlie", build.workspace("Charlie's"), "admin"),
    )


def browser(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client
