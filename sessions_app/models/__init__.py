"""The tables. A model knows its own row and nothing else."""

from sessions_app.models.arrivals import Finding, IngestToken, Receipt, WatchedRoot
from sessions_app.models.browse import FacetValue, SavedSearch
from sessions_app.models.derived import Digest, FileIndex, Strip
from sessions_app.models.jobs import Job, Pulse
from sessions_app.models.keys import Canary, SessionKey, WorkspaceKey
from sessions_app.models.people import Membership, SigninLink, User, Workspace
from sessions_app.models.record import (
    Call,
    Chunk,
    Event,
    Session,
    Source,
    Tie,
    Usage,
    VocabularySegment,
)
from sessions_app.models.tallies import Copied, ToolDay, Untallied, UsageDay
from sessions_app.models.visits import Visit

__all__ = [
    "Call",
    "Canary",
    "Chunk",
    "Copied",
    "Digest",
    "Event",
    "FacetValue",
    "FileIndex",
    "Finding",
    "IngestToken",
    "Job",
    "Membership",
    "Pulse",
    "Receipt",
    "SavedSearch",
    "Session",
    "SessionKey",
    "SigninLink",
    "Source",
    "Strip",
    "Tie",
    "ToolDay",
    "Untallied",
    "Usage",
    "UsageDay",
    "User",
    "Visit",
    "VocabularySegment",
    "WatchedRoot",
    "Workspace",
    "WorkspaceKey",
]
