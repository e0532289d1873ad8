"""The HTTP API: routers of the rooms under one address, one way for errors to look."""

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.security import django_auth

from sessions_app.api import router
from sessions_app.domain.errors import RecountError

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
    return api.create_response(request, {"error": error.message}, status=error.status)
