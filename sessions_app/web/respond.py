"""Answers: a whole page, its fragment, or an error that helps; here alone htmx is looked at."""

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.views.defaults import server_error

from sessions_app.domain import steps
from sessions_app.domain.errors import Away, IntegrityError, Later, RecountError
from sessions_app.store import trouble

log = logging.getLogger("recount.web")

PAGES = {400: "400.html", 403: "403.html", 404: "404.html", 409: "409.html", 413: "400.html"}


def wants_json(request: HttpRequest) -> bool:
    is_asked = request.headers.get("Accept", "").startswith("application/json")
    return is_asked or request.path.startswith("/api/")


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
        told = error if isinstance(error, RecountError) else trouble.told(error)
        if told is None:
            return None
        if isinstance(told, IntegrityError):
            log.error("integrity: %s", told.message)
        return answer(request, told)


def answer(request: HttpRequest, error: RecountError) -> HttpResponse:
    if wants_json(request):
        said: HttpResponse = JsonResponse({"error": error.message}, status=error.status)
    else:
        said = _page(request, error)
    if isinstance(error, Later):
        said["Retry-After"] = str(error.seconds)
    return said


def _page(request: HttpRequest, error: RecountError) -> HttpResponse:
    context = {"message": error.message, "status": error.status}
    page = "503.html" if isinstance(error, Away) else PAGES.get(error.status, "trouble.html")
    name = "components/_trouble.html" if is_fragment(request) else page
    if isinstance(error, Away):
        # What stands around a page is asked of the database.
        return HttpResponse(render_to_string(name, context), status=error.status)
    return render(request, name, context, status=error.status)


def fault(request: HttpRequest) -> HttpResponse:
    """What fails outside of every view: where the visit is looked up, or kept afterwards."""
    error = sys.exception()
    told = trouble.told(error) if error is not None else None
    return server_error(request) if told is None else answer(request, told)
