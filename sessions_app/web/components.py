"""The component page: every part of the face in every state, for whoever builds the next page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.web.access import signed_in


@require_safe
@signed_in
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "components/page.html")
