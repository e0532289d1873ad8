"""The HTTP API: routers of the rooms under one address, one way for errors to look."""

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.security import django_auth

from sessions_app.api import router
from sessions_app.domain.errors import Later, OutOfStep, RecountError, Unauthorized
from sessions_app.store import trouble

api = NinjaAPI(
    title="Recount",
    version="1",
    description="Audit, retention and replay of AI-agent sessions.",
    auth=django_auth,
    docs_url=None,
    urls_namespace="api",
)
api.add_router("", router)


@api.exception_handler(RecountError)
def as_json(request: HttpRequest, error: RecountError) -> HttpResponse:
    body: dict[str, object] = {"error": error.message}
    if isinstance(error, OutOfStep):
        body |= {"stored": error.stored, "generation": error.generation}
    answer = api.create_response(request, body, status=error.status)
    if isinstance(error, Later):
        answer["Retry-After"] = str(error.seconds)
    if isinstance(error, Unauthorized):
        answer["WWW-Authenticate"] = "Bearer"
    return answer


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
@api.exception_handler(OSError)
def when_it_is_over(request: HttpRequest, error: Exception) -> HttpResponse:
    """A full disk, or a database that went away."""
    told = trouble.told(error)
    if told is None:
        raise error
    return as_json(request, told)
