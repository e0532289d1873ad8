"""Answers: a whole page, its fragment, or an error that helps; here alone htmx is looked at."""

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from sessions_app.domain.errors import IntegrityError, RecountError

log = logging.getLogger("recount.web")

PAGES = {400: "400.html", 403: "403.html", 404: "404.html", 409: "409.html", 413: "400.html"}


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def is_fragment(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def either(
    request: HttpRequest, page: str, fragment: str, context: dict[str, object]
) -> HttpResponse:
    """The same values as a page, or as the part of it that htmx asked for."""
    return render(request, fragment if is_fragment(request) else page, context)


class ErrorsToPages:
    """Turns the family of errors into answers, once, for every view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, RecountError):
            return None
        if isinstance(error, IntegrityError):
            log.error("integrity: %s", error.message)
        return answer(request, error)


def answer(request: HttpRequest, error: RecountError) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": error.message}, status=error.status)
    context = {"message": error.message, "status": error.status}
    if is_fragment(request):
        return render(request, "components/_trouble.html", context, status=error.status)
    page = PAGES.get(error.status, "trouble.html")
    return render(request, page, context, status=error.status)
