"""Tools: how often they were called, how often that failed, how long it took."""

from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.store import tools
from sessions_app.store.tools import Tool
from sessions_app.web import links, ranges, respond
from sessions_app.web.access import current, signed_in
from sessions_app.web.columns import Column, address, sheet

LONGEST_AGENT = 40
COLUMNS: list[Column[Tool]] = [
    Column(key="name", label="Tool", value=attrgetter("sorted_name"), is_number=False),
    Column(key="calls", label="Calls", value=attrgetter("calls")),
    Column(key="failed", label="Errors", value=attrgetter("failed")),
    Column(key="rate", label="Error rate", value=attrgetter("error_rate")),
    Column(key="missing", label="Without result", value=attrgetter("missing")),
    Column(key="median", label="Median", value=attrgetter("median")),
    Column(key="slow", label="95th percentile", value=attrgetter("slow")),
    Column(key="sessions", label="Sessions", value=attrgetter("sessions")),
]


@require_safe
@signed_in
def page(request: HttpRequest) -> HttpResponse:
    workspace_id = current(request).workspace_id
    asked = ranges.asked(request, timezone.now().date())
    agent = request.GET.get("agent", "")[:LONGEST_AGENT].replace("\0", "")
    is_split = request.GET.get("split") == "agent"
    found = tools.called(workspace_id, asked.days, agent=agent or None, is_split=is_split)
    shown = sheet(request, found.rows, COLUMNS, default="-calls", own=_mark)
    context = {
        "range": asked,
        "agent": agent,
        "agents": tools.agents(workspace_id),
        "is_split": is_split,
        "sheet": shown,
        "rows": [(tool, *_links(tool)) for tool in shown.rows],
        "calls": sum(tool.calls for tool in found.rows),
        "untold": sum(tool.untold for tool in found.rows),
        "waiting": found.waiting,
        "ever_url": address(request, **{"from": None, "to": None, "range": ranges.EVER}),
    }
    answer = respond.either(request, "tools/list.html", "tools/_rows.html", context)
    answer["HX-Push-Url"] = address(request)
    return answer


def _mark(tool: Tool) -> str:
    return f"{tool.term}{'-'.join(('', *tool.agents))}"


def _links(tool: Tool) -> tuple[str, str]:
    """Sessions that called it, and those of them with an error."""
    if not tool.term:
        return "", ""
    return links.sessions(tool=tool.name), links.sessions(tool=tool.name, **{"is": "error"})
