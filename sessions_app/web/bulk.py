"""What is done with several sessions at once: taken out as one tar, verified as one job."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from sessions_app.domain.errors import BadInput
from sessions_app.models import Session
from sessions_app.store import export, sessions
from sessions_app.web import respond
from sessions_app.web.access import current, person, signed_in
from sessions_app.web.enqueue import job

MOST = 200


@require_POST
@signed_in
def export_some(request: HttpRequest) -> HttpResponseBase:
    rows = _chosen(request)
    pieces = export.tar(rows, export.LAYOUTS[0])
    return StreamingHttpResponse(
        respond.in_steps(request, pieces),
        content_type="application/x-tar",
        headers={"Content-Disposition": 'attachment; filename="sessions.tar"'},
    )


@require_POST
@signed_in
def verify_some(request: HttpRequest) -> HttpResponse:
    rows = _chosen(request)
    job(
        "verify.sessions",
        user=person(request),
        workspace_id=current(request).workspace_id,
        arguments={"sessions": [str(row.uid) for row in rows]},
    )
    number = "1 session is" if len(rows) == 1 else f"{len(rows)} sessions are"
    messages.info(request, f"{number} being verified as a job.")
    return redirect("jobs:list")


def _chosen(request: HttpRequest) -> list[Session]:
    """Each through the door: of another workspace there is none."""
    try:
        ids = list(dict.fromkeys(UUID(each) for each in request.POST.getlist("id")))
    except ValueError:
        raise BadInput("That is no id of a session.") from None
    if not 1 <= len(ids) <= MOST:
        raise BadInput(f"Select 1 to {MOST} sessions first.")
    return [sessions.session_for(person(request), uid) for uid in ids]
