"""What every page shows around its content: theme, keys, workspaces, where one is."""

from django.http import HttpRequest

from sessions_app.models import User
from sessions_app.store import findings, people
from sessions_app.web.access import CHOSEN


def surroundings(request: HttpRequest) -> dict[str, object]:
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"theme": "auto", "shortcuts": True, "workspaces": [], "workspace": None}
    mine = people.memberships_of(user)
    chosen = request.session.get(CHOSEN)
    found = next((m for m in mine if str(m.workspace_id) == chosen), mine[0] if mine else None)
    return {
        "theme": user.theme,
        "shortcuts": user.shortcuts,
        "workspaces": [m.workspace for m in mine],
        "workspace": found.workspace if found else None,
        "role": found.role if found else "",
        "alerts": findings.number_open(found.workspace) if found else 0,
        "nav": _room(request),
    }


def _room(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is None:
        return ""
    return "members" if match.view_name == "people:members" else match.app_name
