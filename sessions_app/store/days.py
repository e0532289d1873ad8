"""Sums of a stretch of days: what every question to them has in common."""

from typing import Any
from uuid import UUID

from sessions_app.domain.calendar import Days


def inside(workspace_id: UUID, days: Days) -> tuple[list[str], list[Any]]:
    """Conditions and their values."""
    parts: list[str] = ["workspace_id = %s"]
    values: list[Any] = [workspace_id]
    for bound, sign in ((days.first, ">="), (days.last, "<=")):
        if bound is not None:
            parts.append(f"day {sign} %s")
            values.append(bound)
    return parts, values
