"""Answers: a whole page, its fragment, or an error that helps; here alone htmx is looked at."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from sessions_app.domain import steps
from sessions_app.domain.errors import IntegrityError, RecountError
from sessions_app.store import trouble

log = logging.getLogger("recount.web")

PAGES = {400: "400.html", 403: "403.html", 404: "404.html", 409: "409.html", 413: "400.html"}


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def is_fragment(request: HttpRequest) -> bool:
    """Whoever goes back in the history gets the whole page, also from htmx."""
    asked = getattr(request, "htmx", None)
    return bool(asked) and not getattr(asked, "history_restore_request", False)


def either(
    request: HttpRequest, page: str, fragment: str, context: dict[str, object]
) -> HttpResponse:
    """The same values as a page, or as the part of it that htmx asked for. One address has both,
    so a browser must not keep one for the other."""
    answer = render(request, fragment if is_fragment(request) else page, context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def in_steps(
    request: HttpRequest, pieces: Iterator[bytes]
) -> AsyncIterator[bytes] | Iterator[bytes]:
    """The body of a streamed answer, as the server at hand wants it."""
    return steps.in_steps(pieces) if isinstance(request, ASGIRequest) else pieces


class ErrorsToPages:
    """Turns the family of errors into answers, once, for every view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        told = error if isinstance(error, RecountError) else trouble.no_room(error)
        if told is None:
            return None
        if isinstance(told, IntegrityError):
            log.error("integrity: %s", told.message)
        return answer(request, told)


def answer(request: HttpRequest, error: RecountError) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": error.message}, status=error.status)
    context = {"message": error.message, "status": error.status}
    if is_fragment(request):
        return render(request, "components/_trouble.html", context, status=error.status)
    page = PAGES.get(error.status, "trouble.html")
    return render(request, page, context, status=error.status)
