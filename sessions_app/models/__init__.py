"""The tables. A model knows its own row and nothing else."""

from sessions_app.models.jobs import Job, Pulse
from sessions_app.models.keys import Canary, SessionKey, WorkspaceKey
from sessions_app.models.people import Membership, SigninLink, User, Workspace
from sessions_app.models.record import Chunk, Event, Session, Source

__all__ = [
    "Canary",
    "Chunk",
    "Event",
    "Job",
    "Membership",
    "Pulse",
    "Session",
    "SessionKey",
    "SigninLink",
    "Source",
    "User",
    "Workspace",
    "WorkspaceKey",
]
